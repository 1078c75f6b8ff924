"""Settings side by side, each with the same seeds: runs as data, in batches, and what became of them.

A run is one until its first goal. A batch may hold runs of several settings, since these are numbers that
its program computes with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from emuq import domains
from emuq.batch import api
from emuq.batch.request import prepare
from emuq.run.jobs import Job
from emuq.run.spec import RunSpec

NAME = "sweep"
Point = Mapping[str, float]


class Cell(NamedTuple):
    """What became of the runs with these settings; runs without a goal count with the cap."""

    settings: dict[str, float]
    runs: int
    success: float
    episodes: float  # the mean to the first goal
    steps: float  # the median to the first goal
    mean_steps: float  # to the first goal


def specs(
    domain: str, points: Sequence[Point], seeds: Sequence[int], episodes: int, features: int
) -> list[RunSpec]:
    """All points with all seeds; an error where `emuq.batch.run` would have one."""
    own: dict[str, Any] = {
        name: np.repeat([point[name] for point in points], len(seeds)) for name in points[0]
    }
    prepare(domain, np.tile(seeds, len(points)), episodes=episodes, until="goal", features=features, **own)
    return [
        RunSpec.of(NAME, "emuq", domain, seed, episodes=episodes, features=features, point=_written(point))
        for point in points
        for seed in seeds
    ]


def _written(point: Point) -> tuple[tuple[str, Any], ...]:
    """As JSON has it, which has no infinity."""
    return tuple((name, value if math.isfinite(value) else str(value)) for name, value in point.items())


def point_of(spec: RunSpec) -> dict[str, float]:
    """The settings of a run."""
    return {name: float(value) for name, value in spec["point"]}


def jobs(runs: Sequence[RunSpec], batch: int) -> list[Job]:
    """Batches of so many runs."""
    return [Job(execute, tuple(runs[i : i + batch])) for i in range(0, len(runs), batch)]


def execute(runs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """First goals of the runs, as one batch."""
    (first, *_), points = runs, [point_of(spec) for spec in runs]
    own: dict[str, Any] = {name: np.array([point[name] for point in points]) for name in points[0]}
    seeds = [spec.seed for spec in runs]
    made = api.run(
        first.domain, seeds, episodes=first["episodes"], until="goal", features=first["features"], **own
    )
    numbers = zip(made.goal_episode.tolist(), made.goal_steps.tolist(), made.steps.tolist(), strict=True)
    return [{"goal_episode": e or None, "goal_steps": g or None, "steps": s} for e, g, s in numbers]


def cells(results: Sequence[tuple[RunSpec, dict[str, Any]]]) -> list[Cell]:
    """A cell for each point that has a run, in the order in which they come."""
    groups: dict[tuple, list[tuple[RunSpec, dict[str, Any]]]] = {}
    for spec, result in results:
        groups.setdefault(spec["point"], []).append((spec, result))
    return [_cell(group) for group in groups.values()]


def _cell(group: Sequence[tuple[RunSpec, dict[str, Any]]]) -> Cell:
    spec = group[0][0]
    most = spec["episodes"] * domains.make(spec.domain).horizon
    found = np.array([result["goal_episode"] or 0 for _, result in group])
    steps = np.where(found > 0, [result["steps"] for _, result in group], most)
    return Cell(
        point_of(spec),
        len(group),
        float(np.mean(found > 0)),
        float(np.where(found > 0, found, spec["episodes"]).mean()),
        float(np.median(steps)),
        float(steps.mean()),
    )
