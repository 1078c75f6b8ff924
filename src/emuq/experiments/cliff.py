"""Figures 2a and 2b: Cliff Walking, exploration stops, and resumes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from emuq.experiments import statistics
from emuq.experiments import tabular_curves as common
from emuq.experiments.base import Claim, Experiment, Row, Table, select
from emuq.experiments.tabular_curves import (
    ADDITIVE,
    METHODS,
    VALUES,
    above,
    below,
    difference,
    window,
    within,
)
from emuq.run.spec import RunSpec

RUNS = 100
DOMAIN = "CliffWalking"
STOP_A, EPISODES_A = 30, 60
STOP_B, RESUME_B, EPISODES_B = 20, 30, 80
ALIKE = 0.1  # returns that differ by less are called unchanged; the best return is 1


def specs_a(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    make = partial(common.spec, "fig2a", domain=DOMAIN, episodes=EPISODES_A, control=("Budget", STOP_A))
    return tuple(make(method, seed=seed) for method in METHODS for seed in seeds)


def claims_a(rows: Sequence[Row], name: str = "fig2a") -> list[Claim]:
    before, after = (STOP_A - 5, STOP_A), (STOP_A, EPISODES_A)
    values, additive = select(rows, agent=VALUES), select(rows, agent=ADDITIVE)
    change = "return after the stop minus in the 5 episodes before"
    return [
        above(
            name,
            "exploration values keep their return or jump up when exploration stops",
            f"{change} (kept: above -{ALIKE})",
            difference(window(values, *after), window(values, *before)),
            -ALIKE,
        ),
        below(
            name,
            "additive rewards drop dramatically when exploration stops",
            change,
            difference(window(additive, *after), window(additive, *before)),
        ),
        above(
            name,
            "after the stop, exploration values do better than additive rewards",
            "return after the stop, exploration values minus additive rewards",
            difference(window(values, *after), window(additive, *after)),
        ),
    ]


def specs_b(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    control = ("StopResume", STOP_B, RESUME_B)
    make = partial(common.spec, "fig2b", domain=DOMAIN, episodes=EPISODES_B, control=control)
    return tuple(make(method, seed=seed) for method in METHODS for seed in seeds)


def claims_b(rows: Sequence[Row]) -> list[Claim]:
    before, pause = (STOP_B - 5, STOP_B), (STOP_B, RESUME_B)
    values, additive = select(rows, agent=VALUES), select(rows, agent=ADDITIVE)
    change = "return in the pause minus in the 5 episodes before"

    def gain(rows: Sequence[Row]) -> dict[int, float]:
        end, start = window(rows, EPISODES_B - 10, EPISODES_B), window(rows, RESUME_B, RESUME_B + 10)
        return {seed: end[seed] - start[seed] for seed in end}

    return [
        above(
            "fig2b",
            "exploration values keep their return or jump up in the pause",
            f"{change} (kept: above -{ALIKE})",
            difference(window(values, *pause), window(values, *before)),
            -ALIKE,
        ),
        below(
            "fig2b",
            "additive rewards drop in the pause",
            change,
            difference(window(additive, *pause), window(additive, *before)),
        ),
        above(
            "fig2b",
            "exploration values go on improving when exploration is on again",
            "return in the last 10 episodes minus in the first 10 after the pause",
            statistics.mean(list(gain(values).values())),
        ),
        above(
            "fig2b",
            "additive rewards go on improving when exploration is on again",
            "return in the last 10 episodes minus in the first 10 after the pause",
            statistics.mean(list(gain(additive).values())),
        ),
        within(
            "fig2b",
            "the two methods improve at a similar rate",
            "gain of exploration values minus gain of additive rewards (similar: within 0.5)",
            difference(gain(values), gain(additive)),
            0.5,
        ),
    ]


def _tables(title: str, windows: dict[str, tuple[int, int]], rows: Sequence[Row], **settings) -> list[Table]:
    return [common.table(title, common.by_method(rows, **settings), windows)]


def figure_a(rows: Sequence[Row]):
    return common.draw(common.by_method(rows), [STOP_A])


def figure_b(rows: Sequence[Row]):
    return common.draw(common.by_method(rows), [STOP_B, RESUME_B])


def tables_a(rows: Sequence[Row]) -> list[Table]:
    return _tables("Figure 2a", {"before the stop (26-30)": (25, 30), "after (31-60)": (30, 60)}, rows)


def tables_b(rows: Sequence[Row]) -> list[Table]:
    return _tables(
        "Figure 2b",
        {
            "before (16-20)": (15, 20),
            "pause (21-30)": (20, 30),
            "on again (31-40)": (30, 40),
            "end (71-80)": (70, 80),
        },
        rows,
    )


def experiment(letter: str, title: str, specs, claims, tables, figure, varies=()) -> Experiment:
    return Experiment(
        f"fig2{letter}", f"Cliff Walking: {title}", RUNS, specs, common.execute, claims, common.group, tables,
        figure, varies=varies, notes=common.NOTES,
    )  # fmt: skip


EXPERIMENTS = (
    experiment("a", "exploration stops after 30 episodes", specs_a, claims_a, tables_a, figure_a),
    experiment(
        "b", "exploration stops after 20 episodes, resumes 10 later", specs_b, claims_b, tables_b, figure_b
    ),
)
