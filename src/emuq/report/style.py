"""How figures look: one style for light pages and print, one for dark, both safe for colour-blind readers."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, Literal, cast

from emuq.errors import MissingExtra
from emuq.experiments.base import Experiment, Row

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")

# Okabe and Ito's palette, ordered so that neighbours differ in lightness too; lightened for dark pages.
_CYCLE: dict[str, tuple[str, ...]] = {
    "light": ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a5c00", "#56b4e9", "#5b5b5b", "#e69f00"),
    "dark": ("#56b4e9", "#ff8a3d", "#2ecc9b", "#f09ac8", "#f0e442", "#9fd3f5", "#b5b5b5", "#e69f00"),
}
_INK = {"light": "#1d2330", "dark": "#e6e9ef"}
_FAINT = {"light": "#d9dde4", "dark": "#343b48"}


def settings(theme: Theme) -> dict[str, Any]:
    """matplotlib's rcParams for a theme. Backgrounds are clear, so that the page shows through."""
    from cycler import cycler

    ink, faint = _INK[theme], _FAINT[theme]
    return {
        "axes.prop_cycle": cycler(color=_CYCLE[theme]),
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
        "legend.facecolor": "none",
        "legend.frameon": False,
        "legend.fontsize": 8.5,
        "text.color": ink,
        "axes.labelcolor": ink,
        "axes.edgecolor": ink,
        "axes.titlecolor": ink,
        "xtick.color": ink,
        "ytick.color": ink,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": faint,
        "grid.linewidth": 0.6,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 10,
        "axes.labelsize": 9.5,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "lines.linewidth": 1.7,
        "font.family": "DejaVu Sans",
        "svg.fonttype": "path",
        "svg.hashsalt": "emuq",
        "savefig.dpi": 150,
    }


def draw(experiment: Experiment, rows: Sequence[Row], theme: Theme) -> bytes | None:
    """The experiment's figure as SVG, the same bytes for the same rows; None where it has none."""
    if experiment.figure is None or not rows:
        return None
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot") from error
    with matplotlib.rc_context(cast(Any, settings(theme))):
        figure = experiment.figure(rows)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
