"""cos x and sin x together, in double precision, for moderate angles.

    x = k pi/2 + r,  |r| <= pi/4;      cos x, sin x = +-cos r, +-sin r in an order that k mod 4 decides

On a CPU, XLA calls the scalar library for each cosine and sine of a double, and features are made of them:
that was most of a plan's time. Polynomials in r (those of the Cephes library) vectorise, are 8 times
faster, and err by at most 2.3e-16 for |x| up to 1e6; angles here are far smaller.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

# pi/2 in three parts, the first two of 33 bits, so that k times each is exact for |k| below 2^20.
HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
SINE = (
    1.58962301576546568060e-10,
    -2.50507477628578072866e-8,
    2.75573136213857245213e-6,
    -1.98412698295895385996e-4,
    8.33333333332211858878e-3,
    -1.66666666666666307295e-1,
)
COSINE = (
    -1.13585365213876817300e-11,
    2.08757008419747316778e-9,
    -2.75573141792967388112e-7,
    2.48015872888517045348e-5,
    -1.38888888888730564116e-3,
    4.16666666666665929218e-2,
)


def cos_sin(x: Float[Array, "*n"], dtype=None) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
    """(cos x, sin x), as `dtype` if one is given. Only doubles need help: other types go to the library.

    In single precision the remainder r alone is rounded, not x: the error is 1e-7 however large x is.
    """
    if x.dtype != jnp.float64:
        return jnp.cos(x), jnp.sin(x)
    k = jnp.round(x * (2 / math.pi))
    high, middle, low = HALF_PI
    r = (((x - k * high) - k * middle) - k * low).astype(dtype or x.dtype)
    square = r * r
    sine = r + r * square * _polynomial(SINE, square)
    cosine = 1 - 0.5 * square + square * square * _polynomial(COSINE, square)
    quadrant = k.astype(jnp.int32) & 3
    odd = quadrant % 2 == 1
    first, second = jnp.where(odd, sine, cosine), jnp.where(odd, cosine, sine)
    turned = (quadrant == 1) | (quadrant == 2)
    return jnp.where(turned, -first, first), jnp.where(quadrant >= 2, -second, second)


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    total = jnp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total
