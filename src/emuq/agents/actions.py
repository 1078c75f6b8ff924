"""An action space as an agent sees it: actions as vectors in [0, 1].

    action = low + unit * (high - low)

An action is chosen among `candidates` and averaged over by `nodes`; a discrete one is a one-hot vector,
several discrete numbers are one-hot vectors side by side.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from scipy.stats import qmc

from emuq.errors import InputError, quoted

# Candidates along each dimension of a box: odd, so that both ends and the middle are among them.
_GRID = {1: 11, 2: 5, 3: 3}
_NODES = {1: 5, 2: 3, 3: 2}
_MANY = 64  # candidates where a grid would have too many ...
_MORE = {5: 128, 6: 256, 7: 256, 8: 256}  # ... and where that leaves a box too thinly covered
# Where there are more actuators than candidates, most of them never move apart from others.
_LARGEST_BOX = _MANY
_LARGEST_DISCRETE = 4096  # each of n actions is a vector of n numbers
_LARGEST_PRODUCT = 512  # of several discrete numbers, up to which every combination is a candidate
_WIDEST_ACTION = 1e15  # beyond, low + (high - low) is not high any more


class Actions(NamedTuple):
    """`candidates` are what argmax chooses from; `nodes` integrate over a uniform action."""

    candidates: np.ndarray
    nodes: np.ndarray
    node_weights: np.ndarray
    discrete: bool
    low: np.ndarray
    high: np.ndarray
    start: int = 0  # the first of discrete actions
    table: np.ndarray | None = None  # of several discrete numbers: each candidate as the environment has it
    sizes: tuple[int, ...] = ()  # and how many values each number has
    starts: tuple[int, ...] = ()

    @property
    def dim(self) -> int:
        return self.candidates.shape[1]

    @property
    def efforts(self) -> np.ndarray | None:
        """mean_i (a_i / max |a_i|)^2 of each candidate, measured from rest: 0, or what is nearest to it.

        None where there are not several actuators: a price that is a share of all there is to gain then
        has nothing to choose between.
        """
        if self.discrete or self.dim == 1:
            return None
        rest = np.clip(0.0, self.low, self.high)
        largest = np.maximum(self.high - rest, rest - self.low)
        away = from_unit(self, self.candidates) - rest
        return np.mean((away / np.where(largest > 0, largest, 1.0)) ** 2, axis=1)


def actions_of(space: gym.Space) -> Actions:
    """A box becomes [0, 1]^d with a grid of candidates, n discrete actions become n one-hot vectors."""
    if isinstance(space, gym.spaces.Discrete):
        if space.n > _LARGEST_DISCRETE:
            raise InputError(f"action space is {space}: expected at most {_LARGEST_DISCRETE:,} actions")
        eye = np.eye(int(space.n))
        weights = np.full(len(eye), 1 / len(eye))
        return Actions(eye, eye, weights, True, np.zeros(1), np.ones(1), int(space.start))
    if isinstance(space, gym.spaces.MultiDiscrete) and len(space.shape) == 1:
        return _several(space, space.nvec.tolist(), np.asarray(space.start).tolist())
    if isinstance(space, gym.spaces.MultiBinary) and len(space.shape) == 1:
        return _several(space, [2] * space.shape[0], [0] * space.shape[0])
    if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1:
        raise InputError(
            f"action space is {quoted(space)}: expected a Box of one axis, Discrete, or MultiDiscrete or "
            "MultiBinary of one axis; wrap it in TransformAction"
        )
    low, high = space.low.astype(float), space.high.astype(float)
    with np.errstate(over="ignore"):
        width = high - low
    if not np.all(width <= _WIDEST_ACTION):
        raise InputError(f"action space is {space}: expected finite bounds; wrap it in RescaleAction")
    dim = space.shape[0]
    if not 1 <= dim <= _LARGEST_BOX:
        raise InputError(f"action space has {dim:,} dimensions: expected from 1 to {_LARGEST_BOX}")
    nodes, weights = _quadrature(dim)
    actions = Actions(_candidates(dim), nodes, weights, False, low, high)
    return _whole(actions) if np.issubdtype(space.dtype, np.integer) else actions


def _several(space: gym.Space, sizes: list[int], starts: list[int]) -> Actions:
    """Every combination of several discrete numbers, or low-discrepancy ones where there are too many."""
    if not 1 <= sum(sizes) <= _LARGEST_DISCRETE or not 1 <= len(sizes) <= _LARGEST_BOX:
        raise InputError(
            f"action space is {quoted(space)}: expected at most {_LARGEST_BOX} numbers "
            f"with {_LARGEST_DISCRETE:,} values in all"
        )
    if math.prod(sizes) <= _LARGEST_PRODUCT:
        table = np.array(list(itertools.product(*(range(n) for n in sizes))))
    else:
        points = qmc.Halton(len(sizes), scramble=False).random(_LARGEST_PRODUCT)
        table = np.unique(np.floor(points * np.array(sizes)).astype(np.int64), axis=0)
    hot = np.concatenate([np.eye(n)[table[:, i]] for i, n in enumerate(sizes)], axis=1)
    weights = np.full(len(hot), 1 / len(hot))
    table = table + np.array(starts)
    ends = np.zeros(1), np.ones(1)
    return Actions(hot, hot, weights, True, *ends, 0, table, tuple(sizes), tuple(starts))


def _whole(actions: Actions) -> Actions:
    """Candidates among whole numbers alone: one between them would be chosen for what it never does."""
    candidates = np.unique(to_unit(actions, np.rint(from_unit(actions, actions.candidates))), axis=0)
    return actions._replace(candidates=candidates)


def to_unit(actions: Actions, action: Any) -> np.ndarray:
    """An environment's action, or an array of them, as the vectors that features see."""
    if actions.table is not None:
        places = np.asarray(action, dtype=int) - np.array(actions.starts)
        return np.concatenate([np.eye(n)[places[..., i]] for i, n in enumerate(actions.sizes)], axis=-1)
    if actions.discrete:
        return actions.candidates[np.asarray(action, dtype=int) - actions.start]
    width = np.where(actions.high > actions.low, actions.high - actions.low, 1.0)
    return (np.asarray(action, dtype=float) - actions.low) / width


