"""Copies of an environment that step together, Gymnasium's vectors, behind one view for all their modes.

What a vector does with a copy whose episode is over is its autoreset mode:

    NEXT_STEP   its next step is a reset, whose answer is no transition
    SAME_STEP   it is reset at once: the last observation is in info["final_obs"]
    DISABLED    nothing: it is reset here, with a seed of the agent's
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import iterate

from emuq.agents.readings import Step, observation_of, reward_of
from emuq.errors import InputError, quoted


class Copies:
    """A vector of environments. It has the spaces of a single one, so that an agent can be made for it."""

    def __init__(self, env: gym.vector.VectorEnv) -> None:
        self.mode = env.metadata.get("autoreset_mode")
        if not isinstance(self.mode, AutoresetMode):
            modes = ", ".join(mode.name for mode in AutoresetMode)
            raise InputError(
                f"env is {quoted(env)} with autoreset_mode {quoted(self.mode)} in its metadata: "
                f"expected one of gymnasium.vector.AutoresetMode ({modes})"
            )
        self._env: Any = env
        self.num = int(env.num_envs)
        self.observation_space, self.action_space = env.single_observation_space, env.single_action_space
        self.normalisation = _normalisation(env)
        self._resets = np.zeros(self.num, bool)  # whose next answer is a reset's

    def __str__(self) -> str:
        spec = self._env.spec
        return f"{self.num} copies" + (f" of {spec.id}" if spec is not None else "")

    def reset(self, seeds: list[int]) -> list[Any]:
        """The first observation of every copy."""
        self._resets[:] = False
        observations, _ = self._env.reset(seed=seeds)
        return [observation_of(self.observation_space, one, 0) for one in self._each(observations)]

    def step(
        self, actions: list[Any], seeds: list[int], number: int
    ) -> tuple[list[Step | None], list[Any | None]]:
        """For each copy its answer, None where it was reset only, and the first observation of a new episode.

        `number` is the step's, for messages; `seeds` are for copies that are reset here.
        """
        answer = self._env.step(np.stack(actions))
        observations, rewards, terminated, truncated, info = answer
        found, over = self._each(observations), np.logical_or(terminated, truncated)
        steps: list[Step | None] = [None for _ in found]
        began: list[Any | None] = [None for _ in found]
        for i, observation in enumerate(found):
            if self._resets[i]:
                began[i] = observation_of(self.observation_space, observation, 0)
                continue
            said = info
            if over[i] and self.mode is AutoresetMode.SAME_STEP:
                began[i] = observation_of(self.observation_space, observation, 0)
                observation, said = _final(info, i)
            ends = bool(terminated[i]), bool(truncated[i])
            steps[i] = self._answer(observation, rewards[i], *ends, _told(said, i), number + i)
        if self.mode is AutoresetMode.NEXT_STEP:
            self._resets = over & ~self._resets
        if self.mode is AutoresetMode.DISABLED and over.any():
            chosen = [seed if last else None for seed, last in zip(seeds, over, strict=True)]
            observations, _ = self._env.reset(seed=chosen, options={"reset_mask": over.copy()})
            fresh = self._each(observations)
            for i in np.flatnonzero(over):
                began[i] = observation_of(self.observation_space, fresh[i], 0)
        return steps, began

    def _each(self, observations: Any) -> list[Any]:
        return list(iterate(self._env.observation_space, observations))

    def _answer(
        self, observation: Any, reward: Any, terminated: bool, truncated: bool, told: bool | None, number: int
    ) -> Step:
        observation = observation_of(self.observation_space, observation, number)
        reward = reward_of(reward, number)
        return Step(observation, reward, terminated, truncated, bool(told), told is not None)


def _final(info: dict[str, Any], i: int) -> tuple[Any, dict[str, Any]]:
    """The last observation of copy `i`, and what was said with it."""
    if "final_obs" not in info or info["final_obs"][i] is None:
        raise InputError(
            f"copy {i} has ended and was reset in the same step, and info['final_obs'] is not there: "
            "expected its last observation, as in Gymnasium; use autoreset_mode NEXT_STEP"
        )
    return info["final_obs"][i], info.get("final_info", {})


def _told(info: dict[str, Any], i: int) -> bool | None:
    """What copy `i` says of the goal; None: nothing."""
    if "is_success" not in info or not info.get("_is_success", np.ones(i + 1, bool))[i]:
        return None
    return bool(info["is_success"][i])


def _normalisation(env: gym.vector.VectorEnv) -> Any:
    """The bounds that a single environment has for its observations, where it can be looked at."""
    inner: Any = env.unwrapped
    if hasattr(inner, "envs"):
        return getattr(inner.envs[0].unwrapped, "normalisation", None)
    if not hasattr(inner, "env_fns"):
        return getattr(inner, "normalisation", None)
    one = inner.env_fns[0]()  # the copies are in other processes, and asking for what is not there ends them
    try:
        return getattr(one.unwrapped, "normalisation", None)
    finally:
        one.close()
