"""States that a policy would come to, by the model of the dynamics.

    z <- f(z, a),    a = argmax_a r(z, a) + W(f(z, a)), or with probability e any other

Values are wanted where the policy goes, and where it gets when something goes slightly wrong. Those who
explored have seldom been there. So episodes are imagined, from starts and from states that were visited, with
the values of the plan before; the states they pass join the `support`.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from emuq.planning import dynamics
from emuq.planning.dynamics import Model
from emuq.planning.kernels import distances
from emuq.planning.selection import farthest, spread
from emuq.planning.transitions import Transitions

EPISODES = 16  # half of them from starts of episodes, half from states visited at even distances in time
STEPS, EVERY = 64, 2  # of each, and how many of these to one state that is kept
SLIP = 0.3  # e
NEAR = 2.0  # standard deviations to the nearest state that was visited: beyond, nothing is imagined

Values = Callable[[Float[Array, "n ds"], Float[Array, "n da"]], tuple[Array, Array]]


def beginnings(model: Model, data: Transitions) -> Float[Array, "e ds"]:
    """Where imagined episodes begin: the newest starts, and states visited."""
    half = EPISODES // 2
    begins = jnp.concatenate([jnp.ones(1, bool), data.ended[:-1]]) & (jnp.arange(data.capacity) < data.count)
    total = jnp.cumsum(begins)
    rank = jnp.arange(half) % jnp.maximum(total[-1], 1) + jnp.maximum(total[-1] - half, 0)
    starts = jnp.minimum(jnp.searchsorted(total, rank + 1), data.capacity - 1)
    visited = jnp.minimum(spread(EPISODES - half, data.count), jnp.maximum(data.count - 1, 0))
    return dynamics.standardised(model, data.states[jnp.concatenate([starts, visited])])


def passed(
    q_and_next: Values,
    actions: Float[Array, "k da"],
    z: Float[Array, "e ds"],
    visited: Float[Array, "n ds"],
    ends: Float[Array, "m ds"],
    number: int,
) -> tuple[Float[Array, "s ds"], Bool[Array, " s"]]:
    """`number` states of imagined episodes that are far from each other, and which places hold one.

    `q_and_next(z, a)` are Q and z' of rows. An episode is over where nothing that was visited is near, or an
    ending is nearer. Rows of `visited` and `ends` that hold nothing lie far away.
    """
    k, e = len(actions), len(z)

    def step(carry, t):
        z, alive = carry
        q, following = q_and_next(jnp.repeat(z, k, axis=0), jnp.tile(actions, (e, 1)))
        which, slips = jax.random.split(jax.random.fold_in(jax.random.key(0), t))
        any_of_them = jax.random.randint(which, (e,), 0, k)
        slip = jax.random.uniform(slips, (e,)) < SLIP
        chosen = jnp.where(slip, any_of_them, jnp.argmax(q.reshape(e, k), axis=1))
        z = following.reshape(e, k, -1)[jnp.arange(e), chosen]
        nearest = jnp.min(distances(z, visited), axis=1)
        alive = alive & (nearest < NEAR) & (nearest < jnp.min(distances(z, ends), axis=1))
        z = jnp.where(alive[:, None], z, 0.0)
        return (z, alive), (z, alive)

    _, (states, alive) = jax.lax.scan(step, (z, jnp.ones(e, bool)), jnp.arange(STEPS))
    states, alive = states[::EVERY].reshape(-1, z.shape[1]), alive[::EVERY].ravel()
    at, real = farthest(states, alive, number)
    return states[at], real
