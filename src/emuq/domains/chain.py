"""Chain: N states in a row, the goal at the far end (Osband et al., 2014).

Right moves right with probability 1 - 1/N and left otherwise; left always moves left.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from emuq.domains.base import REWARDS, Domain, Number, Step, choice, member, outcome, probability
from emuq.errors import InputError

LEFT, RIGHT = 0, 1
OBSERVATIONS = ("position", "index")


def chain(
    length: int = 10, sparsity: float = 1.0, reward: str = "goal", observation: str = "position"
) -> Domain:
    """State k = 0 .. length-1 is the paper's S_{k+1}. Goal: the last state. Start: the first one.

    `sparsity` p: arriving in a state other than the goal costs 1 with probability 1 - p, so that p = 1 is
    goal-only. `observation` is the state as a vector of one number, or "index", for tabular agents.
    reward="classic" has a cost of 1 for each step before the goal: p = 0.
    """
    if not isinstance(length, int) or length < 2:
        raise InputError(f"length is {length!r}: expected a whole number from 2")
    choice("reward", reward, REWARDS)
    choice("observation", observation, OBSERVATIONS)
    cost = 1.0 if reward == "classic" else 1.0 - probability("sparsity", sparsity)
    return member(_chain, observation, length=length, cost=cost)


def _chain(observation: str, length: Number, cost: Number) -> Domain:
    """`cost`: the probability that a state other than the goal costs 1."""

    def reset(key: jax.Array) -> jax.Array:
        del key
        return jnp.zeros((), jnp.int32)

    def step(state: jax.Array, action: jax.Array, key: jax.Array) -> Step:
        slip_key, cost_key = jax.random.split(key)
        slips = jax.random.uniform(slip_key) < 1.0 / length
        right = (action == RIGHT) & jnp.logical_not(slips)
        after = jnp.clip(state + jnp.where(right, 1, -1), 0, length - 1).astype(jnp.int32)
        goal = after == length - 1
        pays = jnp.logical_not(goal) & (jax.random.uniform(cost_key) < cost)
        result = outcome(after, goal, False, 0.0, "goal", float)
        return result._replace(reward=result.reward - pays)

    def observe(state: jax.Array) -> jax.Array:
        return state if observation == "index" else jnp.asarray(state, float)[None]

    if observation == "index":
        return Domain("Chain", reset, step, observe, num_states=length, num_actions=2)
    return Domain(
        "Chain", reset, step, observe,
        observation_low=(0.0,), observation_high=(1.0 * (length - 1),), num_actions=2,
    )  # fmt: skip
