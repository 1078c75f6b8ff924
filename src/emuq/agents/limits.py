"""How fast a command may change: |a_t - a_{t-1}| <= rate, in every dimension, before it is sent.

A motor or a gearbox does not survive every sequence of commands that its space allows. An episode begins at
rest: the command before its first one is taken to be 0, or as near to it as the space allows. What is learned
from is the command that was sent, not the one that was wanted.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from emuq.agents.readings import Environment
from emuq.errors import InputError, quoted


class Limits:
    """The largest change a step, for each dimension of an action."""

    def __init__(self, space: gym.Space, rate: Any) -> None:
        if not isinstance(space, gym.spaces.Box):
            raise InputError(
                f"action_rate is {quoted(rate)}, but actions are in {space}: expected a Box, or no rate"
            )
        try:
            self.rate = np.broadcast_to(np.asarray(rate, float), space.shape)
        except (TypeError, ValueError):
            shape = (
                f"{space.shape[0]} of them" if len(space.shape) == 1 else f"an array of shape {space.shape}"
            )
            raise InputError(f"action_rate is {quoted(rate)}: expected a number, or {shape}") from None
        if not (self.rate > 0).all():  # nor is NaN
            raise InputError(
                f"action_rate is {quoted(rate)}: expected how far an action may change a step, above 0"
            )
        self._space = space
        self.rest = np.clip(np.zeros(space.shape), space.low, space.high)

    def nearest(self, wanted: Any, last: np.ndarray) -> np.ndarray:
        """The command nearest to the one that is wanted, after `last`."""
        low = np.maximum(last - self.rate, self._space.low)
        high = np.minimum(last + self.rate, self._space.high)
        return np.clip(np.asarray(wanted, float), low, high)

    def on(self, env: Environment) -> Limited:
        """An environment to which nothing else can be sent."""
        return Limited(env, self, self._space.dtype)


class Limited:
    """An environment whose commands keep to the limits; `sent` is the last one."""

    def __init__(self, env: Environment, limits: Limits, dtype: Any) -> None:
        self._env, self._limits, self._dtype = env, limits, dtype
        self._last, self.sent = limits.rest, None

    def reset(self, *, seed: int) -> Any:
        self._last = self._limits.rest
        return self._env.reset(seed=seed)

    def step(self, action: Any) -> Any:
        self._last = self._limits.nearest(action, self._last)
        self.sent = self._last.astype(self._dtype)
        return self._env.step(self.sent.copy())
