"""Seeds for tests that draw features."""

from __future__ import annotations

import numpy as np


def seed_of(rng: np.random.Generator) -> np.uint32:
    """The next seed of a generator."""
    return np.uint32(rng.integers(2**32))
