"""The seed of an episode's reset, as `emuq.agents.episodes.reset_seed` has it, inside a compiled program.

That one is NumPy's SeedSequence([seed, 0, episode]): a few multiplications of 32-bit words (O'Neill's
`seed_seq_fe`), written here for arrays. A test holds the two together.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array

POOL = 4
FIRST, FACTOR = 0x43B0D7E5, 0x931E8875  # of the hash of what goes in
LAST, LAST_FACTOR = 0x8B51F9DD, 0x58F38DED  # of what comes out
LEFT, RIGHT = 0xCA01F9DD, 0x4973F715
WORD = 0xFFFFFFFF


def reset_seed(seed: Array, episode: Array) -> Array:
    """The seed of this episode's reset, for a seed below 2^32."""
    words = [seed, jnp.zeros_like(seed), episode, jnp.zeros_like(seed)]
    constant = FIRST

    def hashed(value: Array) -> Array:
        nonlocal constant
        value = value ^ jnp.uint32(constant)
        constant = constant * FACTOR & WORD
        value = value * jnp.uint32(constant)
        return value ^ (value >> 16)

    pool = [hashed(word.astype(jnp.uint32)) for word in words]
    for source in range(POOL):
        for target in range(POOL):
            if source != target:
                mixed = jnp.uint32(LEFT) * pool[target] - jnp.uint32(RIGHT) * hashed(pool[source])
                pool[target] = mixed ^ (mixed >> 16)
    found = (pool[0] ^ jnp.uint32(LAST)) * jnp.uint32(LAST * LAST_FACTOR & WORD)
    return (found ^ (found >> 16)) >> 1
