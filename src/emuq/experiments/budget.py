"""Figure 4a: Taxi, exploration stops on a budget."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from emuq.experiments import statistics
from emuq.experiments import tabular_curves as common
from emuq.experiments.base import Claim, Experiment, Row, Table, select
from emuq.experiments.tabular_curves import ADDITIVE, LABEL, METHODS, VALUES, above, below, difference, window
from emuq.run.spec import RunSpec

RUNS = 100
BUDGETS, AFTER = (100, 300, 500), 100
NEAR_OPTIMAL = 0.8  # the best return is 1


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    make = partial(common.spec, "fig4a", domain="Taxi")
    return tuple(
        make(method, seed=seed, episodes=budget + AFTER, control=("Budget", budget))
        for budget in BUDGETS
        for method in METHODS
        for seed in seeds
    )


def claims(rows: Sequence[Row]) -> list[Claim]:
    found = []
    for budget in BUDGETS:
        after = {
            m: window(select(rows, agent=m, control=("Budget", budget)), budget, budget + AFTER)
            for m in METHODS
        }
        measure = f"return in the {AFTER} episodes after the budget"
        found += [
            above(
                "fig4a",
                f"exploration values exploit near-optimally after {budget} episodes",
                f"{measure} (near: above {NEAR_OPTIMAL}, of 1)",
                statistics.mean(list(after[VALUES].values())),
                NEAR_OPTIMAL,
            ),
            below(
                "fig4a",
                f"additive rewards have no acceptable policy after {budget} episodes",
                f"{measure} (acceptable: above 0)",
                statistics.mean(list(after[ADDITIVE].values())),
            ),
            above(
                "fig4a",
                f"exploration values do better than additive rewards after {budget} episodes",
                f"{measure}, exploration values minus additive rewards",
                difference(after[VALUES], after[ADDITIVE]),
            ),
        ]
    return found


def tables(rows: Sequence[Row]) -> list[Table]:
    body = []
    for budget in BUDGETS:
        for method in METHODS:
            chosen = select(rows, agent=method, control=("Budget", budget))
            if chosen:
                spans = (budget - 50, budget), (budget, budget + AFTER)
                cells = (common.spread(list(window(chosen, *span).values())) for span in spans)
                body.append((f"{LABEL[method]}, {budget}", str(len(chosen)), *cells))
    header = ("method, budget", "runs", "last 50 episodes of the budget", f"{AFTER} episodes after it")
    return [Table("Figure 4a", header, tuple(body), "Mean return (standard deviation over runs).")]


def figure(rows: Sequence[Row]):
    from emuq.experiments import plots

    drawing, axes = plots.panels(len(BUDGETS), width=3.4, sharey=True)
    for panel, budget in zip(axes, BUDGETS, strict=True):
        for i, method in enumerate(METHODS):
            if chosen := select(rows, agent=method, control=("Budget", budget)):
                returns = common.curves(chosen)
                plots.curve(panel, np.arange(1, returns.shape[1] + 1), returns, LABEL[method], i)
        panel.axvline(budget + 0.5, color="0.5", linewidth=1, linestyle=":")
        panel.set(title=f"budget of {budget} episodes", xlabel="episode")
    axes[0].set_ylabel("return")
    axes[0].legend(loc="best")
    return drawing


EXPERIMENTS = (
    Experiment(
        "fig4a",
        "Taxi: exploration stops after 100, 300, 500 episodes",
        RUNS,
        specs,
        common.execute,
        claims,
        common.group,
        tables,
        figure,
        varies=("control",),
        notes=common.NOTES,
    ),
)
