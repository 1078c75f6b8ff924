"""Exploration rewards R^e as parts one passes in (Section 3.3), over a table of visits.

A part is a frozen value with `initial`, the optimistic first entry of U, and a pure
`reward(visits, state, action, next_state, terminated)`; `visits` already counts this transition. Rewards lie
in [-1, 0] and fall with visits, so that U = 0, the most that any future could bring, is optimistic.

One of one's own needs those two names:

    @dataclass(frozen=True)
    class Impatience:
        initial = 0.0
        def reward(self, visits, state, action, next_state, terminated): return -1.0
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from emuq.errors import InputError


@runtime_checkable
class ExplorationReward(Protocol):
    """What a transition is worth to exploration alone.

    Examples:
        >>> isinstance(emuq.exploration.FirstVisit(), emuq.exploration.ExplorationReward)
        True
    """

    @property
    def initial(self) -> float:
        """U(s, a) before any visit: at least what every sequence of rewards can add up to."""
        ...

    def reward(
        self,
        visits: jax.Array,
        state: jax.Array,
        action: Any,
        next_state: jax.Array,
        terminated: Any,
    ) -> jax.Array | float: ...


@dataclass(frozen=True)
class FirstVisit:
    """0 the first time that a pair (s, a) is tried, -1 after: the bonus of Section 4.

    Args:
        initial: U(s, a) before any visit.

    Examples:
        >>> agent = emuq.ExplorationValues(env, exploration=emuq.exploration.FirstVisit())
        >>> agent = emuq.ExplorationValues(env, exploration="first-visit")       # the same
    """

    initial: float = 0.0

    def reward(self, visits, state, action, next_state, terminated) -> jax.Array:
        return jnp.where(visits[state, action] > 1, -1.0, 0.0)


@dataclass(frozen=True)
class CountBonus:
    """1 / sqrt(n(s, a)) - 1: the count-based bonus, moved into [-1, 0]. With discount 0 it is UCB's.

    Args:
        initial: U(s, a) before any visit.

    Examples:
        >>> agent = emuq.ExplorationValues(env, exploration=emuq.exploration.CountBonus())
        >>> agent = emuq.ExplorationValues(env, exploration="count")       # the same
    """

    initial: float = 0.0

    def reward(self, visits, state, action, next_state, terminated) -> jax.Array:
        return 1.0 / jnp.sqrt(jnp.maximum(visits[state, action], 1)) - 1.0


@dataclass(frozen=True)
class EValues:
    """0, always, with U = 1 at first: DORA's E-values, which shrink towards 0 as a pair is visited.

    With discount 0 and rate a, U(s, a) = (1 - a)^n(s, a): log U counts visits.

    Args:
        initial: U(s, a) before any visit.

    Examples:
        >>> agent = emuq.ExplorationValues(env, exploration=emuq.exploration.EValues())
        >>> agent = emuq.ExplorationValues(env, exploration="e-values")       # the same
    """

    initial: float = 1.0

    def reward(self, visits, state, action, next_state, terminated) -> jax.Array:
        return jnp.zeros(())


@dataclass(frozen=True)
class NextStateUncertainty:
    """E_{a' uniform} [sigma(s', a')] - 1 with sigma = 1 / sqrt(1 + n(s', a')) (eq. 12, moved into [-1, 0]).

    No action is ever taken in a terminal state, whose visits would stay 0 and its lure for ever whole; there
    the uncertainty of the pair that led to it stands in.

    Args:
        initial: U(s, a) before any visit.

    Examples:
        >>> agent = emuq.ExplorationValues(env, exploration=emuq.exploration.NextStateUncertainty())
        >>> agent = emuq.ExplorationValues(env, exploration="next-state")       # the same
    """

    initial: float = 0.0

    def reward(self, visits, state, action, next_state, terminated) -> jax.Array:
        ahead = jnp.mean(1.0 / jnp.sqrt(1.0 + visits[next_state]))
        behind = 1.0 / jnp.sqrt(1.0 + visits[state, action])
        return jnp.where(terminated, behind, ahead) - 1.0


REWARDS: dict[str, type] = {
    "first-visit": FirstVisit,
    "count": CountBonus,
    "e-values": EValues,
    "next-state": NextStateUncertainty,
}


def as_reward(given: Any) -> ExplorationReward:
    """A part is taken as it is; a name ("count") or a description from `to_json` becomes one of ours."""
    if isinstance(given, ExplorationReward) and not isinstance(given, type):
        return given
    name, fields = (given["class"], given["fields"]) if isinstance(given, dict) else (given, {})
    if isinstance(name, str) and name in REWARDS:
        return REWARDS[name](**fields)
    raise InputError(
        f"exploration is {name!r}: expected one of {', '.join(REWARDS)}, or an object with `initial` and "
        "`reward` (pass yours to load, too: load(path, env, exploration=...))"
    )


def to_json(reward: ExplorationReward) -> dict[str, Any]:
    """`{"class": "count", "fields": {}}`; someone else's goes by its module and name."""
    kind = type(reward)
    own = next((name for name, ours in REWARDS.items() if ours is kind), None)
    fields = dataclasses.fields(reward) if dataclasses.is_dataclass(reward) else ()
    values = {field.name: getattr(reward, field.name) for field in fields}
    if own is None:  # never rebuilt from a file, so that a description is enough
        return {
            "class": f"{kind.__module__}.{kind.__qualname__}",
            "fields": {k: repr(v) for k, v in values.items()},
        }
    return {"class": own, "fields": values}
