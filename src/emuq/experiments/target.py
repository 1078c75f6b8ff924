"""Figure 4b and table 1: Taxi, exploration stops on a target."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from emuq.experiments import statistics
from emuq.experiments import tabular_curves as common
from emuq.experiments.base import Claim, Experiment, Row, Table, select
from emuq.experiments.tabular_curves import (
    ADDITIVE,
    EPSILON,
    LABEL,
    METHODS,
    VALUES,
    above,
    below,
    difference,
    window,
)
from emuq.run.spec import RunSpec

RUNS = 100
EPISODES = 500
TARGET, TESTS = 0.1, 5
PAPER = {
    VALUES: {"success": 0.9, "episodes_mean": 111.33},
    ADDITIVE: {"success": 0.9, "episodes_mean": 242.11},
    EPSILON: {"success": 0.0},
}
PAPER_AFTER = {VALUES: "0.08 (4.50)", ADDITIVE: "-33.26 (67.41)", EPSILON: "-"}


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    make = partial(common.spec, "table1", domain="Taxi", episodes=EPISODES, control=("Target", TARGET, TESTS))
    return tuple(make(method, seed=seed) for method in METHODS for seed in seeds)


def claims(rows: Sequence[Row], name: str = "table1") -> list[Claim]:
    by = {method: select(rows, agent=method) for method in METHODS}
    cap = max((row.spec["episodes"] for row in rows), default=EPISODES)
    times = {m: {r.spec.seed: float(r.result["goal_episode"] or cap) for r in by[m]} for m in METHODS}
    after = {
        m: {r.spec.seed: r.result["after"] for r in by[m] if r.result["after"] is not None} for m in METHODS
    }
    end = {m: window(by[m], cap - 100, cap) for m in METHODS}
    share = {
        m: statistics.wilson(sum(r.result["goal_episode"] is not None for r in by[m]), len(by[m]))
        for m in METHODS
    }
    return [
        above(
            name,
            "exploration values reach the target in most runs (paper: 9 of 10)",
            "share of runs",
            share[VALUES],
            0.5,
        ),
        above(
            name,
            "additive rewards reach the target in most runs (paper: 9 of 10)",
            "share of runs",
            share[ADDITIVE],
            0.5,
        ),
        below(
            name,
            "epsilon-greedy does not reach the target (paper: 0 of 10)",
            "share of runs",
            share[EPSILON],
            0.31,
        ),  # the upper end of the interval of 0 of 10
        above(
            name,
            "exploration values reach the target in fewer episodes than additive rewards",
            f"episodes, {cap} for a run that does not: additive rewards minus exploration values",
            difference(times[ADDITIVE], times[VALUES]),
        ),
        above(
            name,
            "exploration values reach the target in fewer episodes than epsilon-greedy",
            f"episodes, {cap} for a run that does not: epsilon-greedy minus exploration values",
            difference(times[EPSILON], times[VALUES]),
        ),
        above(
            name,
            "after the target, exploration values return more than additive rewards (where both did)",
            "return after the target, exploration values minus additive rewards",
            difference(after[VALUES], after[ADDITIVE]),
        ),
        above(
            name,
            "at the end, exploration values return more than additive rewards (all runs)",
            "return in the last 100 episodes, exploration values minus additive rewards",
            difference(end[VALUES], end[ADDITIVE]),
        ),
    ]


def tables(rows: Sequence[Row]) -> list[Table]:
    body = []
    for method in METHODS:
        chosen = select(rows, agent=method)
        taken = [r.result["goal_episode"] for r in chosen if r.result["goal_episode"] is not None]
        steps = [r.result["goal_steps"] for r in chosen if r.result["goal_steps"] is not None]
        after = [r.result["after"] for r in chosen if r.result["after"] is not None]
        paper = PAPER[method]
        body.append(
            (
                LABEL[method],
                f"{len(taken)}/{len(chosen)}",
                f"{paper['success'] * 10:.0f}/10",
                f"{np.mean(taken):.1f}" if taken else "-",
                f"{paper.get('episodes_mean', '-')}",
                f"{np.median(steps):,.0f}" if steps else "-",
                common.spread(after) if after else "-",
                PAPER_AFTER[method],
            )
        )
    header = (
        "method",
        "target reached",
        "paper",
        "episodes to target",
        "paper",
        "steps to target, median",
        "return after",
        "paper",
    )
    note = f"Target: {TESTS} of {TESTS} tests with kappa = 0 return more than {TARGET}; {EPISODES} episodes."
    return [Table("Table 1", header, tuple(body), note)]


def figure(rows: Sequence[Row]):
    return common.draw(common.by_method(rows), low=-20.0)


def ending_claims(rows: Sequence[Row]) -> list[Claim]:
    """Figure 4b shows what table 1 states."""
    return [
        above(
            "fig4b",
            "with a target, exploration values end higher than additive rewards",
            "return in the last 100 episodes, exploration values minus additive rewards",
            difference(
                window(select(rows, agent=VALUES), EPISODES - 100, EPISODES),
                window(select(rows, agent=ADDITIVE), EPISODES - 100, EPISODES),
            ),
        ),
    ]


_TITLE = "Taxi: exploration stops once 5 of 5 test episodes return more than 0.1"

EXPERIMENTS = (
    Experiment(
        "fig4b",
        _TITLE,
        RUNS,
        specs,
        common.execute,
        ending_claims,
        common.group,
        figure=figure,
        source="table1",
        notes=common.NOTES,
    ),
    Experiment(
        "table1",
        _TITLE,
        RUNS,
        specs,
        common.execute,
        claims,
        common.group,
        tables,
        paper={(method, "Taxi"): numbers for method, numbers in PAPER.items()},
        notes=common.NOTES,
    ),
)
