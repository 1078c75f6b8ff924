"""Tasks of dm_control's suite as Gymnasium environments, two frames of the simulation to a decision.

observation   all arrays of the suite's observation, one after the other, without bounds
reward        the sum over the frames of a decision: at most 1,000 an episode
an episode    1,000 frames, so 500 decisions; it is cut then, and never ends by itself
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from emuq.errors import MissingExtra

FRAMES = 2


class Task(NamedTuple):
    """`decisions` to learn from, and the return from which on it counts as solved."""

    decisions: int
    threshold: float


TASKS = {
    "pendulum-swingup": Task(4000, 800.0),
    "cartpole-swingup_sparse": Task(10000, 700.0),
    "ball_in_cup-catch": Task(5000, 900.0),
    "reacher-hard": Task(10000, 800.0),
    # Half of all there is, as nobody has said how much is enough.
    "acrobot-swingup_sparse": Task(10000, 500.0),
    "finger-turn_hard": Task(10000, 500.0),
}


class Decisions(gym.Env):
    """A task of the suite, by its name: "pendulum-swingup"."""

    def __init__(self, name: str) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a screen, which nobody asked for
                from dm_control import suite
        except ImportError:
            raise MissingExtra("dm_control", "mujoco") from None
        domain, task = name.split("-")
        self._env = suite.load(domain, task, task_kwargs={"random": 0})
        size, spec = self._observed(self._env.reset()).size, self._env.action_spec()
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (size,), np.float64)
        low, high = (np.broadcast_to(bound, spec.shape) for bound in (spec.minimum, spec.maximum))
        self.action_space = gym.spaces.Box(low.astype(float), high.astype(float), dtype=np.float64)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        """A new start, by the seed where one is given."""
        super().reset(seed=seed)
        if seed is not None:
            self._env.task._random = np.random.RandomState(seed % 2**32)
        return self._observed(self._env.reset()), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        """One decision."""
        found = self._env.step(np.asarray(action))
        total = float(found.reward or 0.0)
        for _ in range(FRAMES - 1):
            if found.last():
                break
            found = self._env.step(np.asarray(action))
            total += float(found.reward or 0.0)
        return self._observed(found), total, False, bool(found.last()), {}

    def _observed(self, found: Any) -> np.ndarray:
        return np.concatenate([np.ravel(part) for part in found.observation.values()]).astype(float)
