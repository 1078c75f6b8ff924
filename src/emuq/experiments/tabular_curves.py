"""Learning curves of tabular methods with a controller of kappa (Section 4): runs, windows, claims, views.

Values that the paper leaves open are chosen here, once for all of them: discount 0.99 (that of its later
experiments), kappa = xi = 1 (exploration rewards as large as rewards), epsilon 0.1, a horizon of 500 steps,
ties between actions broken at random. Tables start at 0 for Q (nothing known) and for U (optimistic, since
r^e <= 0); the one table of additive rewards at 1 = max r + max r^e, optimistic with respect to both.
"Exploration stops" means what Section 4.1 says: kappa, xi or epsilon are 0 and nothing is learned.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from emuq.experiments import statistics
from emuq.experiments.base import Claim, Result, Row, Table, select
from emuq.run.spec import RunSpec

VALUES, ADDITIVE, EPSILON = METHODS = ("exploration-values", "additive-rewards", "epsilon-greedy")
LABEL = {VALUES: "exploration values", ADDITIVE: "additive rewards", EPSILON: "epsilon-greedy"}
OPEN = {"discount": 0.99, "kappa": 1.0, "epsilon": 0.1, "horizon": 500, "ties": "random"}
NOTES = (
    "Open in the paper, ours for all of Section 4: discount 0.99, kappa = xi = 1, epsilon 0.1, horizon 500, "
    "random ties; Q and U start at 0, the one table of additive rewards at 1, optimistic in both rewards. "
    "The experiment `sensitivity` varies them."
)
REVISION = 1


def spec(
    experiment: str, method: str, domain: str, seed: int, *, episodes: int, control: Sequence, **changes
) -> RunSpec:
    """`control` names a controller of kappa and its numbers: ("Budget", 30)."""
    settings: dict[str, Any] = OPEN | {
        "episodes": episodes,
        "control": tuple(control),
        "rate": 0.1,
        "initial": 1.0 if method == ADDITIVE else 0.0,
        "freeze": True,
        "slip": 0.01 if domain == "CliffWalking" else 0.0,
        "scale": 1.0,
    }
    unknown = set(changes) - set(settings)
    assert not unknown, unknown
    return RunSpec.of(experiment, method, domain, seed, revision=REVISION, **(settings | changes))


# Settings that a compiled program has fixed; the others may differ from run to run within it.
_STATIC = ("episodes", "control", "kappa", "horizon", "freeze", "slip", "scale")


def group(spec: RunSpec) -> Hashable:
    """One batch a method: their episodes differ in length, and a batch ends with its longest run."""
    return (spec.agent, spec.domain, *(spec[name] for name in _STATIC))


def execute(specs: Sequence[RunSpec]) -> list[Result]:
    """Learning curves of a group; with a target, when it was reached and the mean return after."""
    from emuq import domains, kappa
    from emuq.agents.tabular.core import Parameters
    from emuq.run.lockstep import learn_tabular

    first = specs[0]
    options = (
        {"slip": first["slip"], "reward_scale": first["scale"]} if first.domain == "CliffWalking" else {}
    )
    domain = domains.make(first.domain, horizon=first["horizon"], **options)
    kind, *numbers = first["control"]
    controller = kappa.CONTROLLERS[kind](*numbers, kappa=first["kappa"])
    parameters = Parameters(
        rate=_each(specs, "rate"),
        discount=_each(specs, "discount"),
        initial=_each(specs, "initial"),
        by_value=np.array([s.agent == VALUES for s in specs]),
        by_reward=np.array([s.agent == ADDITIVE for s in specs]),
        epsilon=np.array([s["epsilon"] if s.agent == EPSILON else 0.0 for s in specs]),
        random_ties=np.array([s["ties"] == "random" for s in specs]),
    )
    seeds = [s.seed for s in specs]
    curves = learn_tabular(domain, parameters, seeds, first["episodes"], controller, freeze=first["freeze"])
    results: list[Result] = []
    for i in range(len(specs)):
        returns, lengths = curves.returns[i], curves.lengths[i]
        result: Result = {"returns": np.round(returns, 4).tolist(), "lengths": lengths.tolist()}
        if kind == "Target":
            reached, taken = bool(curves.controllers.reached[i]), int(curves.controllers.episodes[i])
            after = returns[taken:]
            result["goal_episode"] = taken if reached else None
            result["goal_steps"] = int(lengths[:taken].sum()) if reached else None
            result["after"] = float(after.mean()) if reached and len(after) else None
        results.append(result)
    return results


def _each(specs: Sequence[RunSpec], name: str) -> np.ndarray:
    return np.array([s[name] for s in specs], float)


def curves(rows: Sequence[Row]) -> np.ndarray:
    """[runs, episodes] returns, in units of the environment's own reward."""
    return np.array([np.array(row.result["returns"]) / row.spec["scale"] for row in rows])


