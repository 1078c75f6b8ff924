"""The controllers of kappa that come with emuq."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from emuq.errors import InputError
from emuq.kappa.protocol import Controller, Outcome, check_weight, check_whole, is_number

# States have fixed dtypes, whatever JAX's switch for double precision says: a checkpoint written by one
# program must fit another.


def _count(state: jax.Array) -> jax.Array:
    return jnp.asarray(state, jnp.int32) + jnp.int32(1)


def _switch(exploring: jax.Array, kappa: float) -> jax.Array:
    return jnp.where(exploring, jnp.float32(kappa), jnp.float32(0.0))


class _Untested:
    """A controller that asks for no test episodes."""

    @property
    def test_episodes(self) -> int:
        return 0


class _Counting(_Untested):
    """A controller whose state is the number of episodes done."""

    def init(self) -> jax.Array:
        return jnp.int32(0)

    def update(self, state: jax.Array, outcome: Outcome) -> jax.Array:
        return _count(state)


@dataclass(frozen=True)
class Constant(_Untested):
    """kappa, always.

    Args:
        kappa: The weight of exploration.

    Examples:
        >>> emuq.kappa.Constant(0.5).value(())
        0.5
    """

    kappa: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.kappa)

    def init(self) -> tuple[()]:
        return ()

    def value(self, state: tuple[()]) -> float:
        return self.kappa  # a Python number, so that `agent.kappa = 0.1` reads back as 0.1

    def update(self, state: tuple[()], outcome: Outcome) -> tuple[()]:
        return state


@dataclass(frozen=True)
class Decay(_Counting):
    """kappa / (1 + c t), with t the number of episodes done.

    Args:
        c: How fast it falls: it is halved after 1 / c episodes.
        kappa: The weight of exploration in the first episode.

    Examples:
        >>> controller = emuq.kappa.Decay(c=1)
        >>> [round(float(controller.value(episode)), 2) for episode in range(3)]
        [1.0, 0.5, 0.33]
    """

    c: float
    kappa: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.kappa)
        if not (is_number(self.c) and 0 <= self.c < math.inf):
            raise InputError(f"c is {self.c!r}: expected a finite number from 0")

    def value(self, state: jax.Array) -> jax.Array:
        return jnp.float32(self.kappa) / (
            jnp.float32(1.0) + jnp.float32(self.c) * jnp.asarray(state, jnp.float32)
        )


@dataclass(frozen=True)
class Budget(_Counting):
    """kappa for the first `episodes` episodes, then 0.

    Args:
        episodes: How many episodes explore.
        kappa: The weight of exploration while it explores.

    Examples:
        >>> controller = emuq.kappa.Budget(episodes=2)
        >>> [float(controller.value(episode)) for episode in range(4)]
        [1.0, 1.0, 0.0, 0.0]
    """

    episodes: int
    kappa: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.kappa)
        check_whole("episodes", self.episodes, 0)

    def value(self, state: jax.Array) -> jax.Array:
        return _switch(state < self.episodes, self.kappa)


@dataclass(frozen=True)
class StopResume(_Counting):
    """kappa for `stop` episodes, 0 until `resume` episodes are done, then kappa again.

    Args:
        stop: Exploration stops after so many episodes ...
        resume: ... and begins again after so many.
        kappa: The weight of exploration while it explores.

    Examples:
        >>> controller = emuq.kappa.StopResume(stop=1, resume=3)
        >>> [float(controller.value(episode)) for episode in range(4)]
        [1.0, 0.0, 0.0, 1.0]
    """

    stop: int
    resume: int
    kappa: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.kappa)
        check_whole("stop", self.stop, 0)
        check_whole("resume", self.resume, self.stop)

    def value(self, state: jax.Array) -> jax.Array:
        return _switch((state < self.stop) | (state >= self.resume), self.kappa)


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
        return _switch(jnp.logical_not(state.reached), self.kappa)

    def update(self, state: TargetState, outcome: Outcome) -> TargetState:
        if outcome.test_returns is None:
            raise InputError(
                f"Target needs {self.consecutive} test returns an episode: Outcome(test_returns=...)"
            )
        returns = jnp.asarray(outcome.test_returns)
        met = jnp.all(returns > self.test_return)
        return TargetState(
            state.reached | met, jnp.where(state.reached, state.episodes, _count(state.episodes))
        )


class UntilGoalState(NamedTuple):
    exploring: jax.Array  # bool
    misses: jax.Array  # int32: episodes in a row without the goal


@dataclass(frozen=True)
class UntilGoal(_Untested):
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
        return _switch(state.exploring, self.kappa)

    def update(self, state: UntilGoalState, outcome: Outcome) -> UntilGoalState:
        goal = jnp.asarray(outcome.goal, jnp.bool_)
        misses = jnp.where(goal, jnp.int32(0), _count(state.misses))
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
class Automatic(_Untested):
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
        total = jnp.asarray(outcome.total_return, state.first.dtype)
        goal = state.goal | jnp.asarray(outcome.goal, bool) | jnp.asarray(outcome.has_goal, bool)
        explored = state.until_goal.exploring
        first = jnp.where(jnp.isnan(state.first), total, state.first)
        varied = state.varied | (total != first)
        better = ~explored & (total > state.best)
        stale = jnp.where(explored | better, jnp.int32(0), _count(state.stale))
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


CONTROLLERS: dict[str, type] = {
    kind.__name__: kind for kind in (Constant, Decay, Budget, StopResume, Target, UntilGoal, Automatic)
}


def schedule(controller: Controller, episodes: int) -> jax.Array | None:
    """kappa of each episode, where the controller decides without hearing what happened; None where not."""
    if isinstance(controller, Constant):
        return jnp.full(episodes, controller.kappa, float)
    if getattr(type(controller), "update", None) is _Counting.update:
        return jnp.asarray(jax.vmap(controller.value)(jnp.arange(episodes, dtype=jnp.int32)), float)
    return None


def as_controller(kappa: float | Controller) -> Controller:
    """A number becomes `Constant`; a controller is taken as it is; anything else is an error."""
    if is_number(kappa):
        return Constant(float(kappa))  # type: ignore[arg-type]
    if isinstance(kappa, Controller) and not isinstance(kappa, type):
        return kappa
    raise InputError(
        f"kappa is {kappa!r}: expected a number from 0 or a controller such as emuq.kappa.Decay(c=0.1) "
        "(with init, value, update and test_episodes)"
    )
