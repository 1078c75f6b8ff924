"""What figures share: size, curves with their bands, and one colour and one dash for each method.

Colours come from the page's cycle ("C0", ...), which is safe for colour-blind readers in light and in
dark; dashes and markers differ too, so that a figure stays legible in grey.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from emuq.experiments import statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Style(NamedTuple):
    """How a method is drawn: index into the colour cycle, dash, marker."""

    colour: str
    dash: str
    marker: str


_MARKERS = "osD^vPX*"
_DASHES = ("-", "--", "-.", ":", "-", "--", "-.", ":")


def style(index: int) -> Style:
    """The style of the index-th method of a figure; from the ninth on colours return with another dash."""
    return Style(f"C{index % 8}", _DASHES[(index + index // 8) % 8], _MARKERS[index % 8])


def panels(columns: int = 1, rows: int = 1, *, width: float = 3.6, height: float = 2.9, **options) -> tuple:
    """A figure and its axes (one, or an array of them), sized so that text stays legible."""
    from matplotlib.figure import Figure

    drawing: Figure = Figure(figsize=(max(width * columns, 4.8), height * rows), layout="constrained")
    return drawing, drawing.subplots(rows, columns, **options)


def curve(axes: Axes, x: ArrayLike, curves: ArrayLike, label: str, index: int) -> None:
    """The mean of runs x points with its bootstrap band."""
    look = style(index)
    mean, low, high = statistics.band(np.asarray(curves, float))
    axes.plot(x, mean, color=look.colour, linestyle=look.dash, label=label)
    axes.fill_between(np.asarray(x), low, high, color=look.colour, alpha=0.2, linewidth=0)


def points(axes: Axes, x: ArrayLike, samples: list, label: str, index: int) -> None:
    """Means of samples at each x with bootstrap intervals, joined by a line."""
    look = style(index)
    estimates = [statistics.mean(sample) for sample in samples]
    values = np.array([np.nan if e.value is None else e.value for e in estimates], float)
    low, high = np.array([e.interval or (v, v) for e, v in zip(estimates, values, strict=True)]).T
    bars = np.maximum(0, np.stack([values - low, high - values]))
    axes.errorbar(x, values, bars, color=look.colour, linestyle=look.dash, marker=look.marker, label=label,
                  markersize=4.5, capsize=2, elinewidth=1)  # fmt: skip
