"""Furuta: swing a pendulum up by turning the arm at whose end it hangs. The machine of many control courses.

    (J_r + m L^2 + J sin^2 a) t'' + m l L cos a a'' + 2 J sin a cos a a' t' - m l L sin a a'^2 = T - D_r t'
    m l L cos a t'' + J a'' - J sin a cos a t'^2 - m g l sin a = -D a'

with the arm's angle t and length L, the pendulum's angle a from upright, inertia J, mass m and half length l,
and the motor's torque T = k (v - k t') / R at a voltage v. The numbers are those of a small machine for the
desk (arm 8.5 cm, pendulum 12.9 cm, 24 g). What makes a real one harder is here as well: a command that
arrives steps later, and a motor that does not move at a low voltage.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from emuq.domains.base import REWARDS, Domain, Step, choice, outcome
from emuq.domains.single_pendulum import wrap
from emuq.errors import InputError

GRAVITY = 9.81
ARM_MASS, ARM_LENGTH = 0.095, 0.085
MASS, LENGTH = 0.024, 0.129  # of the pendulum, a rod
ARM_INERTIA, INERTIA = ARM_MASS * ARM_LENGTH**2 / 3, MASS * LENGTH**2 / 3  # about the axes
COUPLING = MASS * LENGTH / 2 * ARM_LENGTH
WEIGHT = MASS * GRAVITY * LENGTH / 2
RESISTANCE, MOTOR = 8.4, 0.042  # ohm; N m / A, and V s
ARM_FRICTION, FRICTION = 5e-6, 1e-6  # N m s
MAX_VOLTAGE = 5.0
SUBSTEP = 0.0025  # of the integration, in seconds, at most
GOAL_ANGLE, CABLE = 0.25, math.pi / 2
LONGEST_DELAY = 100
# Leaving the cable's range costs as much as the worst reward, -2, for ever at a discount of 0.99.
CLASSIC_FAILURE = -200.0


class State(NamedTuple):
    """Angles of the arm and of the pendulum (from upright, not wrapped), their velocities, and the commands
    that are on their way, the oldest first.
    """

    arm: jax.Array
    angle: jax.Array
    arm_velocity: jax.Array
    velocity: jax.Array
    pending: jax.Array


def acceleration(state: State, torque: jax.Array) -> tuple[jax.Array, jax.Array]:
    """t'' and a'' under a torque on the arm."""
    sin, cos = jnp.sin(state.angle), jnp.cos(state.angle)
    turn, swing = state.arm_velocity, state.velocity
    arm = torque - ARM_FRICTION * turn - 2 * INERTIA * sin * cos * swing * turn + COUPLING * sin * swing**2
    pendulum = WEIGHT * sin + INERTIA * sin * cos * turn**2 - FRICTION * swing
    first, both = ARM_INERTIA + MASS * ARM_LENGTH**2 + INERTIA * sin**2, COUPLING * cos
    determinant = first * INERTIA - both**2
    return (INERTIA * arm - both * pendulum) / determinant, (first * pendulum - both * arm) / determinant


def energy(state: State) -> jax.Array:
    """Kinetic and potential energy, 0 at rest and upright."""
    sin, cos = jnp.sin(state.angle), jnp.cos(state.angle)
    turn, swing = state.arm_velocity, state.velocity
    first = ARM_INERTIA + MASS * ARM_LENGTH**2 + INERTIA * sin**2
    kinetic = first * turn**2 / 2 + COUPLING * cos * turn * swing + INERTIA * swing**2 / 2
    return kinetic + WEIGHT * (cos - 1.0)


def torque_of(voltage: jax.Array, turn: jax.Array, dead_zone: float) -> jax.Array:
    """k (v - k t') / R; of a voltage only what exceeds the dead zone counts."""
    left = jnp.sign(voltage) * jnp.maximum(jnp.abs(voltage) - dead_zone, 0.0)
    return MOTOR * (left - MOTOR * turn) / RESISTANCE


def move(state: State, voltage: jax.Array, seconds: float, dead_zone: float = 0.0) -> State:
    """One step of the classical Runge-Kutta method at a constant voltage."""

    def slope(at: State) -> State:
        turn, swing = acceleration(at, torque_of(voltage, at.arm_velocity, dead_zone))
        return State(at.arm_velocity, at.velocity, turn, swing, jnp.zeros_like(at.pending))

    def along(direction: State, share: float) -> State:
        return jax.tree.map(lambda x, d: x + share * seconds * d, state, direction)

    first = slope(state)
    second = slope(along(first, 0.5))
    third = slope(along(second, 0.5))
    fourth = slope(along(third, 1.0))
    mean = jax.tree.map(lambda a, b, c, d: (a + 2 * b + 2 * c + d) / 6, first, second, third, fourth)
    return along(mean, 1.0)


def observe(state: State) -> jax.Array:
    angles = jnp.cos(state.angle), jnp.sin(state.angle), state.arm
    return jnp.stack([*angles, state.velocity, state.arm_velocity])


def furuta(reward: str = "goal", rate: int = 50, delay: int = 0, dead_zone: float = 0.0) -> Domain:
    """Goal: |angle from upright| < 0.25. Failure: |arm's angle| > pi / 2, as far as its cable goes.

    Start: hanging, each number within 0.05 of rest. The action in [-1, 1] is the fraction of the largest
    voltage, 5 V. There are `rate` steps a second; a command acts `delay` steps after it was given, and a
    voltage within `dead_zone` volts moves nothing. The commands on their way are not observed. The classic
    reward is cos(angle) - 1, and -200 for the failure.
    """
    choice("reward", reward, REWARDS)
    if not 10 <= rate <= 10_000:
        raise InputError(f"rate is {rate!r}: expected steps a second, from 10 to 10000")
    if not isinstance(delay, int) or not 0 <= delay <= LONGEST_DELAY:
        raise InputError(f"delay is {delay!r}: expected a whole number of steps from 0 to {LONGEST_DELAY}")
    if not 0 <= dead_zone < MAX_VOLTAGE:
        raise InputError(f"dead_zone is {dead_zone!r}: expected volts from 0 to below {MAX_VOLTAGE:g}")
    parts = math.ceil(round(1 / (rate * SUBSTEP), 9))

    def reset(key: jax.Array) -> State:
        arm, angle, turn, swing = jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)
        return State(arm, math.pi + angle, turn, swing, jnp.zeros(delay, arm.dtype))

    def step(state: State, action: jax.Array, key: jax.Array) -> Step:
        del key
        dtype = state.arm.dtype
        commands = jnp.concatenate([state.pending, MAX_VOLTAGE * action[:1].astype(dtype)])
        after = state._replace(pending=commands[1:])
        for _ in range(parts):
            after = move(after, commands[0], 1 / (rate * parts), dead_zone)
        failure = jnp.abs(after.arm) > CABLE
        goal = jnp.abs(wrap(after.angle)) < GOAL_ANGLE
        classic = jnp.where(failure, CLASSIC_FAILURE, jnp.cos(after.angle) - 1.0)
        return outcome(after, goal, failure, classic, reward, dtype)

    return Domain(
        "Furuta", reset, step, observe,
        observation_low=(-1.0, -1.0, -CABLE, -30.0, -20.0), observation_high=(1.0, 1.0, CABLE, 30.0, 20.0),
        space_low=(-1.0, -1.0, -4.0, -200.0, -100.0), space_high=(1.0, 1.0, 4.0, 200.0, 100.0),
        action_low=(-1.0,), action_high=(1.0,),
    )  # fmt: skip
