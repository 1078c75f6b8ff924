"""How alike two states are.

    k(x, y) = (1 + q + q^2 / 3) exp(-q),    q = sqrt(5) |x - y| / l                        (Matern 5/2)

A sum of such kernels around points that are known is a smooth function through them, and falls to 0 far away.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

ROOT = 5.0**0.5


def distances(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
    """|x - y| for every pair of rows, by one product. O(n m d)."""
    # A GPU would round the product's factors to ten bits: distances must be exact to all of theirs.
    product = jnp.dot(x, y.T, precision=jax.lax.Precision.HIGHEST)
    squares = jnp.sum(x * x, axis=-1)[:, None] + jnp.sum(y * y, axis=-1) - 2 * product
    return jnp.sqrt(jnp.maximum(squares, 0.0))


def matern(x: Float[Array, "n d"], y: Float[Array, "m d"], lengthscale: float) -> Float[Array, "n m"]:
    """k(x, y)."""
    q = (ROOT / lengthscale) * distances(x, y)
    return (1 + q + q * q / 3) * jnp.exp(-q)


def two_scales(x: Float[Array, "n d"], y: Float[Array, "m d"], coarse: int) -> Float[Array, "n m"]:
    """The mean of two kernels, of lengthscales 1 and `coarse`, for the price of one exponential."""
    q = ROOT * distances(x, y)
    wide = q / coarse
    fade = jnp.exp(-wide)
    return ((1 + q + q * q / 3) * fade**coarse + (1 + wide + wide * wide / 3) * fade) / 2
