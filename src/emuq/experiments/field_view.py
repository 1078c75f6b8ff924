"""The field as it is shown: medians and shares of runs at each mark, and returns over environment steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from emuq.experiments import field_sb3, plots
from emuq.experiments.base import Row, Table, select
from emuq.experiments.field_tasks import AGENTS, GOAL_ONLY, GYMNASIUM, MARKS, Task

ABSENT = "-"


def tables(rows: Sequence[Row]) -> list[Table]:
    """Gymnasium's tasks, with SAC and PPO where they were run, and the goal-only domains."""
    theirs = field_sb3.rows()
    note = (
        "SAC needs a Box of actions, which CartPole-v1, Acrobot-v1 and MountainCar-v0 do not have."
        if theirs
        else field_sb3.HOW
    )
    return [
        _table("Median return of tests (runs at the threshold) after so many environment steps",
               GYMNASIUM, [*rows, *theirs], "first mark at the threshold, median", note),
        _table("Median return of tests (runs that have found the goal) after so many environment steps",
               GOAL_ONLY, rows, "steps to the first goal, median",
               "Returns are +1 for reaching the goal and -1 for a failure."),
    ]  # fmt: skip


def _table(title: str, tasks: Mapping[str, Task], rows: Sequence[Row], reached: str, note: str) -> Table:
    marks = [mark for mark in MARKS if mark <= max(task.steps for task in tasks.values())]
    header = ("task", "agent", *(f"{mark:,}" for mark in marks), reached, "ms a step, median")
    body = []
    for name, task in tasks.items():
        label = name if task.threshold is None else f"{name} ({task.threshold:g})"
        for agent, called in AGENTS.items():
            if cell := select(rows, agent=agent, domain=name):
                body.append(
                    (label, called, *(_at(cell, mark) for mark in marks), _reached(cell), _cost(cell))
                )
    return Table(title, header, tuple(body), note)


def _at(cell: Sequence[Row], mark: int) -> str:
    """ "-98.5 (12/20)": the median return at a mark, and the runs that are there."""
    marks = cell[0].spec["marks"]
    if mark not in marks:
        return ABSENT
    returns = [row.result["returns"][marks.index(mark)] for row in cell]
    there = sum(_is_there(row, total, mark) for row, total in zip(cell, returns, strict=True))
    return f"{_number(float(np.median(returns)))} ({there}/{len(cell)})"


def _is_there(row: Row, total: float, mark: int) -> bool:
    threshold = row.spec.get("threshold")
    return _steps(row) <= mark if threshold is None else total >= threshold


def _steps(row: Row) -> float:
    """To the threshold or to the first goal; infinity where there was none."""
    found = row.result.get("threshold_steps", row.result.get("goal_steps"))
    return math.inf if found is None else found


def _reached(cell: Sequence[Row]) -> str:
    """Runs that never got there count as slower than any that did."""
    median = _lower_median(map(_steps, cell))
    return f"{median:,.0f}" if math.isfinite(median) else "never"


def _cost(cell: Sequence[Row]) -> str:
    return f"{1e3 * _lower_median(row.result['seconds'] / row.spec['steps'] for row in cell):.2f}"


def _lower_median(values: Iterable[float]) -> float:
    return float(np.quantile(list(values), 0.5, method="inverted_cdf"))


def _number(value: float) -> str:
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}"


def figure(rows: Sequence[Row]):
    """A panel for each of Gymnasium's tasks; the sixth place has the names."""
    every = [*rows, *field_sb3.rows()]
    drawing, axes = plots.panels(3, 2, width=2.9, height=2.5, squeeze=False)
    lines = {}
    for axis, (name, task) in zip(axes.flat, GYMNASIUM.items(), strict=False):
        for i, (agent, called) in enumerate(AGENTS.items()):
            if cell := select(every, agent=agent, domain=name):
                plots.curve(axis, cell[0].spec["marks"], [row.result["returns"] for row in cell], called, i)
        axis.axhline(task.threshold, color="0.5", linestyle=":", linewidth=1)
        axis.set(title=name, xlim=(0, task.steps))
        axis.xaxis.set_major_formatter(lambda steps, _: f"{steps:,.0f}")
        lines |= {line.get_label(): line for line in axis.get_lines()[:-1]}
    for axis in axes[:, 0]:
        axis.set_ylabel("return of tests")
    axes[-1, -1].set_axis_off()
    axes[-1, -1].legend(list(lines.values()), list(lines), loc="center")
    drawing.supxlabel("environment steps", fontsize=9.5)
    return drawing
