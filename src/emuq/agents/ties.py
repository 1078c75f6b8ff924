"""Random numbers for one compiled step: a hash of a seed and a counter, and nothing to carry along.

JAX's own generator is made for long streams; in a step of a few microseconds its program is most of the
time to run and to compile. These numbers break ties and pick rows, where a good hash is random enough.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, UInt32


def mix(h: UInt32[Array, "*n"]) -> UInt32[Array, "*n"]:
    """A bijection of 32-bit numbers that spreads every bit (MurmurHash3's last step)."""
    h = (h ^ (h >> 16)) * jnp.uint32(0x85EBCA6B)
    h = (h ^ (h >> 13)) * jnp.uint32(0xC2B2AE35)
    return h ^ (h >> 16)


def lots(seed: UInt32[Array, ""], counter: UInt32[Array, ""], number: int) -> UInt32[Array, " n"]:
    """`number` lots, a function of the seed and the counter alone."""
    first = mix(mix(seed) ^ counter)
    return mix(first + jnp.uint32(0x9E3779B9) * jnp.arange(1, number + 1, dtype=jnp.uint32))


def best(value: Array, lots: UInt32[Array, " n"]) -> Array:
    """argmax; among equal values the one with the highest lot."""
    return jnp.argmax(jnp.where(value >= jnp.max(value), lots | jnp.uint32(1), jnp.uint32(0)))
