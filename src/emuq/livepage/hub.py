"""From one learner to any number of viewers: the newest sample of each kind, and nothing that waits.

A viewer that is slow, or asleep, misses samples; neither learning nor the other viewers notice.
"""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from typing import Any

import numpy as np

from emuq.livepage.maps import Map
from emuq.livepage.pictures import panel, png

POINTS = 250  # of a trajectory, at most


class Hub:
    """`publish` is called by the learning thread; all the rest by the server's."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._fresh: dict[str, Any] = {}  # published, not encoded yet
        self._latest: dict[str, tuple[int, str]] = {}
        self._count = 0
        self._viewers: set[asyncio.Event] = set()

    @property
    def watching(self) -> bool:
        return bool(self._viewers)

    def __len__(self) -> int:
        return len(self._viewers)

    def publish(self, kind: str, sample: Any) -> None:
        with self._lock:
            first = not self._fresh
            self._fresh[kind] = sample
        if first and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._encode)

    def _encode(self) -> None:
        """Once for all viewers."""
        with self._lock:
            fresh, self._fresh = self._fresh, {}
        for kind, sample in fresh.items():
            self._count += 1
            self._latest[kind] = self._count, json.dumps({"kind": kind, **_plain(kind, sample)})
        for event in self._viewers:
            event.set()

    async def watch(self, send: Any) -> None:
        """Send the newest of each kind, as often as there is any, until the viewer is gone."""
        self._loop = asyncio.get_running_loop()
        event, seen = asyncio.Event(), 0
        self._viewers.add(event)
        try:
            while True:
                newer = sorted(item for item in self._latest.values() if item[0] > seen)
                for number, text in newer:
                    await send(text)
                    seen = number
                if not newer:
                    event.clear()
                    await event.wait()
        finally:
            self._viewers.discard(event)


def _plain(kind: str, sample: Any) -> dict[str, Any]:
    """A sample as JSON has it."""
    if kind == "frame":
        return {"png": base64.b64encode(png(sample)).decode()}
    if kind == "map":
        found, paths = sample
        return {
            "dims": found.dims,
            "low": found.low.tolist(),
            "high": found.high.tolist(),
            "panels": {
                name: panel(values, (found.lowest, 0.0) if name == "u" else None)
                for name, values in found.panels.items()
            },
            "paths": [_path(found, path) for path in paths],
        }
    return sample


def _path(found: Map, path: np.ndarray) -> str:
    """Points of a trajectory, from 0 to 65535 along each side of the map."""
    thinned = path[np.unique(np.linspace(0, len(path) - 1, POINTS).astype(int))]
    scaled = np.clip((thinned - found.low) / np.maximum(found.high - found.low, 1e-12), 0, 1)
    return base64.b64encode((scaled * 65535).astype("<u2").tobytes()).decode()
