"""The posterior: in blocks and all at once are the same; it never grows, it never drifts."""

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


def held(size, alpha, k, block):
    return posterior.block(posterior.prior(size, alpha, k), block)


@jax.jit
def learn(start, phi, targets, beta):
    """n updates in order, of which `start` holds back as many as it has room for; n is a multiple of that."""
    room, size = start.rows.shape

    def one_block(held, rows):
        step = lambda held, row: (posterior.update_blocked(held, *row, beta), None)  # noqa: E731
        return posterior.fold(jax.lax.scan(step, held, rows)[0]), None

    rows = (phi.reshape(-1, room, size), targets.reshape(-1, room, targets.shape[1]))
    return jax.lax.scan(one_block, start, rows)[0]


@settings(max_examples=12, deadline=None)
@given(
    blocks=st.integers(1, 5),
    m=st.integers(1, 12),
    k=st.integers(1, 3),
    block=st.integers(1, 9),
    alpha=st.floats(1e-3, 10),
    beta=st.floats(1e-2, 100),
    seed=st.integers(0, 1000),
)
def test_blocks_of_updates_one_batch_and_woodbury_agree(blocks, m, k, block, alpha, beta, seed):
    rng = np.random.default_rng(seed)
    phi, targets = rng.normal(size=(blocks * block, m)), rng.normal(size=(blocks * block, k))
    s, mean = batch(phi, targets, alpha, beta)
    start = held(m, alpha, k, block)
    learned = learn(start, phi, targets, beta)
    np.testing.assert_allclose(learned.weights, mean, atol=1e-8, rtol=1e-8)
    added = posterior.update_covariance(start.covariance, jnp.asarray(phi), beta)
    solved = posterior.covariance(jnp.asarray(phi.T @ phi), alpha, beta)
    for covariance in (learned.covariance, added, solved):
        np.testing.assert_allclose(covariance, s, atol=1e-8, rtol=1e-8)


def test_rows_held_back_count_before_they_are_folded(rng):
    phi, targets = rng.normal(size=(5, 6)), rng.normal(size=(5, 1))
    kept = held(6, 0.1, 1, 8)
    for row, target in zip(jnp.asarray(phi), jnp.asarray(targets), strict=True):
        kept = posterior.update_blocked(kept, row, target, 2.0)
    s, mean = batch(phi, targets, 0.1, 2.0)
    assert int(kept.used) == 5
    np.testing.assert_allclose(kept.covariance, np.eye(6) / 0.1)
    np.testing.assert_allclose(kept.covariance - kept.rows.T @ kept.rows, s, atol=1e-10)
    np.testing.assert_allclose(kept.weights, mean, atol=1e-10)
    folded = posterior.fold(kept)
    np.testing.assert_allclose(folded.covariance, s, atol=1e-10)
    assert int(folded.used) == 0


def test_covariance_stays_symmetric_positive_and_shrinking_over_100_000_updates(rng):
    m, alpha, beta, batches, size = 24, 1e-3, 1.0, 50, 2000
    kept, gram = held(m, alpha, 1, 40), np.zeros((m, m))
    trace = np.trace(kept.covariance)
    for i in range(batches):
        phi = rng.normal(size=(size, m)) * rng.random((size, 1))
        kept, gram = learn(kept, phi, rng.normal(size=(size, 1)), beta), gram + phi.T @ phi
        if i % 5 == 4:
            exact = posterior.covariance(jnp.asarray(gram), alpha, beta)
            np.testing.assert_allclose(kept.covariance, exact, rtol=1e-7, atol=1e-12)
            kept = kept._replace(covariance=exact)
        s = np.asarray(kept.covariance)
        np.testing.assert_allclose(s, s.T, atol=1e-14)
        assert np.linalg.eigvalsh(s).min() > 0
        assert np.trace(s) <= trace * (1 + 1e-12)
        trace = np.trace(s)


def test_variance_starts_at_its_maximum_and_never_grows(rng):
    alpha = 0.01
    kept = held(10, alpha, 1, 1)
    probe = rng.normal(size=(20, 10))
    probe = jnp.asarray(probe / np.linalg.norm(probe, axis=1, keepdims=True))
    last = posterior.variance(kept.covariance, probe)
    np.testing.assert_allclose(last, 1 / alpha)
    for _ in range(30):
        kept = learn(kept, rng.normal(size=(1, 10)), np.zeros((1, 1)), 1.0)
        now = posterior.variance(kept.covariance, probe)
        assert np.all(now <= last + 1e-9)
        last = now


def test_targets_share_one_covariance(rng):
    phi, targets = rng.normal(size=(15, 6)), rng.normal(size=(15, 2))
    both = learn(held(6, 0.1, 2, 5), phi, targets, 2.0)
    for column in range(2):
        alone = learn(held(6, 0.1, 1, 5), phi, targets[:, [column]], 2.0)
        np.testing.assert_allclose(both.weights[:, [column]], alone.weights, atol=1e-12)


def test_single_precision_blocks_keep_double_means(rng):
    phi, targets = rng.normal(size=(30, 8)), rng.normal(size=(30, 1))
    low = posterior.prior(8, 0.1, dtype=jnp.float32)
    kept = posterior.block(low._replace(weights=jnp.zeros((8, 1))), 30)
    for row, target in zip(jnp.asarray(phi), jnp.asarray(targets), strict=True):
        kept = posterior.update_blocked(kept, row, target, 1.0)
    assert kept.rows.dtype == jnp.float32
    assert kept.weights.dtype == jnp.float64
    np.testing.assert_allclose(kept.weights, batch(phi, targets, 0.1, 1.0)[1], atol=1e-4)


def test_updates_work_under_vmap_and_grad(rng):
    phi = jnp.asarray(rng.normal(size=(3, 5)))
    start = held(5, 1.0, 1, 2)

    def weights(row, beta=1.0):
        return posterior.update_blocked(start, row, jnp.ones(1), beta).weights

    for row, found in zip(phi, jax.vmap(weights)(phi), strict=True):
        np.testing.assert_allclose(weights(row), found)
    assert np.isfinite(jax.grad(lambda beta: weights(phi[0], beta).sum())(1.0))


def test_more_data_does_not_compile_again(rng):
    traces = []

    @jax.jit
    def step(kept, row, target):
        traces.append(1)
        return posterior.update_blocked(kept, row, target, 1.0)

    kept = held(4, 1.0, 1, 50)
    for _ in range(50):
        kept = step(kept, rng.normal(size=4), rng.normal(size=1))
    assert len(traces) == 1


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("inf"), float("nan")])
def test_bad_prior_is_refused(alpha):
    with pytest.raises(InputError, match="prior_precision is"):
        posterior.prior(4, alpha)
