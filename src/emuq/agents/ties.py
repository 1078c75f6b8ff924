"""The best of several actions, drawn among those that tie, and quick random numbers to draw with.

JAX's own generator is made for long streams; in a step of a few microseconds its program is most of the
time to run and to compile. Where ties are broken or rows picked, a hash of a seed and a counter is random
enough, and leaves nothing to carry along.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt32


def scramble(bits: UInt32[Array, "*n"]) -> UInt32[Array, "*n"]:
    """A bijection of 32-bit numbers that spreads every bit (MurmurHash3's last step)."""
    bits = (bits ^ (bits >> 16)) * jnp.uint32(0x85EBCA6B)
    bits = (bits ^ (bits >> 13)) * jnp.uint32(0xC2B2AE35)
    return bits ^ (bits >> 16)


def random_bits(seed: UInt32[Array, ""], counter: UInt32[Array, ""], number: int) -> UInt32[Array, " n"]:
    """`number` random 32-bit numbers, a function of the seed and the counter alone."""
    first = scramble(scramble(seed) ^ counter)
    return scramble(first + jnp.uint32(0x9E3779B9) * jnp.arange(1, number + 1, dtype=jnp.uint32))


def argmax_by_bits(values: Float[Array, " n"], bits: UInt32[Array, " n"]) -> Int[Array, ""]:
    """argmax; among equal values the one with the largest of these `random_bits`."""
    return jnp.argmax(jnp.where(values >= jnp.max(values), bits | jnp.uint32(1), jnp.uint32(0)))


def argmax_by_uniform(values: Float[Array, " n"], draws: Float[Array, " n"]) -> Int[Array, ""]:
    """argmax; among equal values the one with the largest draw from [0, 1), or the first if all are 0."""
    return jnp.argmax(jnp.where(values >= jnp.max(values), draws, -1.0))