def from_unit(actions: Actions, unit: np.ndarray) -> np.ndarray:
    """Vectors in [0, 1] as actions of the environment's box. Rounding takes none beyond it."""
    return np.clip(actions.low + unit * (actions.high - actions.low), actions.low, actions.high)


def from_index(actions: Actions, index: int, dtype: Any) -> Any:
    """Candidate number `index` as the environment's action, of the type that its space samples."""
    if actions.table is not None:
        return actions.table[index].astype(dtype)
    if actions.discrete:
        return np.dtype(dtype).type(actions.start + index)
    return cast(from_unit(actions, actions.candidates[index]), dtype)


def cast(action: np.ndarray, dtype: Any) -> np.ndarray:
    """An action as numbers of the environment's type: the nearest, not the next towards 0."""
    return (np.rint(action) if np.issubdtype(dtype, np.integer) else action).astype(dtype)


def _candidates(dim: int) -> np.ndarray:
    if dim in _GRID:
        return np.array(list(itertools.product(np.linspace(0, 1, _GRID[dim]), repeat=dim)))
    # Low-discrepancy points stretched onto the faces: extreme actions matter in control.
    inner = qmc.Sobol(dim, scramble=False).random(_MORE.get(dim, _MANY))
    return np.clip(1.2 * inner - 0.1, 0.0, 1.0)


def _quadrature(dim: int) -> tuple[np.ndarray, np.ndarray]:
    if dim not in _NODES:
        points = qmc.Halton(dim, scramble=False).random(17)[1:]
        return points, np.full(16, 1 / 16)
    x, w = np.polynomial.legendre.leggauss(_NODES[dim])
    nodes = np.array(list(itertools.product((x + 1) / 2, repeat=dim)))
    weights = np.array([np.prod(c) for c in itertools.product(w / 2, repeat=dim)])
    return nodes, weights
