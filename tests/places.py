"""Small environments of a newcomer's, and one small agent of each kind for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

import emuq
from emuq.agents.base import Agent
from emuq.agents.rffq import RFFQ

LINE = 10


class Line(gym.Env):
    """A walk over a line from 0 to 10: the last place is the goal, and an episode lasts `horizon` steps."""

    def __init__(self, actions: gym.Space, *, tabular: bool = False, horizon: int = 12) -> None:
        places = gym.spaces.Discrete(LINE + 1) if tabular else gym.spaces.Box(0.0, LINE, (2,), np.float64)
        self.observation_space, self.action_space = places, actions
        self.tabular, self.horizon = tabular, horizon
        self.actions: list[Any] = []
        self.place = self.time = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.time = 0
        return self._observation(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.actions.append(action)
        self.place, self.time = min(self.place + 1, LINE), self.time + 1
        goal = self.place == LINE
        return self._observation(), float(goal), goal, self.time >= self.horizon, {}

    def _observation(self):
        return self.place if self.tabular else np.array([self.place, self.time % 3], float)


class Troubled(gym.Wrapper):
    """An environment in which step (or reset) `number`, counted from 1, goes wrong as `trouble` does."""

    def __init__(self, env: gym.Env, number: int, trouble: Callable[[], Any], *, where: str = "step") -> None:
        super().__init__(env)
        self.number, self.trouble, self.where, self.count = number, trouble, where, 0

    def _due(self, where: str) -> bool:
        self.count += where == self.where
        return where == self.where and self.count == self.number

    def reset(self, **options):
        if self._due("reset"):
            self.trouble()
        return self.env.reset(**options)

    def step(self, action):
        answer = self.env.step(action)
        return self.trouble() or answer if self._due("step") else answer


BOX = gym.spaces.Box(-1.0, 1.0, (1,))
FOUR = gym.spaces.Discrete(4, start=1)
EMUQ = {"features": 40, "capacity": 512}

# name -> (class, options, whether it needs a table)
AGENTS: dict[str, tuple[type[Agent], dict[str, Any], bool]] = {
    "emuq": (emuq.EMUQ, EMUQ, False),
    "emuq-paper": (emuq.EMUQ, {"preset": "paper", "features": 40, "capacity": 512}, False),
    "rffq": (RFFQ, {"features": 40}, False),
    "dora": (emuq.DORA, {"memory": 256}, False),
    "rnd": (emuq.RND, {"capacity": 256, "hidden": 8, "minibatch": 8}, False),
    "vime": (emuq.VIME, {"batch": 20, "pool": 40, "hidden": 4, "updates": 2, "minibatch": 4}, False),
    "random": (emuq.RandomAgent, {}, False),
    "exploration-values": (emuq.ExplorationValues, {}, True),
    "additive-rewards": (emuq.AdditiveRewards, {}, True),
    "epsilon-greedy": (emuq.EpsilonGreedy, {}, True),
}
CHOOSING = [name for name in AGENTS if name != "vime"]  # VIME's policy is of a Box


def place(name: str, *, horizon: int = 12) -> Line:
    """An environment for the agent of that name."""
    return Line(BOX if name == "vime" else FOUR, tabular=AGENTS[name][2], horizon=horizon)


def agent(name: str, env: gym.Env | str, **options: Any) -> Agent:
    kind, own, _ = AGENTS[name]
    return kind(env, **({"seed": 0} | own | options))  # type: ignore[arg-type]
