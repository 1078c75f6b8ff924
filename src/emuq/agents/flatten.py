"""Any observation as one vector of numbers with bounds.

    Box                     its numbers, row by row
    Discrete, MultiDiscrete a one-hot vector for each number with up to 64 values, else the number itself
    MultiBinary             its zeros and ones
    Dict, Tuple             their parts in order: a Dict's by name, a Tuple's as they come
    goal environments       `observation`, desired_goal - achieved_goal, `desired_goal`, then other names
    angles=[i]              number i of that vector becomes its cosine and its sine

Bounds that a space does not have are infinite here: `spaces` decides what is made of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from emuq.errors import InputError, quoted

ONE_HOT = 64  # values of a discrete number up to which each has a place of its own
MOST = 4096  # numbers in an observation
PIXEL_AXES = 3  # bytes in so many axes are a picture
GOALS = ("achieved_goal", "desired_goal")


class Part(NamedTuple):
    """A part of an observation: its bounds, how many values it has (inf: not countable), and its numbers."""

    low: np.ndarray
    high: np.ndarray
    values: float
    read: Callable[[Any], np.ndarray]


class Flat:
    """`flat(observation)` is a vector with `low` and `high`; `count` states in all, inf where not countable.

    Bounds are those of the vector before angles are turned; `turned` makes the same of bounds.
    """

    def __init__(self, space: gym.Space, angles: Sequence[int] = ()) -> None:
        self.space = space
        part = _part(space, "observation")
        self.low, self.high, self.count = part.low, part.high, part.values
        size = len(self.low)
        if not 1 <= size <= MOST:
            raise InputError(
                f"observation space has {size:,} numbers: expected from 1 to {MOST:,}; "
                "have a wrapper pick, or compute, those that matter"
            )
        self.angles = _indices(angles, size)
        self._read = part.read
        self._plain = isinstance(space, gym.spaces.Box) and len(space.shape) == 1 and not self.angles

    @property
    def dim(self) -> int:
        return len(self.low) + len(self.angles)

    @property
    def vectors(self) -> gym.spaces.Box:
        """A space of all these vectors, without bounds: rounding may take one past its own."""
        return gym.spaces.Box(-np.inf, np.inf, (self.dim,), np.float64)

    def __call__(self, observation: Any) -> np.ndarray:
        """One observation as a vector; it may not be finite, which is for the caller to say."""
        if self._plain and type(observation) is np.ndarray and observation.shape == self.low.shape:
            return observation.astype(float) if observation.dtype.kind in "fiub" else self._read(observation)
        vector = self._read(observation)
        return self.turned(vector, np.cos, np.sin) if self.angles else vector

    def rows(self, observations: Any) -> np.ndarray:
        """Observations as rows: of one alone, one row."""
        shape = self.space.shape
        if shape is not None and np.ndim(observations) == len(shape) + 1:
            return np.stack([self(one) for one in observations])
        return self(observations)[None]

    def turned(self, vector: np.ndarray, cosine: Any, sine: Any) -> np.ndarray:
        """The vector with two numbers, cosine(x) and sine(x), in the place of each angle x."""
        pieces = [
            np.array([cosine(x), sine(x)]) if i in self.angles else vector[i : i + 1]
            for i, x in enumerate(vector)
        ]
        return np.concatenate(pieces)


def _indices(angles: Any, size: int) -> frozenset[int]:
    try:
        found = [int(i) for i in angles]
        whole = all(i == j and not isinstance(i, bool) for i, j in zip(found, angles, strict=True))
    except (TypeError, ValueError, OverflowError):
        found, whole = [], False
    if not whole or not all(0 <= i < size for i in found):
        raise InputError(f"angles is {quoted(angles)}: expected places in the observation, 0 to {size - 1}")
    return frozenset(found)


def _part(space: gym.Space, name: str) -> Part:
    """The part of an observation that a space describes; an error for a space of another kind."""
    if isinstance(space, gym.spaces.Box):
        return _box(space, name)
    if isinstance(space, gym.spaces.Discrete):
        return _numbers(space, np.array([int(space.n)]), np.array([int(space.start)]), name)
    if isinstance(space, gym.spaces.MultiDiscrete):
        return _numbers(space, space.nvec.ravel(), np.ravel(space.start), name)
    if isinstance(space, gym.spaces.MultiBinary):
        size = math.prod(space.shape)
        _check_size(size, name)
        return Part(np.zeros(size), np.ones(size), _product([2] * size), _reader(space, name))
    if isinstance(space, gym.spaces.Dict):
        return _dict(space, name)
    if isinstance(space, gym.spaces.Tuple):
        parts = [_part(part, f"{name}[{i}]") for i, part in enumerate(space.spaces)]
        return _joined(parts, name, lambda given: _items(given, len(parts), name))
    raise InputError(
        f"{name} is in {quoted(space)}: expected numbers of a fixed size (Box, Discrete, MultiDiscrete, "
        "MultiBinary, Dict or Tuple of them); have a wrapper turn it into a vector of numbers"
    )


def _box(space: gym.spaces.Box, name: str) -> Part:
    if space.dtype == np.uint8 and len(space.shape) >= PIXEL_AXES:
        raise InputError(
            f"{name} is a picture, {space.shape} bytes: pixels are not supported; have a wrapper give the "
            "numbers that matter (positions, speeds), or an encoder's few features"
        )
    _check_size(math.prod(space.shape), name)
    low, high = (bound.astype(float).ravel() for bound in (space.low, space.high))
    return Part(low, high, math.inf, _reader(space, name))


def _check_size(size: int, name: str) -> None:
    if size > MOST:
        raise InputError(
            f"{name} has {size:,} numbers: expected at most {MOST:,}; "
            "have a wrapper pick, or compute, those that matter"
        )


def _reader(space: gym.Space, name: str) -> Callable[[Any], np.ndarray]:
    shape = space.shape

    def read(given: Any) -> np.ndarray:
        try:
            array = np.asarray(given)
        except (ValueError, TypeError):  # rows of unequal lengths
            array = np.array(None)
        if array.dtype.kind not in "fiub":
            raise InputError(f"{name} is {quoted(given)}: expected numbers, as in {quoted(space)}")
        if array.shape != shape:
            raise InputError(f"{name} has shape {array.shape}: expected {shape} as in {quoted(space)}")
        return array.astype(float).ravel()

    return read


def _numbers(space: gym.Space, sizes: np.ndarray, starts: np.ndarray, name: str) -> Part:
    """Whole numbers from `starts`: one-hot where there are few values, else as they are."""
    _check_size(len(sizes), name)
    hot = sizes <= ONE_HOT
    lows = [np.zeros(n) if few else [s] for n, s, few in zip(sizes, starts, hot, strict=True)]
    highs = [np.ones(n) if few else [s + n - 1.0] for n, s, few in zip(sizes, starts, hot, strict=True)]
    numbers = _reader(space, name)

    def read(given: Any) -> np.ndarray:
        values = numbers(given)
        if not np.all((values >= starts) & (values < starts + sizes) & (values == np.floor(values))):
            raise InputError(f"{name} is {quoted(given)}: it is not in {quoted(space)}")
        pieces = [
            np.arange(n) == x - s if few else [x]
            for n, s, few, x in zip(sizes, starts, hot, values, strict=True)
        ]
        return np.concatenate(pieces).astype(float)

    return Part(np.concatenate(lows).astype(float), np.concatenate(highs), _product(sizes), read)


def _dict(space: gym.spaces.Dict, name: str) -> Part:
    goal = all(isinstance(space.spaces.get(key), gym.spaces.Box) for key in GOALS) and (
        space.spaces[GOALS[0]].shape == space.spaces[GOALS[1]].shape
    )
    keys = [key for key in ("observation", *GOALS) if goal and key in space.spaces]
    keys += sorted((key for key in space.spaces if key not in keys), key=str)
    parts = [_part(space.spaces[key], f"{name}[{key!r}]") for key in keys]
    at = keys.index(GOALS[0]) if goal else 0
    if goal:
        # How far the goal is says more of what to do than where one is; nothing is lost by it.
        achieved, desired = parts[at], parts[at + 1]
        with np.errstate(over="ignore"):
            low, high = desired.low - achieved.high, desired.high - achieved.low
        parts[at] = Part(low, high, math.inf, lambda given: desired.read(given[1]) - achieved.read(given[0]))

    def pick(given: Any) -> list:
        if not hasattr(given, "keys") or any(key not in given for key in keys):
            raise InputError(
                f"{name} is {quoted(given)}: expected a dictionary with {', '.join(map(str, keys))}"
            )
        found = [given[key] for key in keys]
        if goal:
            found[at] = (given[GOALS[0]], given[GOALS[1]])
        return found

    return _joined(parts, name, pick)


def _items(given: Any, number: int, name: str) -> Any:
    if not isinstance(given, tuple | list | np.ndarray) or len(given) != number:
        raise InputError(f"{name} is {quoted(given)}: expected {number} parts")
    return given


def _joined(parts: list[Part], name: str, pick: Callable[[Any], Sequence]) -> Part:
    """Parts one after the other; `pick` gives what each of them reads."""
    _check_size(sum(len(part.low) for part in parts), name)

    def read(given: Any) -> np.ndarray:
        found = pick(given)
        return np.concatenate(empty + [part.read(one) for part, one in zip(parts, found, strict=True)])

    empty = [np.zeros(0)]  # a Dict or Tuple may have no parts
    low, high = (np.concatenate(empty + [getattr(part, side) for part in parts]) for side in ("low", "high"))
    return Part(low, high, math.prod(part.values for part in parts), read)


def _product(sizes: Any) -> float:
    """A number of states: a float, so that it may be as large as it likes."""
    return math.exp(min(sum(math.log(n) for n in sizes), 700.0))
