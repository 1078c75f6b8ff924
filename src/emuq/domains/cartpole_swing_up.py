"""CartpoleSwingUp: swing a hanging pole up by pushing its cart. The physics of Gymnasium's CartPole-v1."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from emuq.domains.base import REWARDS, Domain, Step, choice, outcome

GRAVITY, DT, MAX_FORCE = 9.8, 0.02, 10.0
CART_MASS, POLE_MASS, HALF_LENGTH = 1.0, 0.1, 0.5
GOAL_COSINE, TRACK = 0.8, 2.4
# Leaving the track costs as much as the worst reward, -2, for ever at a discount of 0.99: it never pays.
CLASSIC_FAILURE = -200.0
# No observation is outside: the goal ends an episode as soon as the angle leaves (0.64, 5.64), and 4.8 m of
# track at the largest force and the pole's swing allow less than these velocities.
SPACE_LOW, SPACE_HIGH = (-3.4, -20.0, -5.4, -30.0), (3.4, 20.0, 6.35, 30.0)


class State(NamedTuple):
    """Position and velocity of the cart; angle of the pole from upright (not wrapped) and its velocity."""

    position: jax.Array
    velocity: jax.Array
    angle: jax.Array
    angular_velocity: jax.Array


def move(state: State, force: jax.Array) -> State:
    """Florian's equations without friction, one Euler step of 0.02 s."""
    x, v, angle, w = state
    mass, moment = CART_MASS + POLE_MASS, POLE_MASS * HALF_LENGTH
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    push = (force + moment * w**2 * sin) / mass
    angular = (GRAVITY * sin - cos * push) / (HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * cos**2 / mass))
    acceleration = push - moment * angular * cos / mass
    return State(x + DT * v, v + DT * acceleration, angle + DT * w, w + DT * angular)


def observe(state: State) -> jax.Array:
    return jnp.stack(state)


def cartpole_swing_up(reward: str = "goal") -> Domain:
    """Goal: cos(angle) > 0.8. Failure: |position| > 2.4. Start: hanging, each number within 0.05 of rest.

    The action in [-1, 1] is the fraction of the largest force, 10 N. CartPole's own +1 a step says nothing
    about swinging up; the classic reward is cos(angle) - 1, and -200 for leaving the track.
    """
    choice("reward", reward, REWARDS)

    def reset(key: jax.Array) -> State:
        x, v, angle, w = jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)
        return State(x, v, math.pi + angle, w)

    def step(state: State, action: jax.Array, key: jax.Array) -> Step:
        del key
        dtype = state.position.dtype
        after = move(state, MAX_FORCE * action[0].astype(dtype))
        failure = jnp.abs(after.position) > TRACK
        goal = jnp.cos(after.angle) > GOAL_COSINE
        classic = jnp.where(failure, CLASSIC_FAILURE, jnp.cos(after.angle) - 1.0)
        return outcome(after, goal, failure, classic, reward, dtype)

    return Domain(
        "CartpoleSwingUp", reset, step, observe,
        observation_low=(-3.4, -8.0, -5.4, -8.7), observation_high=(3.4, 8.3, 6.35, 8.1),
        space_low=SPACE_LOW, space_high=SPACE_HIGH,
        action_low=(-1.0,), action_high=(1.0,),
    )  # fmt: skip
