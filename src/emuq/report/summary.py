"""One summary row for each method in each condition: success, episodes and steps to the first goal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from emuq.experiments import statistics
from emuq.experiments.base import Experiment, Row
from emuq.run.spec import RunSpec

# What `Experiment.paper` may give, and the names it gets beside ours.
PAPER = ("success", "episodes_mean", "episodes_std")


def summarise(experiment: Experiment, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows of `emuq report --json`, in the order in which the experiment names its conditions.

    A result with `goal_episode` (None: no goal within the spec's `episodes`) and `goal_steps` has the
    figures of the table; one without has only its number of runs.
    """
    groups: dict[tuple[str, str, tuple], list[Row]] = {
        _condition(experiment, spec): [] for spec in experiment.specs([0])
    }
    for row in rows:
        groups.setdefault(_condition(experiment, row.spec), []).append(row)
    return [_row(experiment, *condition, group) for condition, group in groups.items() if group]


def _condition(experiment: Experiment, spec: RunSpec) -> tuple[str, str, tuple]:
    return spec.agent, spec.domain, tuple((name, spec.get(name)) for name in experiment.varies)


def _row(experiment: Experiment, agent: str, domain: str, settings: tuple, rows: list[Row]) -> dict[str, Any]:
    """One row. Means and deviations are over successful runs only, as in the paper."""
    summary: dict[str, Any] = {
        "experiment": experiment.name,
        "agent": agent,
        "domain": domain,
        "settings": dict(settings),
        "runs": len(rows),
        "seconds_mean": round(sum(row.seconds for row in rows) / len(rows), 3),
    }
    summary |= dict.fromkeys(
        (
            "successes",
            "success_ci",
            "episodes_mean",
            "episodes_std",
            "steps_median",
            "restricted_mean_episodes",
        )
    )
    if all("goal_episode" in row.result for row in rows):
        summary |= _first_goals(rows)
    paper = experiment.paper.get((agent, domain), {})
    summary |= {f"paper_{name}": paper.get(name) for name in PAPER if paper}
    return summary


def _first_goals(rows: list[Row]) -> dict[str, Any]:
    episodes = [row.result["goal_episode"] for row in rows]
    found = [episode for episode in episodes if episode is not None]
    cap = max(row.spec.get("episodes", 0) for row in rows)
    success = statistics.wilson(len(found), len(rows))
    # Runs without a goal count as slower than any that has one, so that the median is not of the lucky.
    steps = np.array(
        [math.inf if row.result["goal_steps"] is None else row.result["goal_steps"] for row in rows]
    )
    median = float(np.quantile(steps, 0.5, method="inverted_cdf"))
    restricted = statistics.restricted_mean(episodes, cap) if cap else statistics.Estimate(None, None)
    return {
        "successes": len(found),
        "success_ci": success.interval,
        "episodes_mean": float(np.mean(found)) if found else None,
        "episodes_std": float(np.std(found, ddof=1)) if len(found) > 1 else None,
        "steps_median": median if math.isfinite(median) else None,
        "restricted_mean_episodes": restricted.value,
        "restricted_mean_ci": restricted.interval,
    }
