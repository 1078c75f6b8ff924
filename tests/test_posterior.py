"""The posterior: one by one, in blocks and all at once are the same; it never grows, it never drifts."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emuq.errors import InputError
from emuq.linear import posterior

pytestmark = pytest.mark.usefixtures("x64")


def batch(phi, targets, alpha, beta):
    s = np.linalg.inv(alpha * np.eye(phi.shape[1]) + beta * phi.T @ phi)
    return s, beta * s @ phi.T @ targets


@settings(max_examples=12, deadline=None)
@given(
    n=st.integers(1, 40),
    m=st.integers(1, 12),
    k=st.integers(1, 3),
    block=st.integers(1, 9),
    alpha=st.floats(1e-3, 10),
    beta=st.floats(1e-2, 100),
    seed=st.integers(0, 1000),
)
def test_sequential_blocked_batch_and_refit_agree(n, m, k, block, alpha, beta, seed):
    rng = np.random.default_rng(seed)
    phi, targets = rng.normal(size=(n, m)), rng.normal(size=(n, k))
    s, mean = batch(phi, targets, alpha, beta)
    phi, targets = jnp.asarray(phi), jnp.asarray(targets)
    start = posterior.prior(m, alpha, k)
    one_by_one, _ = jax.lax.scan(
        lambda p, row: (posterior.update(p, *row, beta), None),
        start,
        (phi, targets),
    )
    blocked = posterior.update_many(start, phi, targets, beta, block)
    refitted = posterior.refit(posterior.accumulate(posterior.gram(m, k), phi, targets), alpha, beta)
    for result in (one_by_one, blocked, refitted):
        np.testing.assert_allclose(result.covariance, s, atol=1e-8, rtol=1e-8)
        np.testing.assert_allclose(result.weights, mean, atol=1e-8, rtol=1e-8)
    added = posterior.update_covariance(start.covariance, phi, beta)
    np.testing.assert_allclose(added, s, atol=1e-8, rtol=1e-8)


def test_covariance_stays_symmetric_positive_and_shrinking_over_100_000_updates(rng):
    m, alpha, beta, batches, size = 24, 1e-3, 1.0, 50, 2000
    run = jax.jit(lambda p, phi, t: posterior.update_many(p, phi, t, beta))
    total = posterior.gram(m)
    p = posterior.prior(m, alpha)
    trace = np.trace(p.covariance)
    for i in range(batches):
        phi = jnp.asarray(rng.normal(size=(size, m)) * rng.random((size, 1)))
        targets = jnp.asarray(rng.normal(size=(size, 1)))
        p, total = run(p, phi, targets), posterior.accumulate(total, phi, targets)
        if i % 5 == 4:
            exact = posterior.refit(total, alpha, beta)
            np.testing.assert_allclose(p.covariance, exact.covariance, rtol=1e-7, atol=1e-12)
            p = exact
        s = np.asarray(p.covariance)
        np.testing.assert_allclose(s, s.T, atol=1e-14)
        assert np.linalg.eigvalsh(s).min() > 0
        assert np.trace(s) <= trace * (1 + 1e-12)
        trace = np.trace(s)


def test_variance_starts_at_its_maximum_and_never_grows(rng):
    alpha = 0.01
    p = posterior.prior(10, alpha)
    probe = rng.normal(size=(20, 10))
    probe = jnp.asarray(probe / np.linalg.norm(probe, axis=1, keepdims=True))
    last = posterior.variance(p.covariance, probe)
    np.testing.assert_allclose(last, 1 / alpha)
    for _ in range(30):
        p = posterior.update(p, jnp.asarray(rng.normal(size=10)), jnp.zeros(1), 1.0)
        now = posterior.variance(p.covariance, probe)
        assert np.all(now <= last + 1e-9)
        last = now


def test_targets_share_one_covariance(rng):
    phi, targets = (jnp.asarray(rng.normal(size=(15, columns))) for columns in (6, 2))
    both = posterior.update_many(posterior.prior(6, 0.1, 2), phi, targets, 2.0)
    for column in range(2):
        alone = posterior.update_many(posterior.prior(6, 0.1, 1), phi, targets[:, column : column + 1], 2.0)
        np.testing.assert_allclose(both.weights[:, column : column + 1], alone.weights, atol=1e-12)


def test_single_precision_blocks_keep_double_means(rng):
    phi, targets = rng.normal(size=(30, 8)), rng.normal(size=(30, 1))
    low = posterior.prior(8, 0.1, dtype=jnp.float32)
    held = posterior.block(low._replace(weights=jnp.zeros((8, 1))), 30)
    for row, target in zip(jnp.asarray(phi), jnp.asarray(targets), strict=True):
        held = posterior.update_blocked(held, row, target, 1.0)
    assert held.rows.dtype == jnp.float32
    assert held.weights.dtype == jnp.float64
    np.testing.assert_allclose(held.weights, batch(phi, targets, 0.1, 1.0)[1], atol=1e-4)


def test_updates_work_under_vmap_and_grad(rng):
    phi = jnp.asarray(rng.normal(size=(3, 5)))
    start = posterior.prior(5, 1.0)
    many = jax.vmap(lambda row: posterior.update(start, row, jnp.ones(1), 1.0).weights)(phi)
    for row, weights in zip(phi, many, strict=True):
        np.testing.assert_allclose(posterior.update(start, row, jnp.ones(1), 1.0).weights, weights)
    slope = jax.grad(lambda beta: posterior.update(start, phi[0], jnp.ones(1), beta).weights.sum())(1.0)
    assert np.isfinite(slope)


def test_more_data_does_not_compile_again(rng):
    traces = []

    @jax.jit
    def step(p, row, target):
        traces.append(1)
        return posterior.update(p, row, target, 1.0)

    p = posterior.prior(4, 1.0)
    for _ in range(50):
        p = step(p, rng.normal(size=4), rng.normal(size=1))
    assert len(traces) == 1


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("inf"), float("nan")])
def test_bad_prior_is_refused(alpha):
    with pytest.raises(InputError, match="prior_precision is"):
        posterior.prior(4, alpha)
