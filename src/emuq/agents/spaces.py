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

from emuq.errors import InputError, quoted

# Candidates along each dimension of a box: odd, so that both ends and the middle are among them.
_GRID = {1: 11, 2: 5, 3: 3}
_NODES = {1: 5, 2: 3, 3: 2}
_MANY = 64  # candidates where a grid would have too many
# Where there are more actuators than candidates, most of them never move apart from others.
_LARGEST_BOX = _MANY
_LARGEST_DISCRETE = 4096  # each of n actions is a vector of n numbers
# Wider bounds of a space are there for want of better ones: the largest float, the largest integer.
_WIDEST = 1e9


class Spaces(NamedTuple):
    """An agent may be made from spaces alone, without an environment."""

    observation_space: gym.Space
    action_space: gym.Space
    normalisation: tuple[Any, Any] | None = None  # bounds to scale observations by, where not the space's


def spaces_of(env: gym.Env | Spaces) -> Spaces:
    """What an agent needs to know of an environment."""
    inner = env.unwrapped if isinstance(env, gym.Env) else env
    return Spaces(env.observation_space, env.action_space, getattr(inner, "normalisation", None))


EnvLike = gym.Env | Spaces | str  # what an agent is made for: an environment, its spaces, or its id


def as_env(given: Any) -> gym.Env | Spaces:
    """An environment, its id, or spaces; an error for anything else."""
    if isinstance(given, str):
        try:
            return gym.make(given)
        except gym.error.Error as error:
            raise InputError(f"env is {given!r}: {error}") from None
    if isinstance(given, gym.Env):
        return given
    if hasattr(given, "num_envs"):
        raise InputError(
            f"env is {quoted(given)}, a vector of environments: expected a single one; "
            'pass one of them, such as gym.make("CartPole-v1")'
        )
    if not (hasattr(given, "observation_space") and hasattr(given, "action_space")):
        raise InputError(
            f"env is {quoted(given)}: expected a Gymnasium environment, its id, or "
            "emuq.agents.spaces.Spaces(observation_space, action_space)"
        )
    return given


class Actions(NamedTuple):
    """`candidates` are what argmax chooses from; `nodes` integrate over a uniform action."""

    candidates: np.ndarray
    nodes: np.ndarray
    node_weights: np.ndarray
    discrete: bool
    low: np.ndarray
    high: np.ndarray
    start: int = 0  # the first of discrete actions

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
    if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1:
        raise InputError(f"action space is {space}: expected a Box of one axis, or Discrete")
    low, high = space.low.astype(float), space.high.astype(float)
    with np.errstate(over="ignore"):
        width = high - low
    if not np.all(np.isfinite(width)):
        raise InputError(f"action space is {space}: expected finite bounds; wrap it in RescaleAction")
    dim = space.shape[0]
    if not 1 <= dim <= _LARGEST_BOX:
        raise InputError(f"action space has {dim:,} dimensions: expected from 1 to {_LARGEST_BOX}")
    nodes, weights = _quadrature(dim)
    actions = Actions(_candidates(dim), nodes, weights, False, low, high)
    return _whole(actions) if np.issubdtype(space.dtype, np.integer) else actions


def _whole(actions: Actions) -> Actions:
    """Candidates among whole numbers alone: one between them would be chosen for what it never does."""
    candidates = np.unique(to_unit(actions, np.rint(from_unit(actions, actions.candidates))), axis=0)
    return actions._replace(candidates=candidates)


def to_unit(actions: Actions, action: Any) -> np.ndarray:
    """An environment's action, or an array of them, as the vectors that features see."""
    if actions.discrete:
        return actions.candidates[np.asarray(action, dtype=int) - actions.start]
    width = np.where(actions.high > actions.low, actions.high - actions.low, 1.0)
    return (np.asarray(action, dtype=float) - actions.low) / width


def from_unit(actions: Actions, unit: np.ndarray) -> np.ndarray:
    """Vectors in [0, 1] as actions of the environment's box."""
    return actions.low + unit * (actions.high - actions.low)


def from_index(actions: Actions, index: int, dtype: Any) -> Any:
    """Candidate number `index` as the environment's action, of the type that its space samples."""
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
    given = bounds is not None
    if bounds is None:
        bounds = spaces_of(env).normalisation
    if bounds is None:
        bounds = (space.low, space.high)
    dim = space.shape[0]
    low, high = _pair(bounds)
    if not all(bound.shape in ((), (1,), (dim,)) for bound in (low, high)):
        raise InputError(_expected(bounds, f"{dim} of them"))
    low, high = (np.broadcast_to(bound, (dim,)) for bound in (low, high))
    with np.errstate(over="ignore", invalid="ignore"):
        width = high - low
    bounded = np.isfinite(width) & (given | (width <= _WIDEST))
    if not bounded.all():
        first = np.flatnonzero(~bounded)[0]
        raise InputError(
            f"observation dimension {first} has no finite bounds (of use): [{low[first]:g}, {high[first]:g}] "
            f"in {space}; pass observation_bounds=(low, high)"
        )
    if np.any(high < low):
        raise InputError(
            f"observation_bounds has high below low in dimension {np.flatnonzero(high < low)[0]}"
        )
    return Scaling(low.copy(), np.where(high > low, width, 1.0))


def plain(bounds: tuple[Any, Any] | None) -> list | None:
    """Bounds as lists of numbers, for a file."""
    return None if bounds is None else [bound.tolist() for bound in _pair(bounds)]


def _pair(bounds: Any) -> tuple[np.ndarray, np.ndarray]:
    """(low, high), each an array of numbers."""
    try:
        low, high = (np.asarray(bound) for bound in bounds)
    except (ValueError, TypeError):
        raise InputError(_expected(bounds, "one for each dimension")) from None
    if low.dtype.kind not in "fiub" or high.dtype.kind not in "fiub":
        raise InputError(_expected(bounds, "one for each dimension"))
    return low.astype(float), high.astype(float)


def _expected(bounds: Any, number: str) -> str:
    return f"observation_bounds is {quoted(bounds)}: expected (low, high), each one number or {number}"
