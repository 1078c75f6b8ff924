"""Features: unbiased for their kernel, better with more of them, separable in state and action."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawing import seed_of
from emuq.errors import InputError
from emuq.linear.features import action_part, fourier_basis, random_fourier, scores, state_part
from emuq.linear.frequencies import draw

KERNELS = {
    "rbf": lambda d: np.exp(-(d**2) / 2),
    "matern12": lambda d: np.exp(-d),
    "matern32": lambda d: (1 + np.sqrt(3) * d) * np.exp(-np.sqrt(3) * d),
    "matern52": lambda d: (1 + np.sqrt(5) * d + 5 * d**2 / 3) * np.exp(-np.sqrt(5) * d),
}


def exact(kernel, s, a, state_scale, action_scale):
    """k_S k_A for all pairs of rows."""
    k = KERNELS[kernel]
    distance = [
        np.linalg.norm((x[:, None] - x[None]) / scale, axis=-1)
        for x, scale in ((s, state_scale), (a, action_scale))
    ]
    return k(distance[0]) * k(distance[1])


def gram(features, s, a):
    phi = np.asarray(features(jnp.asarray(s), jnp.asarray(a)))
    return phi @ phi.T


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("sampling", ["monte-carlo", "halton", "sobol"])
def test_gram_is_unbiased_for_the_kernel(kernel, sampling, rng):
    s, a = rng.random((6, 3)), rng.random((6, 2))
    scales = {"state_lengthscale": (0.5, 0.8, 1.1), "action_lengthscale": 0.7}
    maps = [
        random_fourier(seed_of(rng), 256, 3, 2, kernel=kernel, sampling=sampling, **scales) for _ in range(30)
    ]
    grams = np.array([gram(features, s, a) for features in maps])
    error = grams.mean(axis=0) - exact(kernel, s, a, np.array([0.5, 0.8, 1.1]), 0.7)
    spread = grams.std(axis=0) / np.sqrt(len(grams)) + 1e-3
    assert np.max(np.abs(error) / spread) < 5


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("kernel", KERNELS)
def test_error_falls_with_more_features_and_quasi_random_is_better(kernel, rng):
    s, a = rng.random((20, 2)), rng.random((20, 1))
    truth = exact(kernel, s, a, 0.5, 1.0)

    def error(sampling, m):
        runs = [
            gram(
                random_fourier(
                    seed_of(rng), m, 2, 1, kernel=kernel, state_lengthscale=0.5, sampling=sampling
                ),
                s,
                a,
            )
            for _ in range(20)
        ]
        return np.sqrt(np.mean((np.array(runs) - truth) ** 2))

    monte_carlo = [error("monte-carlo", m) for m in (64, 256, 1024)]
    assert monte_carlo[0] > monte_carlo[1] > monte_carlo[2]
    assert error("halton", 256) < 0.8 * monte_carlo[1]
    assert error("sobol", 256) < 0.8 * monte_carlo[1]


def test_a_mixture_holds_several_resolutions(rng):
    narrow = draw(seed_of(rng), 2000, 2, 1, state_lengthscale=0.5, mixture=0.0)
    mixed = draw(seed_of(rng), 2000, 2, 1, state_lengthscale=0.5, mixture=1.2)
    assert np.std(np.log(np.linalg.norm(mixed.state, axis=1))) > np.std(
        np.log(np.linalg.norm(narrow.state, axis=1))
    )
    # Only the state's scale is mixed: the spread of the action's frequencies stays 1 / l_A.
    assert np.std(mixed.action) == pytest.approx(1.0, rel=0.1)


@pytest.mark.usefixtures("x64")
@settings(max_examples=5, deadline=None)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 12), st.integers(1, 5), st.booleans())
def test_scores_equal_features_times_weights(state_dim, action_dim, pairs, count, basis):
    rng = np.random.default_rng(pairs)
    if basis:
        features = fourier_basis(1, state_dim, action_dim)
    else:
        features = random_fourier(seed_of(rng), 2 * pairs, state_dim, action_dim)
    shapes = (3, state_dim), (count, action_dim), features.num_features
    s, a, weights = (jnp.asarray(rng.normal(size=shape)) for shape in shapes)
    fast = scores(features, state_part(features, s), action_part(features, a), weights)
    slow = features(jnp.repeat(s, count, axis=0), jnp.tile(a, (len(s), 1))) @ weights
    np.testing.assert_allclose(fast, slow.reshape(len(s), count), atol=1e-10)


@pytest.mark.usefixtures("x64")
def test_random_fourier_features_have_unit_norm(rng):
    features = random_fourier(seed_of(rng), 50, 2, 2)
    phi = features(*jnp.asarray(rng.normal(size=(2, 7, 2))))
    np.testing.assert_allclose(jnp.sum(phi**2, axis=-1), 1.0, atol=1e-12)
    assert features.norm == pytest.approx(1.0)


def test_fourier_basis_is_the_cartesian_product():
    features = fourier_basis(2, 1, 1)
    assert features.num_features == 9
    expected = [np.cos(np.pi * (i * 0.3 + j * 0.6)) for i in range(3) for j in range(3)]
    np.testing.assert_allclose(features(jnp.array([0.3]), jnp.array([0.6])), expected, atol=1e-6)


def test_features_work_under_jit_vmap_and_grad(rng):
    features = random_fourier(seed_of(rng), 20, 2, 1)
    s, a = jnp.ones((4, 2)), jnp.ones((4, 1))
    batched = jax.jit(jax.vmap(lambda f, x, y: f(x, y), in_axes=(None, 0, 0)))(features, s, a)
    np.testing.assert_allclose(batched, features(s, a), atol=1e-6)
    slope = jax.grad(lambda x: features(x, a[0]).sum())(s[0])
    assert np.all(np.isfinite(slope))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: random_fourier(seed_of(r), 7, 2, 1), "num_features is 7: expected an even number"),
        (lambda r: random_fourier(seed_of(r), 0, 2, 1), "num_features is 0"),
        (lambda r: draw(seed_of(r), 4, 0, 1), "state_dim is 0"),
        (
            lambda r: draw(seed_of(r), 4, 2, 1, state_lengthscale=-1.0),
            "state_lengthscale is -1.0: expected positive",
        ),
        (lambda r: draw(seed_of(r), 4, 2, 1, state_lengthscale=float("nan")), "state_lengthscale is nan"),
        (lambda r: draw(seed_of(r), 4, 2, 1, action_lengthscale=(1.0, 2.0)), "action_lengthscale has shape"),
        (lambda r: draw(seed_of(r), 4, 2, 1, kernel="cubic"), "kernel is 'cubic': expected one of rbf"),
        (lambda r: draw(seed_of(r), 4, 2, 1, sampling="dice"), "sampling is 'dice'"),
        (lambda r: draw(seed_of(r), 4, 2, 1, mixture=-0.1), "mixture is -0.1"),
        (lambda r: fourier_basis(3, 11, 3), "268,435,456 features"),
        (lambda r: fourier_basis(-1, 1, 1), "order is -1"),
    ],
)
def test_bad_input_gets_one_clear_line(call, message, rng):
    with pytest.raises(InputError, match=message) as caught:
        call(rng)
    assert "\n" not in str(caught.value)
