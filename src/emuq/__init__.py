"""Exploration as an objective of its own: learn Q for the goal and U for exploration, act on Q + kappa U."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from emuq.domains.registration import register as _register

if TYPE_CHECKING:  # for editors and readers of the code; a program gets these names from `__getattr__`
    from emuq import batch, cache, callbacks, dispatch, exploration, kappa, plot
    from emuq.agents.dora.agent import DORA
    from emuq.agents.emuq.agent import EMUQ
    from emuq.agents.random import RandomAgent
    from emuq.agents.rffq import RFFQ
    from emuq.agents.rnd.agent import RND
    from emuq.agents.tabular.agent import AdditiveRewards, EpsilonGreedy, ExplorationValues
    from emuq.agents.vime.agent import VIME
    from emuq.domains.goal_only import GoalOnly
    from emuq.livepage.page import live

__version__ = "0.1.0"  # the one place: the package's metadata read it from here

__all__ = [
    "DORA",
    "EMUQ",
    "RFFQ",
    "RND",
    "VIME",
    "AdditiveRewards",
    "EpsilonGreedy",
    "ExplorationValues",
    "GoalOnly",
    "RandomAgent",
    "batch",
    "cache",
    "callbacks",
    "dispatch",
    "exploration",
    "kappa",
    "live",
    "plot",
]

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
_MODULES = ("batch", "cache", "callbacks", "dispatch", "exploration", "kappa", "plot")

_register()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"emuq.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'emuq' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC, *_MODULES})
