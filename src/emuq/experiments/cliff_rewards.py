"""Figures 2c and 2d: Cliff Walking with stochastic transitions, and with larger rewards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from emuq.experiments import statistics
from emuq.experiments import tabular_curves as common
from emuq.experiments.base import Claim, Row, Table, select
from emuq.experiments.cliff import ALIKE, DOMAIN, experiment
from emuq.experiments.tabular_curves import (
    ADDITIVE,
    EPSILON,
    METHODS,
    VALUES,
    above,
    below,
    difference,
    window,
    within,
)
from emuq.run.spec import RunSpec

EPISODES = 100
SLIPS, SCALES = (0.01, 0.1), (1.0, 100.0)


def specs_c(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    make = partial(common.spec, "fig2c", domain=DOMAIN, episodes=EPISODES, control=("Constant",))
    return tuple(make(method, seed=seed, slip=slip) for slip in SLIPS for method in METHODS for seed in seeds)


def claims_c(rows: Sequence[Row]) -> list[Claim]:
    late = (EPISODES // 2, EPISODES)
    calm, rough = ({m: window(select(rows, agent=m, slip=slip), *late) for m in METHODS} for slip in SLIPS)
    lost = {
        m: {seed: calm[m][seed] - rough[m][seed] for seed in calm[m].keys() & rough[m].keys()}
        for m in METHODS
    }
    spread = _spread_ratio(rough[ADDITIVE], rough[VALUES])
    solved = sum(value > 0 for value in rough[EPSILON].values())
    last = "in the second half of the episodes"
    return [
        above(
            "fig2c",
            "with stochastic transitions, additive rewards return less than exploration values",
            f"return {last}, exploration values minus additive rewards",
            difference(rough[VALUES], rough[ADDITIVE]),
        ),
        above(
            "fig2c",
            "additive rewards vary more",
            f"log of the ratio of standard deviations of the return {last}",
            spread,
        ),
        above(
            "fig2c",
            "stochastic transitions cost additive rewards more than exploration values",
            f"return {last} lost to them, additive rewards minus exploration values",
            difference(lost[ADDITIVE], lost[VALUES]),
        ),
        below(
            "fig2c",
            "exploration values are only mildly affected",
            f"return {last} lost (mild: below 1, one fall)",
            statistics.mean(list(lost[VALUES].values())),
            1.0,
        ),
        above(
            "fig2c",
            "epsilon-greedy solves the task",
            f"share of runs with a positive mean return {last}",
            statistics.wilson(solved, len(rough[EPSILON])),
            0.5,
        ),
    ]


def _spread_ratio(one: dict[int, float], other: dict[int, float]) -> statistics.Estimate:
    seeds = sorted(one.keys() & other.keys())
    a, b = np.array([one[s] for s in seeds]), np.array([other[s] for s in seeds])
    if len(seeds) < 3:
        return statistics.Estimate(None, None)

    def ratio(index: np.ndarray) -> float:
        return float(np.log(np.std(a[index]) / np.std(b[index])))

    return statistics.bootstrap_runs(ratio, len(seeds))


def specs_d(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    """Rewards and exploration weights times 100; what tables start with is not the paper's to scale.

    `initial` = 100 is our control: then the whole of additive rewards is 100 times itself.
    """
    make = partial(common.spec, "fig2d", domain=DOMAIN, episodes=EPISODES, control=("Constant",))
    plain = [make(method, seed=seed) for method in METHODS for seed in seeds]
    scaled = [
        # epsilon is a probability: it has no scale to keep.
        make(method, seed=seed, scale=SCALES[1], kappa=1.0 if method == EPSILON else SCALES[1])
        for method in METHODS
        for seed in seeds
    ]
    control = [
        make(ADDITIVE, seed=seed, scale=SCALES[1], kappa=SCALES[1], initial=SCALES[1]) for seed in seeds
    ]
    return (*plain, *scaled, *control)


def claims_d(rows: Sequence[Row]) -> list[Claim]:
    whole = (0, EPISODES)
    plain = {m: window(select(rows, agent=m, scale=1.0), *whole) for m in METHODS}
    values = window(select(rows, agent=VALUES, scale=SCALES[1]), *whole)
    fixed = window(select(rows, agent=ADDITIVE, scale=SCALES[1], initial=1.0), *whole)
    scaled = window(select(rows, agent=ADDITIVE, scale=SCALES[1], initial=SCALES[1]), *whole)
    measure = "mean return over all episodes, divided by the scale, minus that at scale 1"
    return [
        within(
            "fig2d",
            "exploration values are unchanged by rewards and kappa times 100",
            f"{measure} (unchanged: within {ALIKE})",
            difference(values, plain[VALUES]),
            ALIKE,
        ),
        below(
            "fig2d",
            "additive rewards are degraded by rewards and xi times 100",
            measure,
            difference(fixed, plain[ADDITIVE]),
        ),
        within(
            "fig2d",
            "our control: with the table's first value times 100 as well, additive rewards are unchanged",
            f"{measure} (unchanged: within {ALIKE})",
            difference(scaled, plain[ADDITIVE]),
            ALIKE,
        ),
    ]


def tables_c(rows: Sequence[Row]) -> list[Table]:
    conditions = [
        (f"{label}, slip {slip:g}", found)
        for slip in SLIPS
        for label, found in common.by_method(rows, slip=slip)
    ]
    spans = {
        f"episodes 1-{EPISODES // 2}": (0, EPISODES // 2),
        f"{EPISODES // 2 + 1}-{EPISODES}": (EPISODES // 2, EPISODES),
    }
    return [common.table("Figure 2c", conditions, spans)]


def conditions_d(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    return [
        *((f"{label}, x1", found) for label, found in common.by_method(rows, scale=1.0)),
        *(
            (
                f"{label}, x100",
                select(found, initial=found[0].spec["initial"] if label != "additive rewards" else 1.0),
            )
            for label, found in common.by_method(rows, scale=SCALES[1])
            if found
        ),
        ("additive rewards, x100, first value too", select(rows, agent=ADDITIVE, initial=SCALES[1])),
    ]


def tables_d(rows: Sequence[Row]) -> list[Table]:
    spans = {"episodes 1-20": (0, 20), f"{EPISODES - 19}-{EPISODES}": (EPISODES - 20, EPISODES)}
    return [common.table("Figure 2d (returns divided by the scale)", conditions_d(rows), spans)]


def figure_c(rows: Sequence[Row]):
    return common.draw(common.by_method(rows, slip=SLIPS[1]), low=-10.0)


def figure_d(rows: Sequence[Row]):
    chosen = [(label, found) for label, found in conditions_d(rows) if not label.startswith("epsilon")]
    return common.draw(chosen, low=-5.0)


EXPERIMENTS = (
    experiment(
        "c", "random directions with probability 0.1", specs_c, claims_c, tables_c, figure_c, ("slip",)
    ),
    experiment(
        "d",
        "rewards and exploration weights times 100",
        specs_d,
        claims_d,
        tables_d,
        figure_d,
        ("scale", "initial"),
    ),
)
