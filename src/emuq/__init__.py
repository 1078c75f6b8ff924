"""Exploration as an objective of its own: learn Q for the goal and U for exploration, act on Q + kappa U."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from emuq.domains.registration import register as _register

__version__ = "0.1.0"

# Where each public name is defined. Imported when first used, so that `import emuq` stays quick.
_PUBLIC = {
    "AdditiveRewards": "emuq.agents.tabular.agent",
    "EpsilonGreedy": "emuq.agents.tabular.agent",
    "ExplorationValues": "emuq.agents.tabular.agent",
    "RandomAgent": "emuq.agents.random",
    "DORA": "emuq.agents.dora.agent",
    "EMUQ": "emuq.agents.emuq.agent",
    "RFFQ": "emuq.agents.rffq",
    "RND": "emuq.agents.rnd.agent",
    "VIME": "emuq.agents.vime.agent",
    "GoalOnly": "emuq.domains.goal_only",
    "live": "emuq.livepage.page",
}
_MODULES = ("cache", "callbacks", "dispatch", "exploration", "kappa", "plot")

_register()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"emuq.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'emuq' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC, *_MODULES})
