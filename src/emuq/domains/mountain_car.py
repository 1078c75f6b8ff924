"""MountainCar: leave a valley on too weak an engine. The physics of Gymnasium's MountainCarContinuous-v0."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from emuq.domains.base import REWARDS, Domain, Step, choice, outcome

MIN_POSITION, MAX_POSITION, MAX_SPEED = -1.2, 0.6, 0.07
POWER, GRAVITY = 0.0015, 0.0025
GOAL_POSITION = 0.45


class State(NamedTuple):
    position: jax.Array
    velocity: jax.Array


def move(state: State, force: jax.Array) -> State:
    """velocity += power force - g cos(3 position); position += velocity; the left wall stops the car."""
    velocity = state.velocity + force * POWER - GRAVITY * jnp.cos(3 * state.position)
    velocity = jnp.clip(velocity, -MAX_SPEED, MAX_SPEED)
    position = jnp.clip(state.position + velocity, MIN_POSITION, MAX_POSITION)
    velocity = jnp.where((position <= MIN_POSITION) & (velocity < 0), 0.0, velocity)
    return State(position, velocity)


def observe(state: State) -> jax.Array:
    return jnp.stack([state.position, state.velocity])


def mountain_car(reward: str = "goal") -> Domain:
    """Goal: position >= 0.45. Start: at rest in [-0.6, -0.4], as Gymnasium's."""
    choice("reward", reward, REWARDS)

    def reset(key: jax.Array) -> State:
        position = jax.random.uniform(key, minval=-0.6, maxval=-0.4)
        return State(position, jnp.zeros_like(position))

    def step(state: State, action: jax.Array, key: jax.Array) -> Step:
        del key
        force = action[0].astype(state.position.dtype)
        after = move(state, force)
        goal = after.position >= GOAL_POSITION
        classic = jnp.where(goal, 100.0, 0.0) - 0.1 * force**2
        return outcome(after, goal, False, classic, reward, state.position.dtype)

    return Domain(
        "MountainCar", reset, step, observe,
        observation_low=(MIN_POSITION, -MAX_SPEED), observation_high=(MAX_POSITION, MAX_SPEED),
        action_low=(-1.0,), action_high=(1.0,),
    )  # fmt: skip
