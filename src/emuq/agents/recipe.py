"""How an environment was made, as JSON, so that a checkpoint can say on what its agent learned."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
import numpy as np

# They look on, and change nothing that an agent sees.
_ONLOOKERS = ("HumanRendering", "RecordEpisodeStatistics", "RecordVideo", "RenderCollection")


def recipe(env: gym.Env | None) -> dict[str, Any]:
    """`env`: its id; `env_options`: what else `gym.make` was told; `env_lost`: what no file can hold."""
    spec = None if env is None else env.spec
    if spec is None:
        return {"env": None, "env_options": {}, "env_lost": []}
    usual = gym.registry.get(spec.id)
    options, lost = {}, []
    for name, value in spec.kwargs.items():
        if name == "render_mode" or (
            usual is not None and name in usual.kwargs and _same(value, usual, name)
        ):
            continue
        try:
            options[name] = json.loads(json.dumps(value, default=_plain, allow_nan=False))
        except (TypeError, ValueError):
            lost.append(f"option {name}")
    if usual is not None and spec.max_episode_steps != usual.max_episode_steps:
        options["max_episode_steps"] = -1 if spec.max_episode_steps is None else spec.max_episode_steps
    registered = 0 if usual is None else len(usual.additional_wrappers)
    wrappers = [wrapper.name for wrapper in spec.additional_wrappers[registered:]]
    lost += [f"wrapper {name}" for name in wrappers if name not in _ONLOOKERS]
    return {"env": spec.id, "env_options": options, "env_lost": lost}


def _same(value: Any, usual: Any, name: str) -> bool:
    return bool(np.array_equal(value, usual.kwargs[name]))


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as JSON has them."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no JSON")
