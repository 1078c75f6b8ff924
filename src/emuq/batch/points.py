"""Settings to try: a grid of them, or drawn at random.

axis     NAME=0.1,0.5,1         these values
         NAME=0.1:1:10          ten values from 0.1 to 1
"""

from __future__ import annotations

import itertools

import numpy as np

from emuq.batch.request import NUMBERS
from emuq.errors import InputError

NAMES = (*NUMBERS, "kappa")


def axis(text: str) -> tuple[str, np.ndarray]:
    """The name and the values of an axis."""
    name, _, values = text.partition("=")
    expected = f"--grid {text}: expected NAME=0.1,0.5,1 or NAME=0.1:1:10, with a name of {', '.join(NAMES)}"
    if name not in NAMES or not values:
        raise InputError(expected)
    try:
        if ":" in values:
            low, high, number = values.split(":")
            found = np.linspace(float(low), float(high), int(number))
        else:
            found = np.array([float(value) for value in values.split(",")])
    except ValueError:
        raise InputError(expected) from None
    if not len(found):
        raise InputError(expected)
    return name, found


def grid(axes: dict[str, np.ndarray]) -> list[dict[str, float]]:
    """Every combination."""
    return [dict(zip(axes, map(float, values), strict=True)) for values in itertools.product(*axes.values())]


def at_random(axes: dict[str, np.ndarray], number: int, seed: int) -> list[dict[str, float]]:
    """So many points between the least and the greatest value of each axis."""
    rng = np.random.default_rng(seed)
    drawn = {name: rng.uniform(values.min(), values.max(), number) for name, values in axes.items()}
    return [{name: float(values[i]) for name, values in drawn.items()} for i in range(number)]
