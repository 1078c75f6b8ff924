"""Actions from outside: checked once, in the same words for every environment."""

from __future__ import annotations

from typing import Any

import numpy as np

from emuq.errors import InputError, finite

# An action computed in single precision may leave the box by its rounding; it is clipped, not refused.
ROUNDING = 1e-6


def check_box(action: Any, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The action as a double-precision vector in [low, high], or an error that says what is wrong with it."""
    try:
        vector = np.asarray(action, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"action is {action!r}: expected {low.size} numbers") from None
    if vector.shape != low.shape:
        raise InputError(f"action has shape {vector.shape}: expected {low.shape}")
    clipped = np.minimum(np.maximum(vector, low), high)
    # NaN fails this comparison as well, so that a good action costs one test.
    if not np.abs(vector - clipped).max() <= ROUNDING:
        finite(vector, "action")
        bad = int(np.argmax(np.abs(vector - clipped)))
        raise InputError(
            f"action is {vector[bad]:g} at index {bad}: expected a number in [{low[bad]:g}, {high[bad]:g}]"
        )
    return clipped


def check_discrete(action: Any, number: int) -> int:
    """The action as an int in 0 .. number - 1, or an error."""
    array = np.asarray(action)
    if array.size != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"action is {action!r}: expected a whole number from 0 to {number - 1}")
    value = int(array.reshape(()))
    if not 0 <= value < number:
        raise InputError(f"action is {value}: expected a whole number from 0 to {number - 1}")
    return value
