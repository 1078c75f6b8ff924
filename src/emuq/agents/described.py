"""Spaces as plain data for a checkpoint, and what is different about others.

What was learned holds for one scale of observations and one meaning of each action: the same weights on a box
of the same shape with other bounds are wrong without a word.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from emuq.agents.spaces import Scaling, Spaces
from emuq.errors import InputError

ROUNDING = 1e-6  # bounds in single and in double precision are the same bounds


def describe(spaces: Spaces, scaling: Scaling | None) -> dict[str, Any]:
    """`{"observation": {"kind": "Box", "shape": [2], "low": ...}, "action": ..., "scaling": ...}`."""
    return {
        "observation": _space(spaces.observation_space),
        "action": _space(spaces.action_space),
        "scaling": None if scaling is None else _scaling(scaling),
    }


def check_same(saved: dict[str, Any], spaces: Spaces) -> None:
    """An error that says in what an environment's spaces differ from the saved ones."""
    for what, space in (("observation", spaces.observation_space), ("action", spaces.action_space)):
        _compare(f"the {what} space", saved[what], _space(space))


def check_scaling(saved: dict[str, Any], scaling: Scaling | None) -> None:
    """The same for the bounds that scale observations to [0, 1], which need not be the space's."""
    if scaling is not None:
        _compare("the scaling of observations", saved["scaling"], _scaling(scaling))


def _scaling(scaling: Scaling) -> dict[str, Any]:
    """Where a range is learned, what the file says of it is among its arrays."""
    low, width = scaling.low, scaling.width
    if scaling.learned is not None:
        low, width = np.where(scaling.learned, -1.0, low), np.where(scaling.learned, 2.0, width)
    return {"low": _numbers(low), "width": _numbers(width)}


def _compare(what: str, saved: Any, now: dict[str, Any]) -> None:
    advice = "load it with the environment that it was trained on"
    for name, new in now.items():
        old = saved[name]
        if isinstance(new, str) or name == "shape":
            if old != new:
                raise InputError(f"{what} has another {name}: saved {old}, given {new}; {advice}")
            continue
        olds, news = np.broadcast_arrays(np.asarray(old, float), np.asarray(new, float))
        different = ~(np.isclose(olds, news, rtol=ROUNDING, atol=0) | (olds == news))
        if np.any(different):
            at = tuple(int(i) for i in np.argwhere(different)[0])
            where = f" in dimension {', '.join(map(str, at))}" if at else ""
            raise InputError(f"{what} differs{where}: {name} was {olds[at]:g}, is {news[at]:g}; {advice}")


def _space(space: gym.Space) -> dict[str, Any]:
    kind = {"kind": type(space).__name__}
    if isinstance(space, gym.spaces.Box):
        return kind | {"shape": list(space.shape), "low": _numbers(space.low), "high": _numbers(space.high)}
    if isinstance(space, gym.spaces.Discrete):
        return kind | {"n": int(space.n), "start": int(space.start)}
    if isinstance(space, gym.spaces.MultiDiscrete):
        return kind | {"n": space.nvec.tolist(), "start": np.asarray(space.start).tolist()}
    return kind | {"text": str(space)}


def _numbers(array: np.ndarray) -> Any:
    """One number where all are equal, as in images."""
    array = np.asarray(array, dtype=float)
    return float(array.flat[0]) if array.size and np.all(array == array.flat[0]) else array.tolist()
