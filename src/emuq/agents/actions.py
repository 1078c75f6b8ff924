"""The actions of an environment as an agent sees them: vectors in [0, 1], candidates, quadrature nodes."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from scipy.stats import qmc

from emuq.errors import InputError

# Candidates along each dimension of a box: odd, so that both ends and the middle are among them.
_GRID = {1: 11, 2: 5, 3: 3}
_NODES = {1: 5, 2: 3, 3: 2}
_MANY = 64  # candidates where a grid would have too many


class Actions(NamedTuple):
    """`candidates` are what argmax chooses from; `nodes` integrate over a uniform action."""

    candidates: np.ndarray
    nodes: np.ndarray
    node_weights: np.ndarray
    discrete: bool
    low: np.ndarray
    high: np.ndarray

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
        eye = np.eye(int(space.n))
        return Actions(eye, eye, np.full(len(eye), 1 / len(eye)), True, np.zeros(1), np.ones(1))
    if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1:
        raise InputError(f"action space is {space}: expected a Box of one axis, or Discrete")
    if not (np.all(np.isfinite(space.low)) and np.all(np.isfinite(space.high))):
        raise InputError(f"action space is {space}: expected finite bounds; wrap it in RescaleAction")
    dim = space.shape[0]
    nodes, weights = _quadrature(dim)
    return Actions(_candidates(dim), nodes, weights, False, space.low.astype(float), space.high.astype(float))


def to_unit(actions: Actions, action: Any) -> np.ndarray:
    """An environment's action, or an array of them, as the vectors that features see."""
    if actions.discrete:
        return np.eye(actions.dim)[np.asarray(action, dtype=int)]
    width = np.where(actions.high > actions.low, actions.high - actions.low, 1.0)
    return (np.asarray(action, dtype=float) - actions.low) / width


def from_unit(actions: Actions, unit: np.ndarray) -> np.ndarray:
    """Vectors in [0, 1] as actions of the environment's box."""
    return actions.low + unit * (actions.high - actions.low)


def from_index(actions: Actions, index: int, dtype: Any) -> Any:
    """Candidate number `index` as the environment's action."""
    if actions.discrete:
        return index
    return from_unit(actions, actions.candidates[index]).astype(dtype)


def _candidates(dim: int) -> np.ndarray:
    if dim in _GRID:
        return np.array(list(itertools.product(np.linspace(0, 1, _GRID[dim]), repeat=dim)))
    # Low-discrepancy points stretched onto the faces: extreme actions matter in control.
    inner = qmc.Sobol(dim, scramble=False).random(_MANY)
    return np.clip(1.2 * inner - 0.1, 0.0, 1.0)


def _quadrature(dim: int) -> tuple[np.ndarray, np.ndarray]:
    if dim not in _NODES:
        points = qmc.Halton(dim, scramble=False).random(17)[1:]
        return points, np.full(16, 1 / 16)
    x, w = np.polynomial.legendre.leggauss(_NODES[dim])
    nodes = np.array(list(itertools.product((x + 1) / 2, repeat=dim)))
    weights = np.array([np.prod(c) for c in itertools.product(w / 2, repeat=dim)])
    return nodes, weights
