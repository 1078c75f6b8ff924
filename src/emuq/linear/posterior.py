"""Bayesian linear regression, several targets sharing one covariance (Section 5.2, appendix B).

    S = (alpha I + beta Phi'Phi)^-1,      m = beta S Phi't

`Blocked` is updated one observation at a time. It holds back up to b rank-1 terms, S = S_0 - V'V, and folds
them in with one matrix product, because writing M^2 numbers a step is what costs. `covariance` makes S anew
from Phi'Phi: no drift, however long an agent lives.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from emuq.errors import InputError

Scalar = float | Float[Array, ""]  # a number, or one that is differentiated or mapped over


class Posterior(NamedTuple):
    """N(w | m, S) for each target (column of `weights`)."""

    covariance: Float[Array, "m m"]
    weights: Float[Array, "m k"]


class Blocked(NamedTuple):
    """S = S_0 - V'V: `rows` is V, of which `used` rows are filled and the others zero."""

    covariance: Float[Array, "m m"]
    weights: Float[Array, "m k"]
    rows: Float[Array, "b m"]
    used: Int[Array, ""]


def prior(num_features: int, prior_precision: Scalar, targets: int = 1, dtype=None) -> Posterior:
    """S = I / alpha, m = 0."""
    if num_features < 1:
        raise InputError(f"num_features is {num_features}: expected a whole number from 1")
    if not isinstance(prior_precision, Tracer) and not 0 < prior_precision < float("inf"):
        raise InputError(f"prior_precision is {prior_precision}: expected a positive finite number")
    covariance = jnp.eye(num_features, dtype=dtype) / prior_precision
    return Posterior(covariance.astype(dtype), jnp.zeros((num_features, targets), dtype))


def variance(covariance: Float[Array, "m m"], phi: Float[Array, "*n m"]) -> Float[Array, "*n"]:
    """phi'S phi, the epistemic part alone: at most phi'phi / alpha. O(N M^2)."""
    return jnp.sum((phi @ covariance) * phi, axis=-1)


def block(posterior: Posterior, size: int) -> Blocked:
    """The same posterior, ready to hold back `size` updates."""
    rows = jnp.zeros((size, posterior.covariance.shape[0]), posterior.covariance.dtype)
    return Blocked(posterior.covariance, posterior.weights, rows, jnp.zeros((), jnp.int32))


def update_blocked(
    blocked: Blocked,
    phi: Float[Array, " m"],
    target: Float[Array, " k"],
    noise_precision: Scalar,
    projection: Float[Array, " b"] | None = None,
) -> Blocked:
    """S <- S - g v v',  m <- m + g v (t - phi'm)',  v = S phi,  g = beta / (1 + beta phi'v).

    v = S_0 phi - V'(V phi) reads M^2 numbers; sqrt(g) v, the new row of V, writes M. `fold` when V is full.
    `projection` is V phi, where the caller has it.
    """
    low = phi.astype(blocked.covariance.dtype)  # S_0 and V may be single, the means double
    projection = blocked.rows @ low if projection is None else projection
    v = (blocked.covariance @ low - projection @ blocked.rows).astype(phi.dtype)
    gain = noise_precision / (1 + noise_precision * phi @ v)
    return blocked._replace(
        # beta S_new phi = g v, so that the mean needs no second matrix product.
        weights=blocked.weights + jnp.outer(gain * v, target - phi @ blocked.weights),
        rows=jax.lax.dynamic_update_index_in_dim(
            blocked.rows, (jnp.sqrt(gain) * v).astype(blocked.rows.dtype), blocked.used, 0
        ),
        used=blocked.used + 1,
    )


def fold(blocked: Blocked) -> Blocked:
    """S_0 <- S_0 - V'V, V <- 0. O(b M^2), once in b updates."""
    return blocked._replace(
        covariance=blocked.covariance - blocked.rows.T @ blocked.rows,
        rows=jnp.zeros_like(blocked.rows),
        used=jnp.zeros_like(blocked.used),
    )


def covariance(
    matrix: Float[Array, "m m"], prior_precision: Scalar, noise_precision: Scalar
) -> Float[Array, "m m"]:
    """S = (alpha I + beta Phi'Phi)^-1 by Cholesky, exactly symmetric. O(M^3)."""
    identity = jnp.eye(matrix.shape[0], dtype=matrix.dtype)
    factor = jnp.linalg.cholesky(prior_precision * identity + noise_precision * matrix)
    inverse = jax.scipy.linalg.solve_triangular(factor, identity, lower=True)
    return inverse.T @ inverse


def update_covariance(
    s: Float[Array, "m m"], phi: Float[Array, "n m"], noise_precision: Scalar
) -> Float[Array, "m m"]:
    """S <- S - S Phi'(I / beta + Phi S Phi')^-1 Phi S  (Woodbury). O(n M^2), for n below M."""
    v = phi @ s
    inner = jnp.eye(phi.shape[0], dtype=s.dtype) / noise_precision + v @ phi.T
    half = jax.scipy.linalg.solve_triangular(jnp.linalg.cholesky(inner), v, lower=True)
    return s - half.T @ half
