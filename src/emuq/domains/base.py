"""What a domain is: pure functions `reset`, `step`, `observe`, with bounds and a horizon.

All functions are pure, follow the precision of their inputs, and work under `jit`, `scan` and `vmap`. A
random key is an argument of `reset` and of `step`; a deterministic domain ignores it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from emuq.errors import InputError

HORIZON = 500
REWARDS = ("goal", "classic")
Number = Any  # a number, or a traced one


class Step(NamedTuple):
    """The outcome of one step. `terminated`: at the goal or at a failure; `goal`: at the goal alone."""

    state: Any
    reward: jax.Array
    terminated: jax.Array
    goal: jax.Array


@dataclass(frozen=True)
class Domain:
    """A domain as data.

    `observation_low`, `observation_high` are the bounds to normalise with; `space_low`, `space_high` those
    that every observation obeys (the same ones where they are None). Continuous actions lie in
    [`action_low`, `action_high`]; discrete ones are 0 .. `num_actions` - 1. A tabular domain observes an
    index below `num_states`.

    Programs are compiled for a domain apart from its numbers: `family(**numbers)` is the same domain, also
    where the numbers are traced. The horizon is always one of them. With another `step`, a domain has no
    family.
    """

    name: str
    reset: Callable[[jax.Array], Any]
    step: Callable[[Any, jax.Array, jax.Array], Step]
    observe: Callable[[Any], jax.Array]
    observation_low: tuple[float, ...] = ()
    observation_high: tuple[float, ...] = ()
    space_low: tuple[float, ...] | None = None
    space_high: tuple[float, ...] | None = None
    action_low: tuple[float, ...] | None = None
    action_high: tuple[float, ...] | None = None
    num_actions: int | None = None
    num_states: int | None = None
    horizon: int = HORIZON
    family: Callable[..., Domain] | None = None
    numbers: tuple[tuple[str, float], ...] = ()

    def scaled(self, state: Any) -> jax.Array:
        """An observation with its bounds at 0 and 1."""
        low = jnp.asarray(self.observation_low)
        return (self.observe(state) - low) / (jnp.asarray(self.observation_high) - low)

    def apart(self) -> tuple[Form, dict[str, Any]]:
        """What a program is compiled for, and what it is given."""
        numbers = {name: np.asarray(value) for name, value in (*self.numbers, ("horizon", self.horizon))}
        return self.family or replace(self, horizon=HORIZON), numbers


Form = Domain | Callable[..., Domain]


def member(build: Callable[..., Domain], *words: str, **numbers: float) -> Domain:
    """`build(*words, **numbers)`: the words name a family of domains, the numbers a member of it."""
    family = _family(build, *words)
    return replace(family(**numbers), family=family, numbers=tuple(numbers.items()))


@cache
def _family(build: Callable[..., Domain], *words: str) -> Callable[..., Domain]:
    return partial(build, *words)  # the same object for the same words: programs are found by it


def together(form: Form, numbers: dict[str, Any]) -> Domain:
    """The domain that was taken `apart`; its numbers may be traced by now."""
    own = {name: value for name, value in numbers.items() if name != "horizon"}
    domain = form if isinstance(form, Domain) else form(**own)
    return replace(domain, horizon=numbers["horizon"])


def episode_keys(seed: int | jax.Array) -> tuple[jax.Array, jax.Array]:
    """The keys of the episode that `reset(seed=seed)` starts: one for `reset`, and the stream for the steps.

    The Gymnasium adapter and a compiled loop that both use these see the same episode.
    """
    reset, steps = jax.random.split(jax.random.key(seed))
    return reset, steps


def step_key(steps: jax.Array, t: jax.Array | int) -> jax.Array:
    """The key of step t = 0, 1, ... of an episode."""
    return jax.random.fold_in(steps, t)


def outcome(
    state: Any,
    goal: jax.Array,
    failure: jax.Array | bool,
    classic: jax.Array | float,
    reward: str,
    dtype: Any,
) -> Step:
    """+1 at the goal, -1 at a failure, 0 elsewhere; or the classic reward. Both end the episode alike.

    A failure wins over a goal in the same step: driving off the track is no success, whatever the pole does.
    """
    goal = goal & jnp.logical_not(failure)
    terminated = goal | failure
    value = jnp.where(goal, 1.0, jnp.where(failure, -1.0, 0.0)) if reward == "goal" else classic
    return Step(state, jnp.asarray(value, dtype), terminated, goal)


def choice(what: str, value: Any, allowed: Sequence[Any]) -> Any:
    """`value` itself, or an error that lists what is allowed."""
    if value not in allowed:
        raise InputError(f"{what} is {value!r}: expected {' or '.join(repr(a) for a in allowed)}")
    return value


def probability(what: str, value: float) -> float:
    """`value` itself, or an error: a probability lies in [0, 1]."""
    if not 0 <= value <= 1:
        raise InputError(f"{what} is {value!r}: expected a probability in [0, 1]")
    return float(value)
