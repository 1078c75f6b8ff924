"""What an agent is made for, an environment or its spaces, and how its observations are scaled to [0, 1].

    state = (observation - low) / width

Observations of any space become vectors in `flatten`, actions in `actions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym
import numpy as np

from emuq.agents.copies import Copies
from emuq.agents.flatten import Flat
from emuq.errors import InputError, quoted

if TYPE_CHECKING:
    from emuq.agents.policy import Policy

# Wider bounds of a space are there for want of better ones: the largest float, the largest integer.
_WIDEST = 1e6


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


def environment(policy: Policy, env: gym.Env | str | None) -> gym.Env:
    """The one that a call is given, or the policy's own."""
    found = policy.env if env is None else as_env(env)
    if found is None and policy._copies is not None:
        raise InputError("the agent learns in copies that step together: pass env=..., a single one")
    if not isinstance(found, gym.Env):
        raise InputError("the agent was made from spaces alone: pass env=... to learn or evaluate")
    return found


def learning_environment(policy: Policy, env: Any) -> gym.Env | Copies:
    """The same for learning, which copies of an environment may be given to."""
    given = policy._copies if env is None else env
    found = None if given is None else as_env(given, copies=policy.takes_copies)
    return found if isinstance(found, Copies) else environment(policy, env)


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
