"""A few hundred transitions that stand for all.

    in turn   the one whose state is farthest from all chosen before it, and one of the rest, evenly in time

The far ones keep the rim of what is known, where few have been; the others are where the agent is most of the
time. Whatever is made of them costs the same however many transitions there are.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


def spread(number: int, count: Int[Array, ""]) -> Int[Array, " n"]:
    """`number` of `count` places, evenly: 0, 1, 2, ... where there are not more, and then places beyond."""
    places = jnp.arange(number)
    far = (places.astype(jnp.float64) * (count / number)).astype(places.dtype)
    return jnp.where(count > number, far, places)


def select(
    z: Float[Array, "r d"], mask: Bool[Array, " r"], number: int
) -> tuple[Int[Array, " n"], Bool[Array, " n"]]:
    """`number` different rows of those that count, or all of them; and which places hold one. O(n r)."""
    far, real = farthest(z, mask, number // 2)
    taken = jnp.zeros(len(mask), bool).at[far].max(real)
    rest = jnp.cumsum(mask & ~taken)
    rank = spread(number - number // 2, rest[-1])
    even = jnp.minimum(jnp.searchsorted(rest, rank + 1), len(mask) - 1)
    in_turn = jnp.stack([far, even], axis=1).ravel(), jnp.stack([real, rank < rest[-1]], axis=1).ravel()
    first = jnp.argsort(~in_turn[1], stable=True)  # places that hold a row come first
    return in_turn[0][first], in_turn[1][first]


def farthest(
    z: Float[Array, "r d"], mask: Bool[Array, " r"], number: int
) -> tuple[Int[Array, " n"], Bool[Array, " n"]]:
    """Rows each of which is the farthest from all before it, the first to begin with; and which are new."""

    def step(carry, _):
        distance, last = carry
        distance = jnp.minimum(distance, jnp.sum((z - z[last]) ** 2, axis=-1))
        at = jnp.argmax(jnp.where(mask, distance, -1.0))
        return (distance, at), (last, mask[last], distance[at])

    begin = jnp.full(z.shape[0], jnp.inf, z.dtype), jnp.argmax(mask)
    _, (rows, real, ahead) = jax.lax.scan(step, begin, None, length=number)
    new = jnp.concatenate([jnp.ones(1, bool), ahead[:-1] > 0])
    return rows, new & real
