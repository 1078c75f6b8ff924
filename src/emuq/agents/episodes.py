"""What episodes are made of: their seeds, their steps, what callbacks are told, and one without learning."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym
import numpy as np

from emuq.errors import InputError
from emuq.history import Episode

if TYPE_CHECKING:
    from emuq.agents.base import Agent


class Transition(NamedTuple):
    """One step of an environment. `goal` is true on the step that reached the goal."""

    observation: Any
    action: Any
    reward: float
    next_observation: Any
    terminated: bool
    truncated: bool
    goal: bool


def check_finite(transition: Transition, number: int) -> None:
    """The reward and the action of step `number` are finite."""
    for name in ("reward", "action"):
        if not np.isfinite(getattr(transition, name)).all():
            given = f"{name} is {getattr(transition, name)} at step {number}"
            raise InputError(f"{given}: expected finite numbers")


class Event(NamedTuple):
    """What a callback gets: `kind` is "step" or "episode". Returning False stops learning."""

    kind: str
    agent: Agent
    transition: Transition | None = None
    episode: Episode | None = None


Callback = Callable[[Event], bool | None]


def reset_seed(seed: int, *stream: int, test: bool = False) -> int:
    """The seed of an episode's reset: learning episodes and tests draw from streams that never meet."""
    return int(np.random.SeedSequence([seed, int(test), *stream]).generate_state(1)[0] >> 1)


def rollout(env: gym.Env, policy: Callable[[Any], Any], seed: int) -> tuple[float, int, bool]:
    """An episode in which nothing is learned: its return, its length, whether it reached the goal."""
    observation, _ = env.reset(seed=seed)
    total, length = 0.0, 0
    while True:
        observation, reward, terminated, truncated, info = env.step(policy(observation))
        total += float(reward)
        length += 1
        if terminated or truncated:
            return total, length, bool(info.get("is_success", terminated and float(reward) > 0))
