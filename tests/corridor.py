"""Small environments for tests of the command line, registered when this module is imported."""

from __future__ import annotations

import signal

import gymnasium as gym
import numpy as np


class Corridor(gym.Env):
    """Ten cells; right leads to the goal. `interrupt` sends Ctrl-C on that step."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 (Gymnasium's convention)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, render_mode=None, cells=10, interrupt=None, table=None, reward=None):
        self.render_mode, self.cells, self.interrupt, self.reward = render_mode, cells, interrupt, reward
        self.observation_space = gym.spaces.Discrete(cells)
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return self.cell, {}

    def step(self, action):
        self.steps += 1
        if self.steps == self.interrupt:
            signal.raise_signal(signal.SIGINT)
        self.cell = int(np.clip(self.cell + 2 * action - 1, 0, self.cells - 1))
        goal = self.cell == self.cells - 1
        return self.cell, float(goal), goal, False, {"is_success": goal}


if "Corridor-v0" not in gym.registry:
    gym.register("Corridor-v0", entry_point=Corridor, max_episode_steps=50, disable_env_checker=True)