def window(rows: Sequence[Row], first: int, last: int) -> dict[int, float]:
    """The mean return of episodes first .. last - 1 of each run, by seed."""
    return {
        row.spec.seed: float(np.mean(row.result["returns"][first:last])) / row.spec["scale"] for row in rows
    }


def difference(one: dict[int, float], other: dict[int, float]) -> statistics.Estimate:
    """mean(one - other) over the seeds of both, paired."""
    seeds = sorted(one.keys() & other.keys())
    return statistics.paired_difference([one[s] for s in seeds], [other[s] for s in seeds])


def above(
    name: str, claim: str, measure: str, estimate: statistics.Estimate, threshold: float = 0.0
) -> Claim:
    return Claim.above(name, claim, measure, estimate, threshold)


def below(
    name: str, claim: str, measure: str, estimate: statistics.Estimate, threshold: float = 0.0
) -> Claim:
    return Claim.below(name, claim, measure, estimate, threshold)


def within(name: str, claim: str, measure: str, estimate: statistics.Estimate, margin: float) -> Claim:
    return Claim.within(name, claim, measure, estimate, -margin, margin)


def draw(
    conditions: Sequence[tuple[str, Sequence[Row]]], marks: Sequence[int] = (), low: float | None = None
):
    """Mean return over episodes with its band, one line a condition; `marks` where kappa changes.

    The first episodes, with many falls, would flatten all the rest: the axis begins at `low`, or, where what
    lies below matters, is logarithmic there.
    """
    from emuq.experiments import plots

    figure, axes = plots.panels(width=5.6, height=3.4)
    for i, (label, rows) in enumerate(conditions):
        if rows:
            returns = curves(rows)
            plots.curve(axes, np.arange(1, returns.shape[1] + 1), returns, label, i)
    for mark in marks:
        axes.axvline(mark + 0.5, color="0.5", linewidth=1, linestyle=":")
    axes.set(xlabel="episode", ylabel="return")
    if low is None:
        axes.set_yscale("symlog", linthresh=1)
        axes.set_yticks([-100, -10, -1, 0, 1], ["-100", "-10", "-1", "0", "1"])
    else:
        axes.set_ylim(low, 1.2)
    figure.legend(loc="outside upper center", ncols=2)  # curves begin and end anywhere in the axes
    return figure


def table(
    title: str, conditions: Sequence[tuple[str, Sequence[Row]]], windows: dict[str, tuple[int, int]]
) -> Table:
    """Mean return (standard deviation over runs) in each window of episodes, and steps in all."""
    body = []
    for label, rows in conditions:
        cells = [spread(v) if (v := list(window(rows, *span).values())) else "" for span in windows.values()]
        steps = f"{np.median([sum(row.result['lengths']) for row in rows]):,.0f}" if rows else ""
        body.append((label, str(len(rows)), *cells, steps))
    header = ("method", "runs", *windows, "steps, median")
    return Table(title, header, tuple(body), "Mean return (standard deviation over runs).")


def spread(numbers: Sequence[float]) -> str:
    """Mean (standard deviation)."""
    return f"{np.mean(numbers):.2f} ({np.std(numbers):.2f})"


def by_method(rows: Sequence[Row], **settings) -> list[tuple[str, list[Row]]]:
    return [(LABEL[method], select(rows, agent=method, **settings)) for method in METHODS]
