"""The best of several actions, drawn among those that tie."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt32


def argmax_by_bits(values: Float[Array, " n"], bits: UInt32[Array, " n"]) -> Int[Array, ""]:
    """argmax; among equal values the one with the largest of these `random_bits`."""
    return jnp.argmax(jnp.where(values >= jnp.max(values), bits | jnp.uint32(1), jnp.uint32(0)))


def argmax_by_uniform(values: Float[Array, " n"], draws: Float[Array, " n"]) -> Int[Array, ""]:
    """argmax; among equal values the one with the largest draw from [0, 1), or the first if all are 0."""
    return jnp.argmax(jnp.where(values >= jnp.max(values), draws, -1.0))
