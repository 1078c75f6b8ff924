"""Cosine and sine of doubles: as good as the library's."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from emuq.linear.trigonometry import cos_sin
from emuq.precision import double


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e4, 1e6])
def test_errs_by_a_rounding_at_most(scale):
    x = np.random.default_rng(0).uniform(-scale, scale, 100_000)
    with double():
        cosine, sine = jax.jit(cos_sin)(x)
    assert np.max(np.abs(np.asarray(cosine) - np.cos(x))) < 3e-16
    assert np.max(np.abs(np.asarray(sine) - np.sin(x))) < 3e-16


def test_quadrants_and_zero():
    x = np.array([0.0, *(np.arange(-8, 9) * np.pi / 4)])
    with double():
        cosine, sine = cos_sin(jnp.asarray(x))
    np.testing.assert_allclose(cosine, np.cos(x), atol=3e-16)
    np.testing.assert_allclose(sine, np.sin(x), atol=3e-16)


def test_what_is_not_finite_is_nan():
    with double():
        cosine, sine = cos_sin(jnp.array([jnp.nan, jnp.inf, -jnp.inf]))
    assert np.all(np.isnan(cosine))
    assert np.all(np.isnan(sine))


def test_singles_stay_single():
    cosine, sine = cos_sin(jnp.linspace(-5, 5, 50, dtype=jnp.float32))
    assert cosine.dtype == sine.dtype == jnp.float32


def test_rounding_the_remainder_alone_errs_as_little_for_large_angles():
    x = np.linspace(-1e4, 1e4, 100_001)
    with double():
        cosine, sine = cos_sin(jnp.asarray(x), jnp.float32)
    assert cosine.dtype == sine.dtype == jnp.float32
    assert np.max(np.abs(np.asarray(cosine, float) - np.cos(x))) < 2e-7
    assert np.max(np.abs(np.asarray(sine, float) - np.sin(x))) < 2e-7


def test_derivatives_are_the_functions_own():
    x = np.linspace(-7, 7, 50)
    with double():
        slope = jax.vmap(jax.grad(lambda t: cos_sin(t)[1]))(jnp.asarray(x))
    np.testing.assert_allclose(slope, np.cos(x), atol=1e-14)
