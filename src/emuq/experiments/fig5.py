"""Figure 5: random Fourier features against the Fourier basis, for Q-learning with classic rewards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emuq.experiments import plots, statistics
from emuq.experiments.base import Claim, Experiment, Result, Row, Table, paired, select
from emuq.experiments.presets import TABLE2
from emuq.run.spec import RunSpec

NAME, RUNS, EPISODES, HORIZON = "fig5", 20, 50, 500
ORDERS = {"SinglePendulum": 5, "MountainCar": 5, "DoublePendulum": 3}
COUNTS = {("random", domain): 300 for domain in ORDERS} | {
    ("fourier", "SinglePendulum"): 6**4,
    ("fourier", "MountainCar"): 6**3,
    ("fourier", "DoublePendulum"): 4**7,
}
BASES = {"random": "random Fourier features", "fourier": "Fourier basis"}
LAST = 10  # episodes at the end


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    return tuple(
        RunSpec.of(
            NAME, "rffq", domain, seed, basis=basis, order=order, features=300, episodes=EPISODES,
            horizon=HORIZON, reward="cost" if domain == "MountainCar" else "classic",
            state_lengthscale=TABLE2[domain]["state_lengthscale"],
            action_lengthscale=TABLE2[domain]["action_lengthscale"],
        )
        for domain, order in ORDERS.items()
        for basis in BASES
        for seed in seeds
    )  # fmt: skip


def group(spec: RunSpec) -> tuple[str, str]:
    return spec.domain, spec["basis"]


def execute(specs: Sequence[RunSpec]) -> list[Result]:
    """All seeds of one basis on one domain as one compiled program."""
    from emuq.experiments.goals import domain_of, rffq_options
    from emuq.run import lockstep

    seeds = [spec.seed for spec in specs]
    curves = lockstep.learn_rffq(domain_of(specs[0]), rffq_options(specs[0]), seeds, EPISODES)
    return [
        {"returns": [round(float(r), 3) for r in returns], "goals": [bool(g) for g in goals]}
        for returns, goals in zip(curves.returns, curves.goals, strict=True)
    ]


def _returns(rows: Sequence[Row]) -> np.ndarray:
    return np.array([row.result["returns"] for row in rows])


def claims(rows: Sequence[Row]) -> list[Claim]:
    found = []
    for domain in ORDERS:
        pairs = paired(
            select(rows, domain=domain, basis="random"), select(rows, domain=domain, basis="fourier")
        )
        if not pairs:
            continue
        gain = np.array([np.subtract(a.result["returns"], b.result["returns"]) for a, b in pairs])
        speed = statistics.mean(gain.mean(1))
        text = f"random Fourier features learn faster than the Fourier basis on {domain}"
        found.append(Claim.above(NAME, text, "return, mean over episodes, difference", speed))
        end = statistics.mean(gain[:, -LAST:].mean(1))
        text = f"random Fourier features end higher than the Fourier basis on {domain}"
        found.append(Claim.above(NAME, text, f"return, last {LAST} episodes, difference", end))
    if cell := select(rows, domain="DoublePendulum", basis="fourier"):
        solved = statistics.mean([np.mean(row.result["goals"][-LAST:]) for row in cell])
        text = "the Fourier basis does not solve DoublePendulum"
        found.append(
            Claim.below(NAME, text, f"share of the last {LAST} episodes that reach the goal", solved, 0.5)
        )
    return found


def tables(rows: Sequence[Row]) -> list[Table]:
    body = []
    for domain in ORDERS:
        for basis, label in BASES.items():
            if cell := select(rows, domain=domain, basis=basis):
                returns = _returns(cell)
                goals = np.mean([row.result["goals"][-LAST:] for row in cell])
                body.append((domain, label, f"{COUNTS[basis, domain]:,}", _text(returns.mean(1)),
                             _text(returns[:, -LAST:].mean(1)), f"{goals:.0%}"))  # fmt: skip
    header = (
        "domain",
        "basis",
        "features",
        "return, all episodes",
        f"last {LAST}",
        f"goal in the last {LAST}",
    )
    return [Table("Returns, mean [95%]", header, tuple(body))]


def _text(values: np.ndarray) -> str:
    estimate = statistics.mean(values)
    interval = f" [{estimate.interval[0]:.0f}, {estimate.interval[1]:.0f}]" if estimate.interval else ""
    return f"{estimate.value:.0f}{interval}"


def figure(rows: Sequence[Row]):
    domains = [domain for domain in ORDERS if select(rows, domain=domain)]
    drawing, axes = plots.panels(len(domains), width=3.1, squeeze=False)
    for axis, domain in zip(axes.flat, domains, strict=True):
        for i, (basis, label) in enumerate(BASES.items()):
            if cell := select(rows, domain=domain, basis=basis):
                plots.curve(axis, np.arange(1, EPISODES + 1), _returns(cell), label, i)
        axis.set(title=domain, xlabel="episode")
    axes[0, 0].set_ylabel("return")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside upper center", ncols=2)
    return drawing


NOTES = (
    "Q-learning with rate 0.5, epsilon 0.1, discount 0.99 for both. The rate is divided by the largest "
    "squared norm of the features, so that one transition moves a value equally far with either. Table 2's "
    "lengthscales. MountainCar has MountainCar-v0's cost of 1 a step. The basis covers state and action: "
    "order 3 in the seven dimensions of DoublePendulum makes 16,384 features. The paper gives no number of "
    "episodes; ours is 50."
)
EXPERIMENTS = (
    Experiment(NAME, "Random Fourier features against the Fourier basis", RUNS, specs, execute, claims,
               group=group, tables=tables, figure=figure, varies=("basis",), notes=NOTES),
)  # fmt: skip
