"""Arrays as the page has them: a picture as PNG, a map as one byte a cell."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

from emuq.livepage.series import number

WIDEST = 480  # pixels: more would only take time to send


def shrunk(frame: np.ndarray) -> np.ndarray:
    """A rendered frame of at most `WIDEST` pixels a row, each the mean of n x n: thin lines stay whole."""
    n = max(1, -(-frame.shape[1] // WIDEST))
    height, width = frame.shape[0] // n, frame.shape[1] // n
    blocks = frame[: n * height, : n * width, :3].reshape(height, n, width, n, 3)
    return blocks.mean(axis=(1, 3), dtype=np.float32).astype(np.uint8) if n > 1 else blocks[:, 0, :, 0].copy()


def png(pixels: np.ndarray) -> bytes:
    """PNG of an array (height, width, 3) of bytes."""
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, parts))


def _chunk(part: tuple[bytes, bytes]) -> bytes:
    kind, data = part
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def panel(values: np.ndarray, scale: tuple[float, float] | None = None) -> dict[str, Any]:
    """A map as bytes from 0 (low) to 255 (high), and what these are: the scale's or the map's own ends."""
    low, high = (float(values.min()), float(values.max())) if scale is None else scale
    share = (values - low) / (high - low) if high > low else np.zeros_like(values)
    scaled = 255.0 * np.clip(share, 0.0, 1.0)
    return {
        "low": number(low),
        "high": number(high),
        "cells": base64.b64encode(np.round(scaled).astype(np.uint8).tobytes()).decode(),
    }
