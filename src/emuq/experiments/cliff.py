"""Figure 2: Cliff Walking. Stopping, resuming, stochastic transitions, larger rewards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from emuq.experiments import statistics
from emuq.experiments import tabular as common
from emuq.experiments.base import Claim, Experiment, Row, Table, select
from emuq.experiments.tabular import (
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

RUNS = 100
DOMAIN = "CliffWalking"
STOP_A, EPISODES_A = 30, 60
STOP_B, RESUME_B, EPISODES_B = 20, 30, 80
EPISODES = 100  # of figures 2c and 2d
SLIPS, SCALES = (0.01, 0.1), (1.0, 100.0)
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


def _tables(title: str, windows: dict[str, tuple[int, int]], rows: Sequence[Row], **settings) -> list[Table]:
    return [common.table(title, common.by_method(rows, **settings), windows)]


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


def figure_a(rows: Sequence[Row]):
    return common.draw(common.by_method(rows), [STOP_A])


def figure_b(rows: Sequence[Row]):
    return common.draw(common.by_method(rows), [STOP_B, RESUME_B])


def figure_c(rows: Sequence[Row]):
    return common.draw(common.by_method(rows, slip=SLIPS[1]), low=-10.0)


def figure_d(rows: Sequence[Row]):
    chosen = [(label, found) for label, found in conditions_d(rows) if not label.startswith("epsilon")]
    return common.draw(chosen, low=-5.0)


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


def _experiment(letter: str, title: str, specs, claims, tables, figure, varies=()) -> Experiment:
    return Experiment(
        f"fig2{letter}",
        f"Cliff Walking: {title}",
        RUNS,
        specs,
        common.execute,
        claims,
        common.group,
        tables,
        figure,
        varies=varies,
        notes=common.NOTES,
    )


EXPERIMENTS = (
    _experiment("a", "exploration stops after 30 episodes", specs_a, claims_a, tables_a, figure_a),
    _experiment(
        "b", "exploration stops after 20 episodes and resumes 10 later", specs_b, claims_b, tables_b, figure_b
    ),
    _experiment(
        "c", "random directions with probability 0.1", specs_c, claims_c, tables_c, figure_c, ("slip",)
    ),
    _experiment(
        "d",
        "rewards and exploration weights times 100",
        specs_d,
        claims_d,
        tables_d,
        figure_d,
        ("scale", "initial"),
    ),
)
