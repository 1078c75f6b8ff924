"""SinglePendulum: swing an under-actuated pendulum up. The physics of Gymnasium's Pendulum-v1."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from emuq.domains.base import REWARDS, Domain, Step, choice, outcome

GRAVITY, DT = 10.0, 0.05
MAX_SPEED, MAX_TORQUE = 8.0, 2.0
GOAL_ANGLE = 0.05
STARTS = ("random", "hanging")


class State(NamedTuple):
    """Angle from upright (not wrapped) and angular velocity."""

    angle: jax.Array
    velocity: jax.Array


def wrap(angle: jax.Array) -> jax.Array:
    """The same angle in [-pi, pi)."""
    return (angle + math.pi) % (2 * math.pi) - math.pi


def move(state: State, torque: jax.Array) -> State:
    """velocity += (3g/2 sin(angle) + 3 torque) dt, clipped; angle += velocity dt."""
    velocity = state.velocity + (1.5 * GRAVITY * jnp.sin(state.angle) + 3.0 * torque) * DT
    velocity = jnp.clip(velocity, -MAX_SPEED, MAX_SPEED)
    return State(state.angle + velocity * DT, velocity)


def observe(state: State) -> jax.Array:
    return jnp.stack([jnp.cos(state.angle), jnp.sin(state.angle), state.velocity])


def single_pendulum(reward: str = "goal", start: str = "random") -> Domain:
    """Goal: |angle from upright| < 0.05. The action in [-1, 1] is the fraction of the largest torque, 2 N m.

    start="random" is Gymnasium's (any angle, speed up to 1); start="hanging" begins at rest, pointing down.
    """
    choice("reward", reward, REWARDS)
    choice("start", start, STARTS)

    def reset(key: jax.Array) -> State:
        angle, velocity = jax.random.uniform(key, (2,), minval=-1.0, maxval=1.0)
        if start == "hanging":
            return State(jnp.full_like(angle, math.pi), jnp.zeros_like(velocity))
        return State(math.pi * angle, velocity)

    def step(state: State, action: jax.Array, key: jax.Array) -> Step:
        del key
        torque = MAX_TORQUE * action[0].astype(state.angle.dtype)
        after = move(state, torque)
        cost = wrap(state.angle) ** 2 + 0.1 * state.velocity**2 + 0.001 * torque**2
        goal = jnp.abs(wrap(after.angle)) < GOAL_ANGLE
        return outcome(after, goal, False, -cost, reward, state.angle.dtype)

    return Domain(
        "SinglePendulum", reset, step, observe,
        observation_low=(-1.0, -1.0, -MAX_SPEED), observation_high=(1.0, 1.0, MAX_SPEED),
        action_low=(-1.0,), action_high=(1.0,),
    )  # fmt: skip
