"""An agent whose actions say what kappa is, and an environment that remembers them, for the live page."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np

from emuq.agents.base import Agent

EXPLOIT, EXPLORE = 1, 0


class Walkway(gym.Env):
    """Two numbers, two actions, ten steps, and the goal at their end; it keeps the actions it was given."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 (Gymnasium's convention)
    observation_space = gym.spaces.Box(-1.0, 1.0, (2,))
    action_space = gym.spaces.Discrete(2)
    render_mode = "rgb_array"

    def __init__(self):
        self.actions, self.broken = [], False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        if self.broken:
            raise RuntimeError("a wheel came off")
        self.actions.append(int(action))
        self.at += 1
        goal = self.at == 10
        return np.full(2, self.at / 10, np.float32), float(goal), goal, False, {"is_success": goal}

    def render(self):
        return np.full((30, 1000, 3), 25 * self.at, np.uint8)


class Weigher(Agent):
    """Q prefers one action, U the other: argmax_a Q + kappa U changes at kappa = 1."""

    name = "random"

    def __init__(self, env, *, seed=0, kappa=math.inf):
        super().__init__(env, seed=seed, kappa=kappa, options={})

    def _start(self, observation):
        return self._greedy(observation, self.kappa)

    def _advance(self, transition):
        return self._start(transition.next_observation)

    def _finish(self, episode):
        pass

    def _greedy(self, observation, kappa):
        return EXPLORE if kappa > 1 else EXPLOIT

    def _get_state(self):
        return {"learned": np.int64(self.num_transitions)}

    def _set_state(self, state):
        pass
