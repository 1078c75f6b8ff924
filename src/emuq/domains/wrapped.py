"""A goal-only environment over one of Gymnasium's own simulators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import DependencyNotInstalled

from emuq.domains.actions import check_box
from emuq.domains.base import REWARDS, choice
from emuq.domains.opengl import no_opengl
from emuq.errors import MissingExtra

Bounds = Sequence[tuple[float, float]]
Judge = Callable[[Any, np.ndarray, dict], tuple[bool, bool]]


class Wrapped(gym.Env):
    """Steps `inner` and judges where it got: `judge(inner, observation, info)` gives (goal, failure).

    +1 at the goal, -1 at a failure, which wins over a goal in the same step, 0 elsewhere; reward="classic"
    keeps the simulator's own reward, and its own endings besides. Observations are clipped to `space`, wide
    enough that a clipped one is a rarity; `normalisation` holds the bounds to scale observations with.
    Truncation is `gym.make`'s part.
    """

    metadata = {"render_modes": ["human", "rgb_array"]}  # noqa: RUF012 (Gymnasium's convention)

    def __init__(
        self,
        inner: Any,
        judge: Judge,
        *,
        space: Bounds,
        normalisation: Bounds,
        reward: str = "goal",
    ) -> None:
        self.reward = choice("reward", reward, REWARDS)
        self.inner = inner.unwrapped
        self.metadata = {**self.metadata, "render_fps": self.inner.metadata["render_fps"]}
        self.render_mode = self.inner.render_mode
        self._judge = judge
        self._observation_low, self._observation_high = np.array(space, float).T.copy()
        low, high = np.array(normalisation, float).T.copy()
        self.normalisation = (low, high)
        self.observation_space = gym.spaces.Box(
            self._observation_low, self._observation_high, dtype=np.float64
        )
        self._low = np.asarray(self.inner.action_space.low, np.float64)
        self._high = np.asarray(self.inner.action_space.high, np.float64)
        self.action_space = gym.spaces.Box(self._low, self._high, dtype=np.float64)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        observation, _ = self.inner.reset(seed=seed, options=options)
        return self._clip(observation), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        action = check_box(action, self._low, self._high)
        observation, classic, ended, _, info = self.inner.step(action)
        goal, failure = self._judge(self.inner, observation, info)
        goal = bool(goal and not failure)
        terminated = bool(goal or failure)
        if self.reward == "classic":
            reward, terminated = float(classic), terminated or bool(ended)
        else:
            reward = 1.0 if goal else -1.0 if failure else 0.0
        return self._clip(observation), reward, terminated, False, {**info, "is_success": goal}

    def _clip(self, observation: np.ndarray) -> np.ndarray:
        return np.clip(observation, self._observation_low, self._observation_high, dtype=np.float64)

    def render(self) -> Any:
        try:
            return self.inner.render()
        except DependencyNotInstalled as error:
            raise MissingExtra("pygame", "render") from error
        except Exception as error:  # of any kind, by platform
            raise no_opengl(error) from error

    def close(self) -> None:
        self.inner.close()
