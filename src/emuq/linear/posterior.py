"""Bayesian linear regression, several targets sharing one covariance (Section 5.2, appendix B).

    S = (alpha I + beta Phi'Phi)^-1,      m = beta S Phi't

`Posterior` is updated one observation at a time. `Blocked` holds back up to b rank-1 terms,
S = S_0 - V'V, and folds them in with one matrix product, because writing M^2 numbers a step is what
costs. `Gram` accumulates Phi'Phi, from which `refit` makes S anew: no drift, however long an agent lives.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
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


class Gram(NamedTuple):
    """Phi'Phi and Phi't."""

    matrix: Float[Array, "m m"]
    moments: Float[Array, "m k"]


def prior(num_features: int, prior_precision: float, targets: int = 1, dtype=None) -> Posterior:
    """S = I / alpha, m = 0."""
    if num_features < 1:
        raise InputError(f"num_features is {num_features}: expected a whole number from 1")
    if not 0 < prior_precision < float("inf"):
        raise InputError(f"prior_precision is {prior_precision}: expected a positive finite number")
    covariance = jnp.eye(num_features, dtype=dtype) / prior_precision
    return Posterior(covariance.astype(dtype), jnp.zeros((num_features, targets), dtype))


def mean(weights: Float[Array, "m k"], phi: Float[Array, "*n m"]) -> Float[Array, "*n k"]:
    """phi'm."""
    return phi @ weights


def variance(covariance: Float[Array, "m m"], phi: Float[Array, "*n m"]) -> Float[Array, "*n"]:
    """phi'S phi, the epistemic part alone: at most phi'phi / alpha. O(N M^2)."""
    return jnp.sum((phi @ covariance) * phi, axis=-1)


def update(
    posterior: Posterior, phi: Float[Array, " m"], target: Float[Array, " k"], noise_precision: Scalar
) -> Posterior:
    """S <- S - g v v',  m <- m + g v (t - phi'm)',  v = S phi,  g = beta / (1 + beta phi'v). O(M^2)."""
    v = posterior.covariance @ phi
    gain = noise_precision / (1 + noise_precision * phi @ v)
    return Posterior(
        posterior.covariance - gain * jnp.outer(v, v),
        # beta S_new phi = g v, so that the mean needs no second matrix product.
        posterior.weights + jnp.outer(gain * v, target - phi @ posterior.weights),
    )


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
    """As `update`, with v = S_0 phi - V'(V phi): reads M^2, writes M numbers. `fold` when it is full.

    `projection` is V phi, where the caller has it.
    """
    low = phi.astype(blocked.covariance.dtype)  # S_0 and V may be single, the means double
    projection = blocked.rows @ low if projection is None else projection
    v = (blocked.covariance @ low - projection @ blocked.rows).astype(phi.dtype)
    gain = noise_precision / (1 + noise_precision * phi @ v)
    return blocked._replace(
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


def update_many(
    posterior: Posterior,
    phi: Float[Array, "n m"],
    target: Float[Array, "n k"],
    noise_precision: Scalar,
    block_size: int = 32,
) -> Posterior:
    """n updates in order, folded in every `block_size`; equal to one batch solve. O(n M^2)."""
    size = min(block_size, phi.shape[0])
    padding = -phi.shape[0] % size
    # An observation of phi = 0 tells nothing: padding leaves the posterior as it was.
    phi = jnp.pad(phi, ((0, padding), (0, 0))).reshape(-1, size, phi.shape[1])
    target = jnp.pad(target, ((0, padding), (0, 0))).reshape(-1, size, target.shape[1])

    def one_block(held: Blocked, data):
        held, _ = jax.lax.scan(
            lambda b, d: (update_blocked(b, d[0], d[1], noise_precision), None), held, data
        )
        return fold(held), None

    held, _ = jax.lax.scan(one_block, block(posterior, size), (phi, target))
    return Posterior(held.covariance, held.weights)


def gram(num_features: int, targets: int = 1, dtype=None) -> Gram:
    """The Gram matrix of no data."""
    return Gram(jnp.zeros((num_features, num_features), dtype), jnp.zeros((num_features, targets), dtype))


def accumulate(total: Gram, phi: Float[Array, "n m"], target: Float[Array, "n k"]) -> Gram:
    """Phi'Phi and Phi't with n more rows. O(n M^2)."""
    return Gram(total.matrix + phi.T @ phi, total.moments + phi.T @ target)


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


def refit(total: Gram, prior_precision: Scalar, noise_precision: Scalar) -> Posterior:
    """The posterior of all data at once: m = beta S Phi't. O(M^3)."""
    s = covariance(total.matrix, prior_precision, noise_precision)
    return Posterior(s, noise_precision * s @ total.moments)
