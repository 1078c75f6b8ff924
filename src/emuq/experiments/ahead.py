"""Beyond the paper: what looking ahead is worth. The default agent, one step ahead, and with a regressed Q.

On Gymnasium's five tasks of the field, with their own rewards: at each mark the policy of kappa = 0 plays 10
test episodes, as in `field`, whose results these are (`returns`, `seconds`, `threshold_steps`). On the four
goal-only domains of `exploit`: 20 tests after every episode, with its results (`first_goal`, `tests`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from emuq.experiments import exploit, field, statistics
from emuq.experiments.base import Claim, Experiment, Result, Row, Table, paired, select
from emuq.experiments.field_tasks import GYMNASIUM, MARKS, spec_of
from emuq.run.spec import RunSpec

NAME, RUNS, STEPS = "ahead", 20, 3000
CHANGES: dict[str, dict] = {
    "default": {},
    "one step ahead": {"lookahead": 1},
    "without looking ahead": {"lookahead": 0},
}


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    marks = tuple(mark for mark in MARKS if mark <= STEPS)
    found: list[RunSpec] = []
    for change, options in CHANGES.items():
        own: dict[str, Any] = {"experiment": NAME, "change": change, "options": tuple(options.items())}
        found += (spec_of("emuq", t, s, steps=STEPS, marks=marks, **own) for t in GYMNASIUM for s in seeds)
        found += (exploit.spec_of(domain, s, **own) for domain in exploit.DOMAINS for s in seeds)
    return tuple(found)


def execute(specs: Sequence[RunSpec]) -> list[Result]:
    return [(field if spec.domain in GYMNASIUM else exploit).execute([spec])[0] for spec in specs]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Does it do better with looking ahead, on the same seeds? By the last mark, or the later episodes."""
    found = []
    default, one, without = CHANGES
    texts = {
        without: "looking ahead solves {} more often",
        one: "a search solves {} more often than one step ahead",
    }
    for domain in (*GYMNASIUM, *exploit.DOMAINS):
        for change, text in texts.items():
            pairs = paired(
                select(rows, change=default, domain=domain), select(rows, change=change, domain=domain)
            )
            if pairs:
                gain = statistics.mean([_good(a) - _good(b) for a, b in pairs])
                found.append(Claim.above(NAME, text.format(domain), _measure(domain), gain))
    return found


def _measure(domain: str) -> str:
    if domain in GYMNASIUM:
        return f"difference in the share of runs at the threshold after {STEPS:,} steps"
    return f"difference in the share of episodes from {exploit.BY} on after which all tests pass"


def _good(row: Row) -> float:
    return float(_there(row, -1)) if row.spec.domain in GYMNASIUM else exploit.kept(row, exploit.BY)


def tables(rows: Sequence[Row]) -> list[Table]:
    return [table for table in (_tasks(rows), _goals(rows)) if table.rows]


def _tasks(rows: Sequence[Row]) -> Table:
    marks = [mark for mark in MARKS if mark <= STEPS]
    body = []
    for task, (_, threshold, _) in GYMNASIUM.items():
        for change in CHANGES:
            if cell := select(rows, change=change, domain=task):
                cells = (_cell(cell, i) for i in range(len(marks)))
                body.append((f"{task} ({threshold:g})", change, *cells))
    header = ("task", "agent", *(f"{mark:,}" for mark in marks))
    title = "Median return of tests (runs at the threshold) after so many environment steps"
    return Table(title, header, tuple(body))


def _goals(rows: Sequence[Row]) -> Table:
    body = []
    for domain in exploit.DOMAINS:
        for change in CHANGES:
            if cell := select(rows, change=change, domain=domain):
                share = statistics.mean([exploit.kept(row, exploit.BY) for row in cell])
                low, high = share.interval or (np.nan, np.nan)
                body.append((domain, change, f"{share.value or 0:.1%} [{low:.1%}, {high:.1%}]"))
    title = f"Goal-only: episodes from {exploit.BY} on after which all {exploit.TESTS} tests pass"
    return Table(title, ("domain", "agent", "share of episodes"), tuple(body))


def _there(row: Row, place: int) -> bool:
    return row.result["returns"][place] >= row.spec["threshold"]


def _cell(cell: Sequence[Row], place: int) -> str:
    median = float(np.median([row.result["returns"][place] for row in cell]))
    return f"{median:,.1f} ({sum(_there(row, place) for row in cell)}/{len(cell)})"


NOTES = (
    "Not in the paper. `lookahead=0` is the default agent with Q regressed on its features, as in the paper. "
    "Tasks, thresholds and tests are those of the field, and on goal-only domains those of `exploit`."
)
EXPERIMENTS = (
    Experiment(NAME, "What looking ahead is worth", RUNS, specs, execute, claims, tables=tables,
               varies=("change",), notes=NOTES, beyond=True),
)  # fmt: skip
