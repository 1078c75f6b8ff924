"""An environment's spaces as an agent sees them: states scaled to [0, 1], actions as vectors in [0, 1].

    state = (observation - low) / width,        action = low + unit * (high - low)

An action is chosen among `candidates` and averaged over by `nodes`; a discrete one is a one-hot vector,
several discrete numbers are one-hot vectors side by side. Observations of any space become vectors in
`flatten`.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from scipy.stats import qmc

from emuq.agents.copies import Copies
from emuq.agents.flatten import Flat
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
# Wider bounds of a space are there for want of better ones: the largest float, the largest integer.
_WIDEST = 1e6
_WIDEST_ACTION = 1e15  # beyond, low + (high - low) is not high any more


class Spaces(NamedTuple):
    """An agent may be made from spaces alone, without an environment."""

    observation_space: gym.Space
    action_space: gym.Space
    normalisation: tuple[Any, Any] | None = None  # bounds to scale observations by, where not the space's


def spaces_of(env: gym.Env | Spaces | Copies) -> Spaces:
    """What an agent needs to know of an environment."""
    inner = env.unwrapped if isinstance(env, gym.Env) else env
    return Spaces(env.observation_space, env.action_space, getattr(inner, "normalisation", None))


# What an agent is made for: an environment, its spaces, its id, or (EMUQ alone) copies that step together.
EnvLike = gym.Env | Spaces | str | gym.vector.VectorEnv | Copies


def as_env(given: Any, *, copies: bool = False) -> gym.Env | Spaces | Copies:
    """An environment, its id, spaces, or where they are wanted copies; an error for anything else."""
    if isinstance(given, str):
        try:
            return gym.make(given)
        except gym.error.Error as error:
            raise InputError(f"env is {given!r}: {error}") from None
    if isinstance(given, gym.Env):
        return given
    if copies and isinstance(given, gym.vector.VectorEnv):
        return Copies(given)
    if (isinstance(given, Copies) and not copies) or hasattr(given, "num_envs"):
        raise InputError(
            f"env is {quoted(given)}, a vector of environments: expected a single one; "
            'pass one of them, such as gym.make("CartPole-v1"), or have emuq.EMUQ learn'
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


class Scaling(NamedTuple):
    """x -> (x - low) / width. What is outside the bounds goes outside [0, 1], unless it is clipped."""

    low: np.ndarray
    width: np.ndarray
    clip: bool = False
    learned: np.ndarray | None = None  # where there are no bounds of use; None: there are everywhere
    known: tuple[np.ndarray, np.ndarray] | None = None  # there, a side that is bounded; infinite: it is not

    @property
    def dim(self) -> int:
        return len(self.low)

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        scaled = (observation - self.low) / self.width
        return np.clip(scaled, 0.0, 1.0) if self.clip else scaled

    def inverse(self, scaled: np.ndarray) -> np.ndarray:
        return self.low + scaled * self.width


def scaling_of(env: gym.Env | Spaces | Copies, bounds: tuple[Any, Any] | None) -> Scaling:
    """From `bounds`, or the environment's `normalisation`, or its observation space: of a Box of one axis."""
    space = env.observation_space
    if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1:
        raise InputError(
            f"observation space is {space}: expected a Box of one axis; flatten it with a wrapper"
        )
    low, high, bounded = _bounds(env, bounds, space.low, space.high)
    if not bounded.all():
        first = np.flatnonzero(~bounded)[0]
        raise InputError(
            f"observation dimension {first} has no finite bounds (of use): [{low[first]:g}, {high[first]:g}] "
            f"in {space}; pass observation_bounds=(low, high)"
        )
    return Scaling(low.copy(), np.where(high > low, high - low, 1.0))


def flat_scaling_of(env: gym.Env | Spaces | Copies, bounds: tuple[Any, Any] | None, flat: Flat) -> Scaling:
    """The same for the vectors of `flat`; where bounds are missing, they are learned.

    Until then they are 2 apart: [-1, 1], or at the one side that is bounded.
    """
    low, high, bounded = _bounds(env, bounds, flat.low, flat.high)
    lower, upper = (np.abs(side) <= _WIDEST for side in (low, high))
    least, most = np.where(lower & ~upper, low, -np.inf), np.where(upper & ~lower, high, np.inf)
    low = np.where(bounded, low, np.where(np.isfinite(least), least, np.where(most < np.inf, most - 2, -1.0)))
    high = np.where(bounded, high, np.where(np.isfinite(most), most, low + 2))
    if flat.angles:  # a cosine and a sine are bounded, whatever the angle is

        def turned(vector: np.ndarray, end: float) -> np.ndarray:
            return flat.turned(vector, lambda _: end, lambda _: end)

        low, high, bounded = turned(low, -1.0), turned(high, 1.0), turned(bounded.astype(float), 1.0) == 1
        least, most = turned(least, -1.0), turned(most, 1.0)
    width = np.where(high > low, high - low, 1.0)
    if bounded.all():
        return Scaling(low.copy(), width)
    return Scaling(low.copy(), width, learned=~bounded, known=(least, most))


def _bounds(
    env: gym.Env | Spaces | Copies,
    bounds: tuple[Any, Any] | None,
    space_low: np.ndarray,
    space_high: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bounds as they are given, or the environment's, or its space's, and where they are of use."""
    given = bounds is not None
    if bounds is None:
        bounds = spaces_of(env).normalisation
    if bounds is None:
        bounds = (space_low, space_high)
    dim = len(space_low)
    low, high = _pair(bounds)
    if not all(bound.shape in ((), (1,), (dim,)) for bound in (low, high)):
        raise InputError(_expected(bounds, f"{dim} of them"))
    low, high = (np.broadcast_to(bound, (dim,)) for bound in (low, high))
    with np.errstate(over="ignore", invalid="ignore"):
        width = high - low
    bounded = np.isfinite(width) & (given | (width <= _WIDEST))
    if np.any(bounded & (high < low)):
        raise InputError(
            f"observation_bounds has high below low in dimension {np.flatnonzero(high < low)[0]}"
        )
    return low, high, bounded


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
