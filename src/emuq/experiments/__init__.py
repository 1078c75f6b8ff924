"""Every figure and table of the paper, by name, and experiments beyond it."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Sequence

from emuq.errors import InputError
from emuq.experiments.base import Claim, Experiment, Row, Table

__all__ = ["MODULES", "Claim", "Experiment", "Row", "Table", "every", "named"]

# Modules with an EXPERIMENTS tuple, in the order of the paper.
MODULES: tuple[str, ...] = (
    "cliff",
    "cliff_rewards",
    "decay",
    "budget",
    "target",
    "sensitivity",
    "fig5",
    "fig6",
    "fig7",
    "table3",
    "fig8",
    "hanging",
    "exploit",
    "field",
    "ahead",
    "foreign",
    "suite",
    "ablation",
    "views",
)


def every() -> dict[str, Experiment]:
    """All experiments, by name, in the order of the paper."""
    found = (importlib.import_module(f"{__name__}.{module}").EXPERIMENTS for module in MODULES)
    return {experiment.name: experiment for experiments in found for experiment in experiments}


def named(names: Sequence[str], known: dict[str, Experiment] | None = None) -> list[Experiment]:
    """The experiments with these names; `fig2` stands for fig2a, fig2b, ...; none means all of the paper."""
    known = known or every()
    if not names:
        return [experiment for experiment in known.values() if not experiment.beyond]
    chosen: dict[str, Experiment] = {}
    for name in names:
        matches = [name] if name in known else [k for k in known if k[:-1] == name and k[-1].isalpha()]
        if not matches:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise InputError(f"no experiment {name!r}: {hint}expected some of {', '.join(known)}")
        chosen |= {match: known[match] for match in matches}
    return list(chosen.values())
