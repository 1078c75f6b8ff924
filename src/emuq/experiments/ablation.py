"""Beyond the paper: each difference between the presets switched alone, in every domain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emuq.experiments import goals, plots, statistics
from emuq.experiments.base import Claim, Experiment, Row, Table, paired, select
from emuq.experiments.table3 import DOMAINS, EPISODES, HORIZON
from emuq.run.spec import RunSpec

NAME, RUNS = "ablation", 20
# The default preset, and this with one thing of the paper's in its place: label -> options.
CHANGES: dict[str, dict] = {
    "default": {},
    "one resolution": {"mixture": 0.0},
    "lengthscale 0.3": {"state_lengthscale": 0.3},
    "action lengthscale 0.3": {"action_lengthscale": 0.3},
    "one draw of features": {"refresh": None},
    "fresh features, one lengthscale": {"zoom": 0},
    "observations not clipped": {"clip": False},
    "U's discount as Q's": {"exploration_discount": None},
    "plans at episode ends": {"plan_interval": None},
    "60 sweeps a plan": {"sweeps": 60},
    "sweeps not clipped": {"table": 0},
    "U through the terminal state": {"exploration_end": "state"},
    "U ends at 0": {"exploration_end": "zero"},
    "Q on the balanced policy": {"q_policy": "balanced"},
}


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    return tuple(
        RunSpec.of(
            NAME, "emuq", domain, seed, change=change, episodes=EPISODES, horizon=HORIZON, reward="goal",
            options=tuple(options.items()),
        )
        for domain in DOMAINS
        for change, options in CHANGES.items()
        for seed in seeds
    )  # fmt: skip


def _capped(row: Row) -> int:
    return row.result["goal_episode"] or EPISODES


def _ratio(rows: Sequence[Row], change: str, domains: Sequence[str]) -> statistics.Estimate:
    """log of (episodes changed / of the default), paired by seed; geometric means bear outliers."""
    pairs = [
        pair
        for domain in domains
        for pair in paired(
            select(rows, change=change, domain=domain), select(rows, change="default", domain=domain)
        )
    ]
    logs = [float(np.log(_capped(changed) / _capped(default))) for changed, default in pairs]
    seeds = {changed.spec.seed for changed, _ in pairs}
    return statistics.mean(logs)._replace(runs=len(seeds))  # of each condition on a domain


def claims(rows: Sequence[Row]) -> list[Claim]:
    """For each change: does the default find goals sooner, over all domains?"""
    found = []
    for change in list(CHANGES)[1:]:
        ratio = _ratio(rows, change, DOMAINS)
        if ratio.value is not None:
            text = f"the default needs fewer episodes than with this changed alone: {change}"
            found.append(Claim.above(NAME, text, "log of the ratio of episodes, over domains", ratio))
    return found


def tables(rows: Sequence[Row]) -> list[Table]:
    domains = [domain for domain in DOMAINS if select(rows, domain=domain)]
    body = []
    for change in CHANGES:
        cells = [select(rows, change=change, domain=domain) for domain in domains]
        if any(cells):
            ratio = "" if change == "default" else _times(_ratio(rows, change, domains))
            body.append((change, *(_cell(cell) for cell in cells), ratio))
    note = (
        "Mean episodes to the first goal, a run without one counted as 100; n/N where some found none. Last: "
        "episodes changed / default, geometric mean over all domains (paired by seed), with a 95% interval."
    )
    return [Table("Each change alone", ("changed alone", *domains, "all: ratio"), tuple(body), note)]


def _times(ratio: statistics.Estimate) -> str:
    if ratio.value is None:
        return "-"
    low, high = ratio.interval or (ratio.value, ratio.value)
    return f"{np.exp(ratio.value):.2f} [{np.exp(low):.2f}, {np.exp(high):.2f}]"


def _cell(cell: Sequence[Row]) -> str:
    if not cell:
        return "-"
    found = sum(row.result["goal_episode"] is not None for row in cell)
    missing = f" ({found}/{len(cell)})" if found < len(cell) else ""
    return f"{np.mean([_capped(row) for row in cell]):.1f}{missing}"


def figure(rows: Sequence[Row]):
    """The ratio of episodes, changed over default, for each change and domain: right of 1 is worse."""
    changes = [change for change in list(CHANGES)[1:] if select(rows, change=change)]
    domains = [domain for domain in DOMAINS if select(rows, domain=domain)]
    shown = {**{domain: (domain,) for domain in domains}, "all domains": domains}
    columns = min(4, len(shown))
    drawing, axes = plots.panels(
        columns, -(-len(shown) // columns), width=2.3, height=3.0, sharex=True, sharey=True, squeeze=False
    )
    for axis in axes.flat[len(shown) :]:
        axis.set_axis_off()
    for axis, (title, cells) in zip(axes.flat, shown.items(), strict=False):
        for i, change in enumerate(changes):
            ratio = _ratio(rows, change, cells)
            if ratio.value is not None:
                _draw(axis, i, ratio.value, *(ratio.interval or (ratio.value, ratio.value)))
        axis.axvline(1, color="C7", linewidth=1, linestyle=":")
        axis.set(title=title, xscale="log", yticks=range(len(changes)), yticklabels=changes)
        axis.set_xticks([0.5, 1, 2, 5, 20], ["0.5", "1", "2", "5", "20"])
        axis.minorticks_off()
        axis.set_ylim(len(changes) - 0.5, -0.5)
    drawing.supxlabel("episodes to the first goal, changed / default (geometric mean, 95%)", fontsize=9.5)
    return drawing


def _draw(axis, height: int, value: float, low: float, high: float) -> None:
    """An interval on the axis of ratios; a diamond where it does not hold 1."""
    colour = "C1" if low > 0 else "C2" if high < 0 else "C0"
    axis.plot(np.exp([low, high]), [height, height], color=colour, linewidth=2)
    axis.plot(np.exp(value), height, "o" if low <= 0 <= high else "D", color=colour, markersize=5)


NOTES = (
    "Not in the paper. Every option in which the default preset differs from the paper's and that bears on "
    "exploration is set to the paper's value, alone. Diamonds: the interval does not hold 1."
)
EXPERIMENTS = (
    Experiment(NAME, "Each difference between the presets, alone", RUNS, specs, goals.execute, claims,
               group=goals.group, in_batches=goals.in_batches, tables=tables, figure=figure,
               varies=("change",), notes=NOTES, beyond=True),
)  # fmt: skip
