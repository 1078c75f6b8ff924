"""DeepSea: N x N cells in which one sequence of N moves, of 2^N, finds the goal (Osband et al., 2019).

Every move goes down a row, to the left or to the right; the goal is at the bottom of the last column. What an
action means is drawn for each cell, so that no cell says anything about another.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from emuq.domains.base import REWARDS, Domain, Step, choice
from emuq.errors import InputError

OBSERVATIONS = ("index", "one-hot")
LARGEST = 64  # a one-hot observation has N^2 numbers
COST = 0.01  # of all moves to the right together, under the classic reward


def deep_sea(
    size: int = 10,
    meaning: int | None = 0,
    stochastic: bool = False,
    reward: str = "goal",
    observation: str = "index",
) -> Domain:
    """State N row + column. Start: the first row's first cell. Goal: a move to the right in the last cell.

    `meaning` is the seed by which each cell's action to the right is drawn (None: action 1 everywhere).
    `stochastic`: a move to the right fails with probability 1 / N. reward="classic": moves to the right cost
    0.01 / N each, on the way to 1. `observation` is the state's number or, "one-hot", a vector. An episode
    is N steps long.
    """
    if not isinstance(size, int) or isinstance(size, bool) or not 2 <= size <= LARGEST:
        raise InputError(f"size is {size!r}: expected a whole number from 2 to {LARGEST}")
    if meaning is not None and (not isinstance(meaning, int) or meaning < 0):
        raise InputError(f"meaning is {meaning!r}: expected a seed from 0, or None")
    choice("reward", reward, REWARDS)
    choice("observation", observation, OBSERVATIONS)
    choice("stochastic", stochastic, (False, True))
    states = size * size
    rightward = np.ones(states, np.int32)
    if meaning is not None:
        rightward = np.random.default_rng(meaning).integers(2, size=states, dtype=np.int32)

    def reset(key: jax.Array) -> jax.Array:
        del key
        return jnp.zeros((), jnp.int32)

    def step(state: jax.Array, action: jax.Array, key: jax.Array) -> Step:
        row, column = state // size, state % size
        right = action == jnp.asarray(rightward)[state]
        slips = jax.random.uniform(key) < (1.0 / size if stochastic else 0.0)
        goes = right & jnp.logical_not(slips)
        last = row == size - 1
        goal = last & (column == size - 1) & goes
        column = jnp.clip(column + jnp.where(goes, 1, -1), 0, size - 1)
        after = jnp.where(last, state, size * (row + 1) + column).astype(jnp.int32)
        value = jnp.where(goal, 1.0, 0.0)
        if reward == "classic":
            value = value - jnp.where(right, COST / size, 0.0)
        return Step(after, jnp.asarray(value, float), last, goal)

    def observe(state: jax.Array) -> jax.Array:
        return state if observation == "index" else (jnp.arange(states) == state).astype(float)

    if observation == "index":
        return Domain("DeepSea", reset, step, observe, num_states=states, num_actions=2)
    return Domain(
        "DeepSea", reset, step, observe,
        observation_low=(0.0,) * states, observation_high=(1.0,) * states, num_actions=2,
    )  # fmt: skip
