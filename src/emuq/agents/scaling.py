"""Observations scaled to [0, 1] by known bounds; a dimension of no width is left at 0."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from emuq.agents.surface import Spaces
from emuq.errors import InputError


class Scaling(NamedTuple):
    """x -> (x - low) / width. What is outside the bounds goes outside [0, 1], unless it is clipped."""

    low: np.ndarray
    width: np.ndarray
    clip: bool = False

    @property
    def dim(self) -> int:
        return len(self.low)

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        scaled = (observation - self.low) / self.width
        return np.clip(scaled, 0.0, 1.0) if self.clip else scaled

    def inverse(self, scaled: np.ndarray) -> np.ndarray:
        return self.low + scaled * self.width


def scaling_of(env: gym.Env | Spaces, bounds: tuple[Any, Any] | None) -> Scaling:
    """From `bounds`, or the environment's `normalisation`, or its observation space."""
    space = env.observation_space
    if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1:
        raise InputError(
            f"observation space is {space}: expected a Box of one axis; flatten it with a wrapper"
        )
    if bounds is None:
        inner = env.unwrapped if isinstance(env, gym.Env) else env
        bounds = getattr(inner, "normalisation", None)
    if bounds is None:
        bounds = (space.low, space.high)
    try:
        low, high = (np.broadcast_to(np.asarray(bound, dtype=float), space.shape) for bound in bounds)
    except (ValueError, TypeError):
        raise InputError(
            f"observation_bounds is {bounds!r}: expected (low, high), "
            f"each one number or {space.shape[0]} of them"
        ) from None
    unbounded = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
    if unbounded.size:
        raise InputError(
            f"observation dimension {unbounded[0]} has no finite bounds in {space}: "
            "pass observation_bounds=(low, high)"
        )
    if np.any(high < low):
        raise InputError(
            f"observation_bounds has high below low in dimension {np.flatnonzero(high < low)[0]}"
        )
    return Scaling(low.copy(), np.where(high > low, high - low, 1.0))


def plain(bounds: tuple[Any, Any] | None) -> list | None:
    """Bounds as lists of numbers, for a file."""
    return None if bounds is None else [np.asarray(bound, dtype=float).tolist() for bound in bounds]
