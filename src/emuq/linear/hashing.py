"""Quick random numbers: a hash of a seed and a counter, where JAX's own generator takes long to compile.

It leaves nothing to carry along, and is random enough for ties, for rows to pick and for features.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt32

Word = UInt32[Array, ""] | np.uint32


def scramble(bits: UInt32[Array, "*n"] | np.uint32) -> UInt32[Array, "*n"]:
    """A bijection of 32-bit numbers that spreads every bit (MurmurHash3's last step)."""
    mixed = jnp.asarray(bits)
    mixed = (mixed ^ (mixed >> 16)) * jnp.uint32(0x85EBCA6B)
    mixed = (mixed ^ (mixed >> 13)) * jnp.uint32(0xC2B2AE35)
    return mixed ^ (mixed >> 16)


def random_bits(seed: Word, counter: Word, number: int) -> UInt32[Array, " n"]:
    """`number` random 32-bit numbers, a function of the seed and the counter alone."""
    first = scramble(scramble(seed) ^ counter)
    return scramble(first + jnp.uint32(0x9E3779B9) * jnp.arange(1, number + 1, dtype=jnp.uint32))
