"""Beyond the paper: what looking ahead is worth. The default agent, and the same with a regressed Q.

On Gymnasium's five tasks of the field, with their own rewards. At each mark the policy of kappa = 0 plays 10
test episodes, as in `field`, whose results these are: `returns`, `seconds`, `threshold_steps`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emuq.experiments import field, statistics
from emuq.experiments.base import Claim, Experiment, Row, Table, paired, select
from emuq.experiments.field_tasks import GYMNASIUM, MARKS, spec_of
from emuq.run.spec import RunSpec

NAME, RUNS, STEPS = "ahead", 20, 3000
CHANGES: dict[str, dict] = {"default": {}, "without looking ahead": {"lookahead": 0}}


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    marks = tuple(mark for mark in MARKS if mark <= STEPS)
    return tuple(
        spec_of("emuq", task, seed, experiment=NAME, steps=STEPS, marks=marks, change=change,
                options=tuple(options.items()))
        for task in GYMNASIUM
        for change, options in CHANGES.items()
        for seed in seeds
    )  # fmt: skip


def claims(rows: Sequence[Row]) -> list[Claim]:
    """On each task: are more runs at the threshold, with looking ahead than without?"""
    found = []
    default, without = CHANGES
    for task in GYMNASIUM:
        pairs = paired(select(rows, change=default, domain=task), select(rows, change=without, domain=task))
        if pairs:
            gain = statistics.mean([float(_there(a, -1)) - _there(b, -1) for a, b in pairs])
            text = f"looking ahead solves {task} more often"
            measure = f"difference in the share of runs at the threshold after {STEPS:,} steps"
            found.append(Claim.above(NAME, text, measure, gain))
    return found


def tables(rows: Sequence[Row]) -> list[Table]:
    marks = [mark for mark in MARKS if mark <= STEPS]
    body = []
    for task, (_, threshold, _) in GYMNASIUM.items():
        for change in CHANGES:
            if cell := select(rows, change=change, domain=task):
                cells = (_cell(cell, i) for i in range(len(marks)))
                body.append((f"{task} ({threshold:g})", change, *cells))
    header = ("task", "agent", *(f"{mark:,}" for mark in marks))
    title = "Median return of tests (runs at the threshold) after so many environment steps"
    return [Table(title, header, tuple(body))]


def _there(row: Row, place: int) -> bool:
    return row.result["returns"][place] >= row.spec["threshold"]


def _cell(cell: Sequence[Row], place: int) -> str:
    median = float(np.median([row.result["returns"][place] for row in cell]))
    return f"{median:,.1f} ({sum(_there(row, place) for row in cell)}/{len(cell)})"


NOTES = (
    "Not in the paper. `lookahead=0` is the default agent with Q regressed on its features, as in the paper; "
    "policies are not tried and trusted then. Tasks, thresholds and tests are those of the field."
)
EXPERIMENTS = (
    Experiment(NAME, "What looking ahead is worth", RUNS, specs, field.execute, claims, tables=tables,
               varies=("change",), notes=NOTES, beyond=True),
)  # fmt: skip
