"""How often learning may be disturbed: a clock, and a share of the time."""

from __future__ import annotations

LONGEST = 3.0  # seconds between two samples at most, however long one took: the first one compiles


class Pace:
    """At most `rate` times a second, and at most `share` of the time."""

    def __init__(self, rate: float, share: float) -> None:
        self._period, self._rest = 1.0 / rate, 1.0 / share - 1.0
        self._next = 0.0

    def due(self, now: float) -> bool:
        return now >= self._next

    def took(self, began: float, ended: float) -> None:
        """A sample was taken: the next one waits for its turn, and for the time that this one took."""
        self._next = max(began + self._period, ended + min(LONGEST, (ended - began) * self._rest))
