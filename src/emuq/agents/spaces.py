"""An environment's spaces as an agent sees them: states scaled to [0, 1], actions as vectors in [0, 1].

    state = (observation - low) / width,        action = low + unit * (high - low)

An action is chosen among `candidates` and averaged over by `nodes`; a discrete one is a one-hot vector.
"""

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


class Spaces(NamedTuple):
    """An agent may be made from spaces alone, without an environment."""

    observation_space: gym.Space
    action_space: gym.Space
    normalisation: tuple[Any, Any] | None = None  # bounds to scale observations by, where not the space's


def spaces_of(env: gym.Env | Spaces) -> Spaces:
    """What an agent needs to know of an environment."""
    inner = env.unwrapped if isinstance(env, gym.Env) else env
    return Spaces(env.observation_space, env.action_space, getattr(inner, "normalisation", None))


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
        bounds = spaces_of(env).normalisation
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
