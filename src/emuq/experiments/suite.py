"""Beyond the paper: tasks of dm_control's suite, with nothing given but the environment and the seed.

At each mark (a number of decisions, each of two frames) the policy of kappa = 0 plays 10 test episodes, as in
`field`. Results: `returns` (the tests' mean at each mark, of 1,000), `seconds` (of learning, without tests),
`threshold_steps` (the first mark at which the mean is at the task's threshold; None: never).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emuq.experiments import statistics
from emuq.experiments.base import Claim, Experiment, Result, Row, Table, paired, select
from emuq.experiments.field import run_in
from emuq.experiments.suite_tasks import FRAMES, TASKS, Decisions
from emuq.run.spec import LONG_REVISIONS, RunSpec

NAME, RUNS, TESTS = "suite", 20, 10
AGENTS = {"emuq": "EMU-Q, default", "random": "random policy"}
MARKS = (1000, 2000, 4000, 5000, 10000)
# What others publish, after 100,000 frames unless it says otherwise.
PUBLISHED = {
    "pendulum-swingup": "TD-MPC2 724, DreamerV3 699, SAC 96",
    "reacher-hard": "DreamerV3 813, TD-MPC2 414, SAC 161; MR.Q 806 after 50,000 decisions",
    "cartpole-swingup_sparse": "DreamerV3 315, TD-MPC2 0, SAC 0; MR.Q 287 after 50,000 decisions",
}


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    return tuple(
        RunSpec.of(
            NAME, agent, name, seed, revision=LONG_REVISIONS.get(agent), steps=task.decisions, tests=TESTS,
            marks=tuple(mark for mark in MARKS if mark <= task.decisions), threshold=task.threshold,
        )
        for name, task in TASKS.items()
        for agent in AGENTS
        for seed in seeds
    )  # fmt: skip


def execute(specs: Sequence[RunSpec]) -> list[Result]:
    return [run_in(Decisions(spec.domain), Decisions(spec.domain), spec) for spec in specs]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Ours: EMU-Q returns more than chance does, on the same seeds."""
    found = []
    for name, task in TASKS.items():
        pairs = paired(select(rows, agent="emuq", domain=name), select(rows, agent="random", domain=name))
        if pairs:
            gain = statistics.mean([a.result["returns"][-1] - b.result["returns"][-1] for a, b in pairs])
            text = f"EMU-Q with nothing set has a higher return on {name} than a random policy"
            found.append(
                Claim.above(NAME, text, f"difference in tests after {task.decisions:,} decisions", gain)
            )
    return found


def tables(rows: Sequence[Row]) -> list[Table]:
    header = ("task", "agent", *(f"{mark:,}" for mark in MARKS), "at the threshold", "published")
    lines = []
    for name, task in TASKS.items():
        for agent, called in AGENTS.items():
            if cell := select(rows, agent=agent, domain=name):
                last = [row.result["returns"][-1] for row in cell]
                there = f"{sum(total >= task.threshold for total in last)}/{len(cell)}"
                cells = (_at(cell, mark) for mark in MARKS)
                others = PUBLISHED.get(name, "") if agent == "emuq" else ""
                lines.append((f"{name} ({task.threshold:g})", called, *cells, there, others))
    note = (
        f"Median return of {TESTS} tests after so many decisions of {FRAMES} frames each, over runs. "
        "Published returns are after 100,000 frames, 50,000 such decisions, unless it says otherwise."
    )
    return [Table("dm_control's suite", header, tuple(lines), note)] if lines else []


def _at(cell: Sequence[Row], mark: int) -> str:
    marks = cell[0].spec["marks"]
    if mark not in marks:
        return "-"
    return f"{np.median([row.result['returns'][marks.index(mark)] for row in cell]):.0f}"


NOTES = (
    "Not in the paper. Observations have no bounds, and nothing is given but the environment and the seed. A "
    "return is at most 1,000; on pendulum-swingup a start far from upright cannot have more than some 700."
)
EXPERIMENTS = (
    Experiment(NAME, "Tasks of dm_control's suite", RUNS, specs, execute, claims,
               tables=tables, notes=NOTES, beyond=True),
)  # fmt: skip
