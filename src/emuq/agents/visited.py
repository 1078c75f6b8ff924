"""Bounds that are far wider than what is visited: all observations then look alike to an agent."""

from __future__ import annotations

import numpy as np

from emuq.agents.flatten import Flat
from emuq.agents.spaces import Scaling

ENOUGH = 1000  # steps after which what was visited is compared with the bounds
WIDE = 20.0  # times as wide as what was visited


class Visited:
    """The least and the greatest number seen in each dimension, of so many observations."""

    def __init__(self, dim: int) -> None:
        self.low, self.high, self.count = np.full(dim, np.inf), np.full(dim, -np.inf), 0

    def add(self, observed: np.ndarray) -> None:
        """One more observation."""
        np.minimum(self.low, observed, out=self.low)
        np.maximum(self.high, observed, out=self.high)
        self.count += 1

    def doubt(self, scaling: Scaling, flat: Flat) -> str | None:
        """What is to be said of the dimension with the widest bounds, if they are far wider than its range.

        A number that never changes has no range to see, and one that is an angle's cosine or sine has the
        bounds that it has.
        """
        place = flat.turned(np.arange(len(flat.low)), lambda _: -1, lambda _: -1).astype(int)
        width = self.high - self.low
        wider = np.where((width > 0) & (place >= 0), scaling.width / np.where(width > 0, width, 1.0), 0.0)
        i = int(np.argmax(wider))
        if wider[i] <= WIDE:
            return None
        low, high = scaling.low[i], scaling.low[i] + scaling.width[i]
        better = self.low[i] - width[i], self.high[i] + width[i]
        others = int(np.sum(wider > WIDE)) - 1
        more = f" (and {others} more like it)" if others else ""
        return (
            f"in {self.count:,} steps observation {place[i]} was within [{self.low[i]:g}, {self.high[i]:g}], "
            f"and its bounds [{low:g}, {high:g}] are {wider[i]:,.0f} times as wide{more}: what it tells is "
            "hardly seen; pass observation_bounds=(low, high) with about "
            f"[{better[0]:.3g}, {better[1]:.3g}] there, or [-inf, inf] to have it learned"
        )
