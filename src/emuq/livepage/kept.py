"""An agent as it was, to go back to: the same object, so that whoever holds it goes back, too."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, NamedTuple

from emuq import checkpoint
from emuq.agents import saved
from emuq.agents.base import Agent
from emuq.files import replacing
from emuq.kappa import Controller

CHECKPOINT, HISTORY = "agent.emuq", "history.json"  # as `emuq train` names them


class Kept(NamedTuple):
    """A checkpoint, in memory or on disk, with the parts that a file only names."""

    file: bytes | Path
    controller: Controller
    parts: dict[str, Any]


def in_memory(agent: Agent) -> Kept:
    file = io.BytesIO()
    checkpoint.write(file, saved.arrays_of(agent), saved.meta_of(agent))
    return Kept(file.getvalue(), agent.controller, agent._parts())


def on_disk(agent: Agent, folder: Path) -> Kept:
    """A folder that `emuq train --resume`, `emuq evaluate` and `emuq live --resume` take."""
    agent.save(folder / CHECKPOINT)
    with replacing(folder / HISTORY) as file:
        file.write(agent.history.to_json().encode())
    return Kept(folder / CHECKPOINT, agent.controller, agent._parts())


def go_back(agent: Agent, kept: Kept) -> None:
    """`agent` is from now on what was kept; a file that cannot be read leaves it as it is."""
    file = io.BytesIO(kept.file) if isinstance(kept.file, bytes) else kept.file
    assert agent.env is not None
    loaded = type(agent).load(file, agent.env, kappa=kept.controller, **kept.parts)
    vars(agent).clear()
    vars(agent).update(vars(loaded))
