"""What an environment says, checked once for every agent: wrong numbers stop at the door.

An agent that has taken in one NaN is lost, and an environment that hands out its own array and then changes
it would rewrite the past: observations are copied.
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np

from emuq.errors import InputError, finite, quoted
from emuq.planning.transitions import reached_goal

# Agents add up squares of returns r / (1 - gamma) in single precision, which ends at 3.4e38: with gamma up to
# 0.999 and a million transitions that leaves sqrt(3.4e38 / 1e6) / 1e3 = 1.8e13 for one reward.
LARGEST_REWARD = 1e12


class Environment(Protocol):
    """As much of Gymnasium's as an episode needs."""

    def reset(self, *, seed: int) -> Any: ...
    def step(self, action: Any) -> Any: ...


class Step(NamedTuple):
    """The answer to one action. `goal`: the goal is reached; `told`: the environment itself says whether."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    goal: bool
    told: bool


def reset(env: Environment, space: gym.Space, seed: int) -> Any:
    """The first observation of an episode."""
    answer = env.reset(seed=seed)
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise InputError(
            f"env.reset returned {quoted(answer)}: expected (observation, info), as in Gymnasium"
        )
    return observation_of(space, answer[0], 0)


def step(env: Environment, space: gym.Space, action: Any, number: int) -> Step:
    """The answer to `action`, the step of this number.

    The goal is reached where `info["is_success"]` says so; where the environment does not have it, where the
    episode terminates with a positive reward.
    """
    answer = env.step(action)
    if not (isinstance(answer, tuple) and len(answer) == 5):
        raise InputError(
            f"env.step returned {quoted(answer)}: "
            "expected (observation, reward, terminated, truncated, info), as in Gymnasium"
        )
    observation, reward, terminated, truncated, info = answer
    observation = observation_of(space, observation, number)
    reward, terminated, truncated = reward_of(reward, number), bool(terminated), bool(truncated)
    told = "is_success" in info
    goal = bool(info["is_success"]) if told else reached_goal(terminated, reward)
    return Step(observation, reward, terminated, truncated, goal, told)


def observation_of(space: gym.Space, given: Any, number: int | None = None) -> Any:
    """A copy of the observation of a step (0: the reset), all of finite numbers; unread where no Box is."""
    if isinstance(space, gym.spaces.Dict | gym.spaces.Tuple):
        return copy.deepcopy(given)
    if not isinstance(space, gym.spaces.Box):
        return given
    array = _array(given)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{_observation(number)} is {quoted(given)}: expected numbers, as in {space}")
    if array.shape != space.shape:
        raise InputError(
            f"{_observation(number)} has shape {array.shape}: expected {space.shape} as in {space}"
        )
    # One product is finite only if all numbers are, and takes a fifth of the time to look at each.
    if array.dtype.kind == "f" and not math.isfinite(np.vdot(array, array)):
        finite(array, _observation(number))
    return array


def is_batch(space: gym.Space, given: Any) -> bool:
    """Whether these are several observations: one axis more than the space has."""
    return space.shape is not None and np.ndim(_array(given)) == len(space.shape) + 1


def reward_of(given: Any, number: int) -> float:
    """One number, of a size that agents can add up."""
    if not isinstance(given, float):
        array = _array(given)
        if array.dtype.kind not in "fiub" or array.size != 1:
            raise InputError(f"reward is {quoted(given)} at step {number}: expected one number")
        given = array.item()
    reward = float(given)
    if not -LARGEST_REWARD <= reward <= LARGEST_REWARD:  # nor is NaN
        raise InputError(
            f"reward is {reward} at step {number}: expected a number within +-{LARGEST_REWARD:.0e}; "
            "scale rewards to about 1"
        )
    return reward


def _observation(number: int | None) -> str:
    return "observation" + ("" if number is None else f" (step {number})" if number else " of the reset")


def _array(given: Any) -> np.ndarray:
    try:
        return np.array(given)
    except (ValueError, TypeError):  # rows of unequal lengths
        return np.array(None)
