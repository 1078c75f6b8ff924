"""An agent that learns in one go, and one that is saved and loaded on the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from emuq.agents.base import Agent


def whole_and_resumed(fresh: Callable[[], Agent], folder: Path, first: int, rest: int) -> tuple:
    """Both after first + rest episodes, with equal histories; what they learned is left to compare."""
    whole, half = fresh(), fresh()
    whole.learn(episodes=first + rest, progress=False)
    half.learn(episodes=first, progress=False)
    half.save(folder / "half.emuq")
    resumed = type(half).load(folder / "half.emuq", half.env)
    resumed.learn(episodes=rest, progress=False)
    assert resumed.history.to_dict() == whole.history.to_dict()
    return whole, resumed
