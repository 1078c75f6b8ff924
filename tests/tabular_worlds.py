"""Tiny environments for tests of tabular agents."""

import gymnasium as gym
import numpy as np


class Corridor(gym.Env):
    """Cells 0 .. n-1; action 1 goes right, 0 left; +1 and the end in the last cell; 50 steps at most."""

    def __init__(self, length=8, start=0, observation="index"):
        self.length = length
        self.observation = observation
        spaces = {
            "index": gym.spaces.Discrete(length, start=start),
            "pair": gym.spaces.MultiDiscrete([length, 2]),
        }
        self.observation_space = spaces[observation]
        self.action_space = gym.spaces.Discrete(2, start=start)
        self.first = start

    def _see(self):
        return np.array([self.cell, self.cell % 2]) if self.observation == "pair" else self.cell + self.first

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = self.steps = 0
        return self._see(), {}

    def step(self, action):
        self.cell = int(np.clip(self.cell + 2 * (action - self.first) - 1, 0, self.length - 1))
        self.steps += 1
        goal = self.cell == self.length - 1
        return self._see(), float(goal), goal, not goal and self.steps >= 50, {"is_success": goal}


class Bandit(gym.Env):
    """One state, one step an episode; arm k pays uniformly in means[k] +- 0.2, all below 0."""

    def __init__(self, means=(-0.8, -0.5, -0.6)):
        self.means = np.asarray(means)
        self.observation_space = gym.spaces.Discrete(1)
        self.action_space = gym.spaces.Discrete(len(means))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        reward = self.means[action] + self.np_random.uniform(-0.2, 0.2)
        return 0, float(reward), True, False, {"is_success": False}
