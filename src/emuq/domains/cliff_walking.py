"""CliffWalking: 4 x 12 cells, the cliff between the start and the goal (Sutton & Barto, example 6.6)."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from emuq.domains.base import REWARDS, Domain, Number, Step, choice, member, probability

ROWS, COLUMNS = 4, 12
START, GOAL = 36, 47
NUM_STATES, NUM_ACTIONS = ROWS * COLUMNS, 4
# Up, right, down, left: Gymnasium's order.
ROW_STEPS, COLUMN_STEPS = (-1, 0, 1, 0), (0, 1, 0, -1)


def cliff_walking(slip: float = 0.01, reward_scale: float = 1.0, reward: str = "goal") -> Domain:
    """State 12 row + column. Goal: cell 47. Start: cell 36. The cliff costs 1 and leads back to the start.

    With probability `slip` the direction is drawn anew from all four. Rewards are multiplied by
    `reward_scale`. reward="classic": -1 a step, -100 for the cliff.
    """
    choice("reward", reward, REWARDS)
    return member(_cliff_walking, reward, slip=probability("slip", slip), reward_scale=float(reward_scale))


def _cliff_walking(reward: str, slip: Number, reward_scale: Number) -> Domain:
    def reset(key: jax.Array) -> jax.Array:
        del key
        return jnp.full((), START, jnp.int32)

    def step(state: jax.Array, action: jax.Array, key: jax.Array) -> Step:
        slip_key, direction_key = jax.random.split(key)
        other = jax.random.randint(direction_key, (), 0, NUM_ACTIONS, jnp.int32)
        slips = jax.random.uniform(slip_key) < slip
        direction = jnp.where(slips, other, jnp.asarray(action, jnp.int32))
        row = jnp.clip(state // COLUMNS + jnp.array(ROW_STEPS, jnp.int32)[direction], 0, ROWS - 1)
        column = jnp.clip(state % COLUMNS + jnp.array(COLUMN_STEPS, jnp.int32)[direction], 0, COLUMNS - 1)
        falls = (row == ROWS - 1) & (column > 0) & (column < COLUMNS - 1)
        after = jnp.where(falls, START, row * COLUMNS + column).astype(jnp.int32)
        goal = after == GOAL
        if reward == "goal":
            value = jnp.where(goal, 1.0, jnp.where(falls, -1.0, 0.0))
        else:
            value = jnp.where(falls, -100.0, -1.0)
        return Step(after, jnp.asarray(reward_scale * value, float), goal, goal)

    def observe(state: jax.Array) -> jax.Array:
        return state

    return Domain("CliffWalking", reset, step, observe, num_states=NUM_STATES, num_actions=NUM_ACTIONS)
