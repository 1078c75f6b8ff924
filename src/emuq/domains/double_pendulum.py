"""DoublePendulum: swing the tip of two links up. The physics of Gymnasium's Acrobot-v1 (Sutton & Barto's)."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from emuq.domains.base import REWARDS, Domain, Step, choice, outcome
from emuq.domains.single_pendulum import wrap

# Both links: mass 1 kg, length 1 m, centre of mass at 0.5 m, moment of inertia 1 kg m^2.
CENTRE, GRAVITY, DT = 0.5, 9.8, 0.2
MAX_SPEED_1, MAX_SPEED_2 = 4 * math.pi, 9 * math.pi
GOAL_HEIGHT = 1.0


class State(NamedTuple):
    """Angle of the first link from hanging, of the second from the first (both wrapped); their velocities."""

    angle_1: jax.Array
    angle_2: jax.Array
    velocity_1: jax.Array
    velocity_2: jax.Array


def height(state: State) -> jax.Array:
    """The tip's height over the fixed joint, in [-2, 2]."""
    return -jnp.cos(state.angle_1) - jnp.cos(state.angle_1 + state.angle_2)


def derivative(state: State, torque: jax.Array) -> State:
    """The equations of motion of Sutton & Barto's book, with the torque on the joint between the links."""
    a1, a2, v1, v2 = state
    cos_2, sin_2 = jnp.cos(a2), jnp.sin(a2)
    d1 = CENTRE**2 + (1 + CENTRE**2 + 2 * CENTRE * cos_2) + 2
    d2 = CENTRE**2 + CENTRE * cos_2 + 1
    phi2 = CENTRE * GRAVITY * jnp.cos(a1 + a2 - math.pi / 2)
    phi1 = (
        -CENTRE * v2**2 * sin_2
        - 2 * CENTRE * v2 * v1 * sin_2
        + (CENTRE + 1) * GRAVITY * jnp.cos(a1 - math.pi / 2)
        + phi2
    )
    acceleration_2 = (torque + d2 / d1 * phi1 - CENTRE * v1**2 * sin_2 - phi2) / (CENTRE**2 + 1 - d2**2 / d1)
    acceleration_1 = -(d2 * acceleration_2 + phi1) / d1
    return State(v1, v2, acceleration_1, acceleration_2)


def move(state: State, torque: jax.Array) -> State:
    """One Runge-Kutta step of 0.2 s; angles wrapped, velocities clipped."""

    def along(slope: State, dt: float) -> State:
        return State(*(y + dt * k for y, k in zip(state, slope, strict=True)))

    k1 = derivative(state, torque)
    k2 = derivative(along(k1, DT / 2), torque)
    k3 = derivative(along(k2, DT / 2), torque)
    k4 = derivative(along(k3, DT), torque)
    mean = State(*((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)))
    a1, a2, v1, v2 = along(mean, DT)
    v1 = jnp.clip(v1, -MAX_SPEED_1, MAX_SPEED_1)
    v2 = jnp.clip(v2, -MAX_SPEED_2, MAX_SPEED_2)
    return State(wrap(a1), wrap(a2), v1, v2)


def observe(state: State) -> jax.Array:
    a1, a2, v1, v2 = state
    return jnp.stack([jnp.cos(a1), jnp.sin(a1), jnp.cos(a2), jnp.sin(a2), v1, v2])


def double_pendulum(reward: str = "goal") -> Domain:
    """Goal: the tip within 1 of its highest point, height > 1. Start: nearly hanging at rest, as Gymnasium's.

    The torque in [-1, 1] N m acts on the joint that Acrobot actuates, the one between the links.
    """
    choice("reward", reward, REWARDS)

    def reset(key: jax.Array) -> State:
        return State(*jax.random.uniform(key, (4,), minval=-0.1, maxval=0.1))

    def step(state: State, action: jax.Array, key: jax.Array) -> Step:
        del key
        dtype = state.angle_1.dtype
        after = move(state, action[0].astype(dtype))
        goal = height(after) > GOAL_HEIGHT
        return outcome(after, goal, False, jnp.where(goal, 0.0, -1.0), reward, dtype)

    space = (1.0, 1.0, 1.0, 1.0, MAX_SPEED_1, MAX_SPEED_2)
    return Domain(
        "DoublePendulum", reset, step, observe,
        # The authors' code scales the speeds by 42 and 74, far beyond what the physics allows: two thirds of
        # the range would stay empty, and the features too coarse for what is left.
        observation_low=tuple(-bound for bound in space), observation_high=space,
        action_low=(-1.0,), action_high=(1.0,),
    )  # fmt: skip
