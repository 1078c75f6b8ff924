"""Appendix to Section 4: do the verdicts hold around the values that the paper leaves open?

Figure 2a and table 1 again, with one value changed at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from emuq.experiments import cliff, target
from emuq.experiments import tabular_curves as common
from emuq.experiments.base import Claim, Experiment, Row, Table, Verdict
from emuq.experiments.tabular_curves import ADDITIVE, METHODS
from emuq.run.spec import RunSpec

RUNS = 20
EPISODES = 300  # of table 1's runs: enough to tell the methods apart
CHOSEN = "as chosen"
VARIATIONS: dict[str, dict] = {
    CHOSEN: {},
    "discount 0.9": {"discount": 0.9},
    "discount 0.95": {"discount": 0.95},
    "discount 0.999": {"discount": 0.999},
    "kappa = xi = 0.01": {"kappa": 0.01},
    "kappa = xi = 0.1": {"kappa": 0.1},
    "kappa = xi = 0.3": {"kappa": 0.3},
    "kappa = xi = 3": {"kappa": 3.0},
    "epsilon 0.05": {"epsilon": 0.05},
    "epsilon 0.3": {"epsilon": 0.3},
    "additive rewards start at 0": {"initial": 0.0},
    "horizon 200": {"horizon": 200},
    "first of tied actions": {"ties": "first"},
    "learning goes on after the stop": {"freeze": False},
}
# Claims of figure 2a and of table 1 by their place in the lists of those experiments, with a short name.
FIG2A = {0: "2a: values keep or jump", 1: "2a: additive drop", 2: "2a: values above additive"}
TABLE1 = {
    0: "1: values reach target",
    1: "1: additive reach target",
    2: "1: epsilon-greedy does not",
    3: "1: values sooner than additive",
    4: "1: values sooner than epsilon",
    6: "1: values end higher",
}


def parts(variation: str, seeds: Sequence[int]) -> tuple[list[RunSpec], list[RunSpec]]:
    """The runs of figure 2a and of table 1 under a variation."""
    changes = VARIATIONS[variation]

    def change(method: str) -> dict:
        # Of epsilon-greedy kappa only scales epsilon, which has variations of its own.
        dropped = {"initial"} if method != ADDITIVE else set()
        dropped |= {"kappa"} if method == common.EPSILON else set()
        return {name: value for name, value in changes.items() if name not in dropped}

    cliffs = partial(
        common.spec, "sensitivity", domain="CliffWalking", episodes=cliff.EPISODES_A,
        control=("Budget", cliff.STOP_A),
    )  # fmt: skip
    taxis = partial(
        common.spec, "sensitivity", domain="Taxi", episodes=EPISODES,
        control=("Target", target.TARGET, target.TESTS),
    )  # fmt: skip
    return (
        [cliffs(method, seed=seed, **change(method)) for method in METHODS for seed in seeds],
        [taxis(method, seed=seed, **change(method)) for method in METHODS for seed in seeds],
    )


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    """Many variations share runs: an epsilon means nothing to the other two methods."""
    every = [spec for variation in VARIATIONS for part in parts(variation, seeds) for spec in part]
    return tuple({spec.key: spec for spec in every}.values())


def results(rows: Sequence[Row]) -> dict[str, dict[str, Claim]]:
    """variation -> short name -> the claim as it comes out under that variation."""
    by_key = {row.spec.key: row for row in rows}
    seeds = sorted({row.spec.seed for row in rows})
    found = {}
    for variation in VARIATIONS:
        cliffs, taxis = ([by_key[s.key] for s in part if s.key in by_key] for part in parts(variation, seeds))
        first, second = cliff.claims_a(cliffs), target.claims(taxis)
        found[variation] = {name: first[i] for i, name in FIG2A.items()}
        found[variation] |= {name: second[i] for i, name in TABLE1.items()}
    return found


def claims(rows: Sequence[Row]) -> list[Claim]:
    """For each claim that holds with the chosen values: in how many variations it holds, too."""
    found = results(rows)
    listed = []
    for name, chosen in found[CHOSEN].items():
        if chosen.verdict != "reproduced":
            continue
        verdicts = [claim[name].verdict for variation, claim in found.items() if variation != CHOSEN]
        decided: Verdict = "undecided"
        if all(verdict == "reproduced" for verdict in verdicts):
            decided = "reproduced"
        elif any(verdict == "not reproduced" for verdict in verdicts):
            decided = "not reproduced"
        share = verdicts.count("reproduced") / len(verdicts)
        text = f"holds around the chosen values: {chosen.claim}"
        measure = f"share of {len(verdicts)} variations in which it is reproduced"
        listed.append(Claim("sensitivity", text, measure, share, None, decided, chosen.runs))
    return listed


def tables(rows: Sequence[Row]) -> list[Table]:
    found = results(rows)
    mark = {"reproduced": "yes", "not reproduced": "NO", "undecided": "?"}
    body = tuple(
        (variation, *(f"{mark[c.verdict]} ({_number(c.statistic)})" for c in by_name.values()))
        for variation, by_name in found.items()
    )
    note = (
        "yes: reproduced, NO: not reproduced, ?: undecided at this number of runs; in brackets the statistic."
    )
    return [
        Table(
            "Verdicts around the chosen values", ("variation", *FIG2A.values(), *TABLE1.values()), body, note
        )
    ]


def _number(statistic: float | None) -> str:
    return "-" if statistic is None else f"{statistic:.3g}"


def figure(rows: Sequence[Row]):
    """Statistics with intervals, a panel a claim, a line a variation; the claim holds right of the mark."""
    from emuq.experiments import plots

    found = results(rows)
    shown = {
        "2a: values keep or jump": "exploration values:\nreturn gained at the stop",
        "2a: values above additive": "exploration values minus\nadditive, after the stop",
        "1: values sooner than additive": "episodes to target,\nadditive minus values",
        "1: values sooner than epsilon": "episodes to target,\nepsilon-greedy minus values",
    }
    drawing, axes = plots.panels(len(shown), width=2.4, height=4.2, sharey=True)
    y = np.arange(len(found))[::-1]
    for panel, (name, title) in zip(axes, shown.items(), strict=True):
        for i, (variation, by_name) in zip(y, found.items(), strict=True):
            claim = by_name[name]
            if claim.statistic is None or claim.interval is None:
                continue
            look = plots.style(0 if variation != CHOSEN else 1)
            panel.plot(claim.interval, (i, i), color=look.colour, linewidth=1.5)
            panel.plot(claim.statistic, i, marker=look.marker, color=look.colour, markersize=4.5)
        panel.axvline(0, color="0.5", linewidth=1, linestyle=":")
        panel.set_title(title, fontsize="small")
        if name.startswith("2a: values above"):
            panel.set_xscale("symlog", linthresh=1)
            panel.set_xticks([0, 1, 10, 100], ["0", "1", "10", "100"])
    axes[0].set_yticks(y, list(found))
    return drawing


EXPERIMENTS = (
    Experiment(
        "sensitivity", "Figure 2a and table 1 around the values that the paper leaves open", RUNS, specs,
        common.execute, claims, common.group, tables, figure,
        varies=("discount", "kappa", "epsilon", "initial", "horizon", "ties", "freeze"), notes=common.NOTES,
        beyond=True,
    ),
)  # fmt: skip
