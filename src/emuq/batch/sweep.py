"""Settings side by side: a grid of them, or drawn at random, each with the same seeds.

axis     NAME=0.1,0.5,1         these values
         NAME=0.1:1:10          ten values from 0.1 to 1
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from emuq.batch import api, request
from emuq.errors import InputError, MissingExtra

NAMES = (*request.NUMBERS, "kappa")
PANELS = {"runs that find the goal": "success", "median steps to the goal": "steps"}


class Cell(NamedTuple):
    """What became of the runs with these settings; runs without a goal count with the cap."""

    settings: dict[str, float]
    runs: int
    success: float
    episodes: float  # the mean to the first goal
    steps: float  # the median to the first goal


def axis(text: str) -> tuple[str, np.ndarray]:
    """The name and the values of an axis."""
    name, _, values = text.partition("=")
    expected = f"--grid {text}: expected NAME=0.1,0.5,1 or NAME=0.1:1:10, with a name of {', '.join(NAMES)}"
    if name not in NAMES or not values:
        raise InputError(expected)
    try:
        if ":" in values:
            low, high, number = values.split(":")
            found = np.linspace(float(low), float(high), int(number))
        else:
            found = np.array([float(value) for value in values.split(",")])
    except ValueError:
        raise InputError(expected) from None
    if not len(found):
        raise InputError(expected)
    return name, found


def grid(axes: dict[str, np.ndarray]) -> list[dict[str, float]]:
    """Every combination."""
    return [dict(zip(axes, map(float, values), strict=True)) for values in itertools.product(*axes.values())]


def at_random(axes: dict[str, np.ndarray], number: int, seed: int) -> list[dict[str, float]]:
    """So many points between the least and the greatest value of each axis."""
    rng = np.random.default_rng(seed)
    drawn = {name: rng.uniform(values.min(), values.max(), number) for name, values in axes.items()}
    return [{name: float(values[i]) for name, values in drawn.items()} for i in range(number)]


def sweep(
    domain: str, points: Sequence[dict[str, float]], seeds: Sequence[int], episodes: int, **settings: Any
) -> list[Cell]:
    """All points with all seeds as one batch, each run until its first goal."""
    own = {name: np.repeat([point[name] for point in points], len(seeds)) for name in points[0]}
    runs = api.run(domain, np.tile(seeds, len(points)), episodes=episodes, until="goal", **own, **settings)
    found, steps = runs.goal_episode, runs.steps
    cells = []
    for i, point in enumerate(points):
        at = slice(i * len(seeds), (i + 1) * len(seeds))
        capped = np.where(found[at] > 0, found[at], episodes)
        cells.append(
            Cell(
                point,
                len(seeds),
                float(np.mean(found[at] > 0)),
                float(capped.mean()),
                float(np.median(steps[at])),
            )
        )
    return cells


def heat_map(cells: Sequence[Cell], axes: dict[str, np.ndarray], title: str, path: str | os.PathLike) -> None:
    """Success and steps over the first two axes of a grid, means over the others; a line if there is one."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plot") from None
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    figure.suptitle(title)
    panels = figure.subplots(1, 2)
    shape = [len(values) for values in axes.values()]
    for panel, (label, field) in zip(panels, PANELS.items(), strict=True):
        table = np.array([getattr(cell, field) for cell in cells]).reshape(shape)
        panel.set_title(label)
        (across, places), *rest = axes.items()
        panel.set_xlabel(across)
        if not rest:
            panel.plot(places, table, "o-")
            continue
        table = table.reshape(*shape[:2], -1).mean(axis=2).T
        image = panel.imshow(table, origin="lower", aspect="auto", cmap="viridis")
        panel.set_xticks(range(shape[0]), [f"{value:.3g}" for value in places])
        panel.set_yticks(range(shape[1]), [f"{value:.3g}" for value in rest[0][1]])
        panel.set_ylabel(rest[0][0])
        figure.colorbar(image, ax=panel)
    figure.savefig(path, dpi=150)
