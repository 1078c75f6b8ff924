"""Controllers of kappa that go by what happened: `Target` by tests, `UntilGoal` by goals, `Automatic` by both
goals and returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from emuq.errors import InputError
from emuq.kappa.protocol import Outcome, check_weight, check_whole, is_number
from emuq.kappa.schedules import Untested, counted, switch


class TargetState(NamedTuple):
    reached: jax.Array  # bool
    episodes: jax.Array  # int32: learning episodes it took, or has taken so far


@dataclass(frozen=True)
class Target:
    """kappa until every one of `consecutive` test episodes returns more than `test_return`, then 0.

    The tests are run at kappa = 0 after each learning episode, and are not learned from.

    Args:
        test_return: What each test has to exceed.
        consecutive: How many tests in a row have to.
        kappa: The weight of exploration while it explores.

    Examples:
        >>> target = emuq.kappa.Target(test_return=0.1, consecutive=2)
        >>> outcome = emuq.kappa.Outcome(total_return=0.0, goal=False, test_returns=[1.0, 0.2])
        >>> float(target.value(target.update(target.init(), outcome)))
        0.0
    """

    test_return: float
    consecutive: int = 5
    kappa: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.kappa)
        check_whole("consecutive", self.consecutive, 1)
        if not (is_number(self.test_return) and math.isfinite(self.test_return)):
            raise InputError(f"test_return is {self.test_return!r}: expected a finite number")

    @property
    def test_episodes(self) -> int:
        return self.consecutive

    def settled(self, test_return: jax.Array | float) -> jax.Array | bool:
        """One failed test is enough: the others need not be run."""
        return test_return <= self.test_return

    def init(self) -> TargetState:
        return TargetState(jnp.bool_(False), jnp.int32(0))

    def value(self, state: TargetState) -> jax.Array:
        return switch(jnp.logical_not(state.reached), self.kappa)

    def update(self, state: TargetState, outcome: Outcome) -> TargetState:
        if outcome.test_returns is None:
            raise InputError(
                f"Target needs {self.consecutive} test returns an episode: Outcome(test_returns=...)"
            )
        returns = jnp.asarray(outcome.test_returns)
        met = jnp.all(returns > self.test_return)
        return TargetState(
            state.reached | met, jnp.where(state.reached, state.episodes, counted(state.episodes))
        )


class UntilGoalState(NamedTuple):
    exploring: jax.Array  # bool
    misses: jax.Array  # int32: episodes in a row without the goal


@dataclass(frozen=True)
class UntilGoal(Untested):
    """kappa until an episode reaches the goal, then 0; kappa again after `patience` misses in a row.

    Args:
        patience: It explores again after so many episodes in a row without the goal.
        kappa: The weight of exploration while it explores.

    Examples:
        >>> until = emuq.kappa.UntilGoal()
        >>> found = until.update(until.init(), emuq.kappa.Outcome(total_return=1.0, goal=True))
        >>> float(until.value(until.init())), float(until.value(found))
        (1.0, 0.0)
    """

    patience: int = 5
    kappa: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.kappa)
        check_whole("patience", self.patience, 1)

    def init(self) -> UntilGoalState:
        return UntilGoalState(jnp.bool_(True), jnp.int32(0))

    def value(self, state: UntilGoalState) -> jax.Array:
        return switch(state.exploring, self.kappa)

    def update(self, state: UntilGoalState, outcome: Outcome) -> UntilGoalState:
        goal = jnp.asarray(outcome.goal, jnp.bool_)
        misses = jnp.where(goal, jnp.int32(0), counted(state.misses))
        return UntilGoalState(~goal & (state.exploring | (misses >= self.patience)), misses)


class AutomaticState(NamedTuple):
    until_goal: UntilGoalState
    goal: jax.Array  # bool: there is a goal, by what the environment says or by what was reached
    first: jax.Array  # the first episode's return, NaN before it
    varied: jax.Array  # bool: another episode's return was another one
    best: jax.Array  # the best return of an exploiting episode
    stale: jax.Array  # int32: exploiting episodes since then
    wait: jax.Array  # int32: how many of these it takes to explore again


@dataclass(frozen=True)
class Automatic(Untested):
    """kappa until there is something to exploit, then 0 as long as that improves.

    Where there is a goal, as `UntilGoal`. Elsewhere there is something to exploit once two episodes had
    different returns. When `patience` exploiting episodes in a row brought no better return, one episode
    explores; after that it takes twice as many, since what was explored before is known.

    Args:
        patience: It explores again after so many episodes in a row without the goal, or without a better
            return.
        kappa: The weight of exploration while it explores.

    Examples:
        >>> automatic = emuq.kappa.Automatic()
        >>> state = automatic.init()
        >>> for total in (-3.0, -2.0):                             # two returns that differ, and no goal
        ...     outcome = emuq.kappa.Outcome(total_return=total, goal=False, has_goal=False)
        ...     state = automatic.update(state, outcome)
        >>> float(automatic.value(state))
        0.0
    """

    patience: int = 5
    kappa: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.kappa)
        check_whole("patience", self.patience, 1)

    @property
    def _until_goal(self) -> UntilGoal:
        return UntilGoal(self.patience, self.kappa)

    def init(self) -> AutomaticState:
        no, none = jnp.bool_(False), jnp.int32(0)
        return AutomaticState(
            self._until_goal.init(),
            no,
            jnp.float32(jnp.nan),
            no,
            jnp.float32(-jnp.inf),
            none,
            none + self.patience,
        )

    def value(self, state: AutomaticState) -> jax.Array:
        return self._until_goal.value(state.until_goal)

    def update(self, state: AutomaticState, outcome: Outcome) -> AutomaticState:
        return _automatic(self, state, outcome)


@partial(jax.jit, static_argnums=0)  # between two episodes of a machine: one call instead of twenty
def _automatic(self: Automatic, state: AutomaticState, outcome: Outcome) -> AutomaticState:
    total = jnp.asarray(outcome.total_return, state.first.dtype)
    goal = state.goal | jnp.asarray(outcome.goal, bool) | jnp.asarray(outcome.has_goal, bool)
    explored = state.until_goal.exploring
    first = jnp.where(jnp.isnan(state.first), total, state.first)
    varied = state.varied | (total != first)
    better = ~explored & (total > state.best)
    stale = jnp.where(explored | better, jnp.int32(0), counted(state.stale))
    again = stale >= state.wait
    by_goal = self._until_goal.update(state.until_goal, outcome)
    by_return = UntilGoalState(jnp.where(explored, ~varied, again), by_goal.misses)
    return AutomaticState(
        UntilGoalState(jnp.where(goal, by_goal.exploring, by_return.exploring), by_goal.misses),
        goal,
        first,
        varied,
        jnp.where(better, total, state.best),
        jnp.where(again, jnp.int32(0), stale),
        jnp.where(again, 2 * state.wait, state.wait).astype(jnp.int32),
    )
