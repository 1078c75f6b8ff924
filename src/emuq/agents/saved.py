"""What a checkpoint says of an agent, and an agent made from it again.

A file may be altered, so that nothing in it is taken on trust: its spaces are compared with those of the
environment, its options must not ask for more room than its arrays have (`sizes`), what it learned is finite.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from emuq import checkpoint
from emuq.agents import described, sizes
from emuq.agents.recipe import recipe
from emuq.agents.spaces import Spaces
from emuq.checkpoint import Checkpoint, Declared
from emuq.errors import InputError
from emuq.history import Episode, History
from emuq.kappa import to_json

if TYPE_CHECKING:
    from emuq.agents.base import Agent

_COLUMNS = {
    "return": np.dtype(float),
    "length": np.dtype(np.int64),
    "goal": np.dtype(bool),
    "kappa": np.dtype(float),
    "steps": np.dtype(np.int64),
    "missed": np.dtype(np.int64),  # -1: there was no deadline; not in the file where there never was one
}


def arrays_of(agent: Agent) -> dict[str, np.ndarray]:
    """All that an agent knows, checked: what is saved can be loaded."""
    state = {"agent": agent._get_state(), "controller": agent._controller_state}
    columns = agent.history.to_dict()
    if "missed" in columns:
        columns["missed"] = [-1 if missed is None else missed for missed in columns["missed"]]
    history = {name: np.asarray(columns[name], dtype) for name, dtype in _COLUMNS.items() if name in columns}
    arrays = checkpoint.flatten(state)
    if agent.moments:
        history["moments"] = np.asarray(agent.moments, np.int64)
    _check_finite(agent, arrays)
    return arrays | checkpoint.flatten({"history": history})


def meta_of(agent: Agent) -> dict[str, Any]:
    """The rest: how the agent was made, and for what."""
    return {
        "agent": agent.name,
        "options": options_of(agent),
        "seed": agent.seed,
        "kappa": to_json(agent.controller),
        "spaces": described.describe(agent.spaces, getattr(agent, "_scaling", None)),
        **recipe(agent.env),
    }


def options_of(agent: Agent) -> dict[str, Any]:
    """Every option, not only those given: defaults may depend on the environment, or on the version."""
    settings = getattr(agent, "settings", None)
    if settings is None:
        return agent.options
    whole = settings._asdict() if hasattr(settings, "_asdict") else dataclasses.asdict(settings)
    return {**whole, **agent.options}


def options(file: Checkpoint, spaces: Spaces) -> dict[str, Any]:
    """The options of a file that was made for these spaces."""
    described.check_same(file.meta["spaces"], spaces)
    sizes.check(file.meta["agent"], file.meta["options"], spaces, file.declared)
    return {name: _tuples(value) for name, value in file.meta["options"].items()}


def restore(agent: Agent, file: Checkpoint) -> None:
    """The file's state and history, in an agent made with its options."""
    described.check_scaling(file.meta["spaces"], getattr(agent, "_scaling", None))
    state = {"agent": agent._get_state()}
    if same := to_json(agent.controller) == file.meta["kappa"]:
        state["controller"] = agent._controller_state
    state = checkpoint.unflatten(state, file)
    arrays = checkpoint.flatten({"agent": state["agent"]})
    _check_finite(agent, arrays)
    _check_counts(agent, arrays)
    agent._set_state(state["agent"])
    if same:
        agent._control(state["controller"])
    agent.history = _history(file)
    if (found := file.declared.get("history.moments")) is not None:
        rows = file.array("history.moments", Declared(np.dtype(np.int64), (found.shape[0], 2)))
        agent.moments = [(int(count), bool(rests)) for count, rests in rows]


def _tuples(value: Any) -> Any:
    """JSON has lists only; options are hashed."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _history(file: Checkpoint) -> History:
    columns = {}
    shape = file.declared["history.steps"].shape
    for name, dtype in _COLUMNS.items():
        if name != "missed" or f"history.{name}" in file.declared:
            columns[name] = file.array(f"history.{name}", Declared(dtype, shape))
    # Steps that rise take room in a file, so that a small one cannot have a history of any length.
    if len(shape) != 1 or np.any(columns["length"] < 1) or np.any(np.diff(columns["steps"], prepend=0) < 1):
        raise InputError("its history does not count up steps: the file was altered, use another copy")
    rows = {name: column.tolist() for name, column in columns.items()}
    if "missed" in rows:
        rows["missed"] = [None if missed < 0 else missed for missed in rows["missed"]]
    return History([Episode(*row) for row in zip(*rows.values(), strict=True)])


def _check_finite(agent: Agent, arrays: dict[str, np.ndarray]) -> None:
    """A user's own controller may keep what it likes; the agent's own arrays are finite."""
    own = {name: array for name, array in arrays.items() if name.startswith("agent.")}
    checkpoint.check_finite(own, tuple(f".{name}" for name in agent.may_be_nan))


def _check_counts(agent: Agent, arrays: dict[str, np.ndarray]) -> None:
    """Whole numbers count something: from 0 on, and no more than there are rows where all data are kept."""
    rows = max((array.shape[0] for array in arrays.values() if array.ndim), default=0)
    bounded = hasattr(agent, "trajectories")  # an agent that keeps all data
    for name, array in arrays.items():
        if array.dtype.kind == "i" and (np.any(array < 0) or (bounded and not array.ndim and array > rows)):
            raise InputError(
                f"array {name!r} has {array.max() if bounded else array.min()}: expected a count from 0"
                + (f" to {rows}" if bounded else "")
                + "; the file was altered, use another copy"
            )
