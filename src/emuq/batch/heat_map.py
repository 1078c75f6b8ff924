"""A sweep's picture: success and steps over the first two of the settings that vary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from emuq.batch.sweep import Cell
from emuq.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = {"runs that find the goal": "success", "median steps to the goal": "steps"}


def figure(sweeps: Sequence[tuple[str, Sequence[Cell]]]) -> Figure:
    """A row of two panels for each sweep and its title.

    Two settings: a heat map of a grid, with means over any others, or points in their colours. One: a line.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plot") from None
    drawing = Figure(figsize=(9, 3.4 * len(sweeps)), layout="constrained")
    rows = drawing.subplots(len(sweeps), len(PANELS), squeeze=False)
    for panels, (title, cells) in zip(rows, sweeps, strict=True):
        axes = varied(cells)
        for panel, (label, field) in zip(panels, PANELS.items(), strict=True):
            panel.set_title(f"{title}: {label}", fontsize=10)
            _draw(drawing, panel, axes, cells, np.array([getattr(cell, field) for cell in cells]))
    return drawing


def varied(cells: Sequence[Cell]) -> dict[str, np.ndarray]:
    """The settings that differ between cells with their values; the first one where none does."""
    names = list(cells[0].settings)
    axes = {name: np.unique([cell.settings[name] for cell in cells]) for name in names}
    return {name: values for name, values in axes.items() if len(values) > 1} or {names[0]: axes[names[0]]}


def is_grid(cells: Sequence[Cell]) -> bool:
    """Whether there is a cell for every combination of values, and no other."""
    return len(cells) == np.prod([len(values) for values in varied(cells).values()])


def _draw(
    drawing: Figure, panel: Any, axes: dict[str, np.ndarray], cells: Sequence[Cell], values: np.ndarray
):
    (across, places), *rest = axes.items()
    x = np.array([cell.settings[across] for cell in cells])
    panel.set_xlabel(across)
    if not rest:
        order = np.argsort(x)
        panel.plot(x[order], values[order], "o-")
        return
    upwards, heights = rest[0]
    y = np.array([cell.settings[upwards] for cell in cells])
    panel.set_ylabel(upwards)
    ends = {"vmin": 0, "vmax": 1} if values.max() <= 1 else {}  # shares, always in the same colours
    if is_grid(cells):
        table = np.array(
            [[values[(x == place) & (y == height)].mean() for place in places] for height in heights]
        )
        image = panel.imshow(table, origin="lower", aspect="auto", cmap="viridis", **ends)
        panel.set_xticks(range(len(places)), [f"{place:.3g}" for place in places])
        panel.set_yticks(range(len(heights)), [f"{height:.3g}" for height in heights])
    else:
        image = panel.scatter(x, y, c=values, cmap="viridis", **ends)
    drawing.colorbar(image, ax=panel)
