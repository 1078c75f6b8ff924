"""What happened over time, in as few points as a chart can show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from emuq.history import Episode

MOST = 400  # points of a chart


class Series:
    """(steps, value) pairs; once there are too many, every second one is dropped."""

    def __init__(self) -> None:
        self.points: list[tuple[int, float]] = []

    def add(self, steps: int, value: float) -> None:
        self.points.append((steps, value))
        if len(self.points) > 2 * MOST:
            self.points = [*self.points[:-1:2], self.points[-1]]

    def cut(self, steps: int) -> None:
        """Forget what came after so many steps: the agent went back to them."""
        self.points = [point for point in self.points if point[0] <= steps]

    def plain(self) -> list[list[Any]]:
        return [[steps, number(value)] for steps, value in self.points]


def number(value: float) -> float | str | None:
    """As JSON has it: infinity is a word, what is no number is null."""
    value = float(value)
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def episodes(rows: Sequence[Episode]) -> dict[str, Any]:
    """Columns of a chart over episodes; where there are many, a point is the mean of `per` of them.

    kappa is that of the last of them, since the mean of 0 and infinity says nothing.
    """
    per = max(1, math.ceil(len(rows) / MOST))
    groups = [rows[i : i + per] for i in range(0, len(rows), per)]
    return {
        "per": per,
        "return": [number(sum(row.total_return for row in group) / len(group)) for group in groups],
        "length": [sum(row.length for row in group) / len(group) for group in groups],
        "goal": [sum(row.goal for row in group) / len(group) for group in groups],
        "kappa": [number(group[-1].kappa) for group in groups],
    }
