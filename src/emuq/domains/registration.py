"""Registers the environments with Gymnasium. Called once, by `import emuq`; imports no simulator."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from emuq.domains.catalogue import ADAPTER, ENTRIES


class OneEnding(gym.Wrapper, RecordConstructorArgs):
    """An episode that terminates on its last step is not truncated too, as Gymnasium's limit would say."""

    def __init__(self, env: gym.Env) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated and not terminated, info


def register() -> None:
    """`gym.make("emuq/NAME-v0", **options)` for every entry of the catalogue."""
    for entry in ENTRIES:
        if entry.id not in gym.registry:
            gym.register(
                entry.id,
                entry_point=entry.entry_point,
                kwargs={"domain": entry.name} if entry.entry_point == ADAPTER else {},
                max_episode_steps=entry.horizon,
                # It repeats at run time what the tests assert of every id.
                disable_env_checker=True,
                additional_wrappers=(OneEnding.wrapper_spec(),),
            )
