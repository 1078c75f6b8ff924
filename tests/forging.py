"""Checkpoints altered in every way: of each kind of agent one, and what a forger could do to it."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import emuq
from emuq import checkpoint
from emuq.agents.base import Agent
from emuq.agents.rffq import RFFQ
from tabular_worlds import Corridor


def car() -> gym.Env:
    return gym.make("emuq/MountainCar-v0", max_episode_steps=40)


def _emuq(env: gym.Env) -> Agent:
    return emuq.EMUQ(env, features=20, capacity=256, plan_interval=1000, refresh=None)


# Small agents that compile little, so that hundreds of files can be loaded.
KINDS: dict[str, tuple[Callable[[], gym.Env], Callable[[gym.Env], Agent]]] = {
    "emuq": (car, _emuq),
    "rffq": (car, lambda env: RFFQ(env, features=20)),
    "rffq-fourier": (car, lambda env: RFFQ(env, basis="fourier", order=2)),
    "dora": (car, lambda env: emuq.DORA(env, memory=1 << 10)),
    "vime": (car, lambda env: emuq.VIME(env, batch=200, pool=200, hidden=4)),
    "rnd": (car, lambda env: emuq.RND(env, features=20, capacity=64, hidden=4, outputs=2)),
    "random": (car, emuq.RandomAgent),
    "exploration-values": (Corridor, lambda env: emuq.ExplorationValues(env, kappa=emuq.kappa.Decay(0.1))),
    "additive-rewards": (Corridor, emuq.AdditiveRewards),
    "epsilon-greedy": (Corridor, emuq.EpsilonGreedy),
}


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


REPLACEMENTS = (None, True, -1, 0, 2, 10**12, 10**400, 0.5, 1e300, float("nan"), "", "inf", [], {}, [1, "a"])
DEEP = "[" * 100_000 + "]" * 100_000


def places(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """The path of every entry of a nested JSON object."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield (*path, name)
            yield from places(item, (*path, name))


def altered(meta: dict, path: tuple, change: Callable[[dict, str], None]) -> dict:
    """A copy in which `change(parent, name)` was applied at `path`."""
    meta = copy.deepcopy(meta)
    parent = meta
    for name in path[:-1]:
        parent = parent[name]
    change(parent, path[-1])
    return meta


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def header(path: Path) -> dict:
    return json.loads(members(path)["header.json"])


def forge(path: Path, header: dict | str | None = None, **arrays: np.ndarray | bytes | None) -> None:
    """Write the file again with another header, and other arrays (None: without it)."""
    content = members(path)
    if header is not None:
        content["header.json"] = (header if isinstance(header, str) else json.dumps(header)).encode()
    for name, array in arrays.items():
        if isinstance(array, np.ndarray):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, (1, 0), allow_pickle=True)
            array = buffer.getvalue()
        content[f"{name}.npy"] = array  # type: ignore[assignment]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in content.items():
            if raw is not None:
                archive.writestr(name, raw)


def state(agent: Agent) -> dict[str, np.ndarray]:
    """All that an agent saves of what it knows, by name."""
    return checkpoint.flatten(agent._get_state())
