"""Agents by the names they have on the command line and in experiments."""

from __future__ import annotations

import importlib
from typing import Any

import gymnasium as gym

from emuq.agents.base import Agent
from emuq.agents.spaces import Spaces
from emuq.errors import InputError

# name -> (module, class, options). Imported when used.
AGENTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "emuq": ("emuq.agents.emuq.agent", "EMUQ", {}),
    "emuq-paper": ("emuq.agents.emuq.agent", "EMUQ", {"preset": "paper"}),
    "rffq": ("emuq.agents.rffq", "RFFQ", {}),
    "dora": ("emuq.agents.dora.agent", "DORA", {}),
    "dora-lll": ("emuq.agents.dora.agent", "DORA", {"variant": "lll"}),
    "vime": ("emuq.agents.vime.agent", "VIME", {}),
    "rnd": ("emuq.agents.rnd.agent", "RND", {}),
    "rnd-bonus": ("emuq.agents.rnd.agent", "RND", {"form": "bonus"}),
    "random": ("emuq.agents.random", "RandomAgent", {}),
}


def agent_class(name: str) -> type[Agent]:
    """The class behind a name."""
    if name not in AGENTS:
        raise InputError(f"no agent {name!r}: expected one of {', '.join(AGENTS)}")
    module, cls, _ = AGENTS[name]
    return getattr(importlib.import_module(module), cls)


def make_agent(name: str, env: gym.Env | Spaces, *, seed: int, **options: Any) -> Agent:
    """A new agent; `options` replace those of its name."""
    return agent_class(name)(env, seed=seed, **(AGENTS[name][2] | options))  # type: ignore[call-arg]
