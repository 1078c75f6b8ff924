"""The expected variance in closed form equals a large sample mean, for boxes and for discrete sets."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawing import seed_of
from emuq.linear import expectation
from emuq.linear.features import fourier_basis, random_fourier, state_part

pytestmark = pytest.mark.usefixtures("x64")


def random_covariance(rng, m):
    root = rng.normal(size=(m, m + 3))
    return root @ root.T


def closed_form(features, moments, covariance, states):
    form = expectation.quadratic_form(features, moments, jnp.asarray(covariance))
    z = expectation.angles(moments, state_part(features, jnp.asarray(states)))
    return np.asarray(expectation.expected_variance(form, z))


def sampled(features, covariance, state, actions):
    phi = np.asarray(features(jnp.asarray(state), jnp.asarray(actions)))
    return np.sum((phi @ covariance) * phi, axis=-1)


@pytest.mark.parametrize("action_dim", [1, 2, 3])
@pytest.mark.parametrize("basis", [False, True])
def test_box_equals_a_hundred_thousand_samples(action_dim, basis, rng):
    features = fourier_basis(1, 2, action_dim) if basis else random_fourier(seed_of(rng), 30, 2, action_dim)
    low, high = -rng.random(action_dim), 1 + rng.random(action_dim)
    covariance = random_covariance(rng, features.num_features)
    states = rng.normal(size=(3, 2))
    moments = expectation.box_moments(features, jnp.asarray(low), jnp.asarray(high))
    expected = closed_form(features, moments, covariance, states)
    for state, value in zip(states, expected, strict=True):
        draws = sampled(features, covariance, state, rng.uniform(low, high, (100_000, action_dim)))
        assert abs(value - draws.mean()) < 5 * draws.std() / np.sqrt(len(draws))


@settings(max_examples=5, deadline=None)
@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 8), st.booleans(), st.integers(0, 99))
def test_discrete_set_is_exact(count, action_dim, pairs, basis, seed):
    rng = np.random.default_rng(seed)
    features = (
        fourier_basis(1, 2, action_dim) if basis else random_fourier(seed_of(rng), 2 * pairs, 2, action_dim)
    )
    actions, state = rng.normal(size=(count, action_dim)), rng.normal(size=2)
    covariance = random_covariance(rng, features.num_features)
    moments = expectation.set_moments(features, jnp.asarray(actions))
    value = closed_form(features, moments, covariance, state)
    np.testing.assert_allclose(value, sampled(features, covariance, state, actions).mean(), rtol=1e-9)


def test_a_box_of_no_width_is_one_action(rng):
    features = random_fourier(seed_of(rng), 16, 2, 2)
    point, state = jnp.array([0.3, -0.4]), rng.normal(size=2)
    covariance = random_covariance(rng, 16)
    value = closed_form(features, expectation.box_moments(features, point, point), covariance, state)
    np.testing.assert_allclose(value, sampled(features, covariance, state, point[None])[0], rtol=1e-10)


def test_rows_held_back_are_subtracted(rng):
    features = random_fourier(seed_of(rng), 16, 2, 1, action_lengthscale=2.0)
    covariance, rows, state = (
        random_covariance(rng, 16) + 50 * np.eye(16),
        rng.normal(size=(4, 16)),
        rng.random(2),
    )
    x, w = np.polynomial.legendre.leggauss(24)
    nodes, weights = ((x + 1) / 2)[:, None], w / 2
    moments = expectation.box_moments(features, jnp.zeros(1), jnp.ones(1))
    whole = closed_form(features, moments, covariance - rows.T @ rows, state)
    held = expectation.sampled_reduction(
        rows @ features(jnp.asarray(state), jnp.asarray(nodes)).T, jnp.asarray(weights)
    )
    np.testing.assert_allclose(closed_form(features, moments, covariance, state) - held, whole, rtol=1e-9)
