"""Who sets kappa, and when: Q + kappa U, with kappa a function of what has happened (Section 4).

A controller is a frozen value with pure methods over a small state, so that one implementation serves
Gymnasium loops, compiled loops and vmapped seeds, and its state is saved with the agent's.
`kappa = 1` is the natural scale everywhere: exploration rewards lie in [-1, 0] for every agent here.

A controller of one's own is three methods and a number of test episodes:

    @dataclass(frozen=True)
    class Halve:
        test_episodes = 0
        def init(self): return jnp.float32(1.0)
        def value(self, state): return state
        def update(self, state, outcome): return jnp.where(outcome.goal, state / 2, state)
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from emuq.errors import InputError


class Outcome(NamedTuple):
    """What a controller learns when a learning episode ends."""

    total_return: jax.Array | float
    goal: jax.Array | bool
    test_returns: Any = None  # kappa = 0 test episodes, for controllers that ask for them


@runtime_checkable
class Controller(Protocol):
    """`value(state)` is kappa for the next episode; `update` is called once after each episode."""

    @property
    def test_episodes(self) -> int:
        """How many kappa = 0 test episodes (not learned from) to run after each learning episode.

        They are not run while kappa is 0, when a learning episode tells as much, nor after a return for
        which an optional `settled(test_return)` is true; their returns are NaN then.
        """
        ...

    def init(self) -> Any: ...
    def value(self, state: Any) -> jax.Array | float: ...
    def update(self, state: Any, outcome: Outcome) -> Any: ...


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


@dataclass(frozen=True)
class Constant(_Untested):
    """kappa, always."""

    kappa: float = 1.0

    def __post_init__(self) -> None:
        _weight(self.kappa)

    def init(self) -> tuple[()]:
        return ()

    def value(self, state: tuple[()]) -> float:
        return self.kappa  # a Python number, so that `agent.kappa = 0.1` reads back as 0.1

    def update(self, state: tuple[()], outcome: Outcome) -> tuple[()]:
        return state


@dataclass(frozen=True)
class Decay(_Untested):
    """kappa / (1 + c t), with t the number of episodes done."""

    c: float
    kappa: float = 1.0

    def __post_init__(self) -> None:
        _weight(self.kappa)
        if not (_is_number(self.c) and 0 <= self.c < math.inf):
            raise InputError(f"c is {self.c!r}: expected a finite number from 0")

    def init(self) -> jax.Array:
        return jnp.int32(0)

    def value(self, state: jax.Array) -> jax.Array:
        return jnp.float32(self.kappa) / (
            jnp.float32(1.0) + jnp.float32(self.c) * jnp.asarray(state, jnp.float32)
        )

    def update(self, state: jax.Array, outcome: Outcome) -> jax.Array:
        return _count(state)


@dataclass(frozen=True)
class Budget(_Untested):
    """kappa for the first `episodes` episodes, then 0."""

    episodes: int
    kappa: float = 1.0

    def __post_init__(self) -> None:
        _weight(self.kappa)
        _whole("episodes", self.episodes, 0)

    def init(self) -> jax.Array:
        return jnp.int32(0)

    def value(self, state: jax.Array) -> jax.Array:
        return _switch(state < self.episodes, self.kappa)

    def update(self, state: jax.Array, outcome: Outcome) -> jax.Array:
        return _count(state)


@dataclass(frozen=True)
class StopResume(_Untested):
    """kappa for `stop` episodes, 0 until `resume` episodes are done, then kappa again."""

    stop: int
    resume: int
    kappa: float = 1.0

    def __post_init__(self) -> None:
        _weight(self.kappa)
        _whole("stop", self.stop, 0)
        _whole("resume", self.resume, self.stop)

    def init(self) -> jax.Array:
        return jnp.int32(0)

    def value(self, state: jax.Array) -> jax.Array:
        return _switch((state < self.stop) | (state >= self.resume), self.kappa)

    def update(self, state: jax.Array, outcome: Outcome) -> jax.Array:
        return _count(state)


class TargetState(NamedTuple):
    reached: jax.Array  # bool
    episodes: jax.Array  # int32: learning episodes it took, or has taken so far


@dataclass(frozen=True)
class Target:
    """kappa until every one of `consecutive` test episodes returns more than `test_return`, then 0.

    The tests are run at kappa = 0 after each learning episode, and are not learned from.
    """

    test_return: float
    consecutive: int = 5
    kappa: float = 1.0

    def __post_init__(self) -> None:
        _weight(self.kappa)
        _whole("consecutive", self.consecutive, 1)
        if not (_is_number(self.test_return) and math.isfinite(self.test_return)):
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
    """kappa until an episode reaches the goal, then 0; kappa again after `patience` misses in a row."""

    patience: int = 5
    kappa: float = 1.0

    def __post_init__(self) -> None:
        _weight(self.kappa)
        _whole("patience", self.patience, 1)

    def init(self) -> UntilGoalState:
        return UntilGoalState(jnp.bool_(True), jnp.int32(0))

    def value(self, state: UntilGoalState) -> jax.Array:
        return _switch(state.exploring, self.kappa)

    def update(self, state: UntilGoalState, outcome: Outcome) -> UntilGoalState:
        goal = jnp.asarray(outcome.goal, jnp.bool_)
        misses = jnp.where(goal, jnp.int32(0), _count(state.misses))
        return UntilGoalState(~goal & (state.exploring | (misses >= self.patience)), misses)


CONTROLLERS: dict[str, type] = {
    kind.__name__: kind for kind in (Constant, Decay, Budget, StopResume, Target, UntilGoal)
}


def as_controller(kappa: float | Controller) -> Controller:
    """A number becomes `Constant`; a controller is taken as it is; anything else is an error."""
    if _is_number(kappa):
        return Constant(float(kappa))  # type: ignore[arg-type]
    if isinstance(kappa, Controller) and not isinstance(kappa, type):
        return kappa
    raise InputError(
        f"kappa is {kappa!r}: expected a number from 0 or a controller such as emuq.kappa.Decay(c=0.1) "
        "(with init, value, update and test_episodes)"
    )


def settles(controller: Controller, test_return: jax.Array | float) -> jax.Array | bool:
    """Whether this test return makes the remaining tests of the episode needless."""
    return controller.settled(test_return) if hasattr(controller, "settled") else False  # type: ignore[attr-defined]


def to_json(controller: Controller) -> dict[str, Any]:
    """A plain description: `{"class": "Decay", "fields": {"c": 0.1, "kappa": 1.0}}`.

    One of ours goes by its name, anyone else's by its module and name, so that no name can be mistaken.
    """
    kind = type(controller)
    name = (
        kind.__name__ if CONTROLLERS.get(kind.__name__) is kind else f"{kind.__module__}.{kind.__qualname__}"
    )
    fields = dataclasses.fields(controller) if dataclasses.is_dataclass(controller) else ()
    return {
        "class": name,
        "fields": {field.name: _plain(getattr(controller, field.name)) for field in fields},
    }


def from_json(description: dict[str, Any]) -> Controller:
    """The controller that `to_json` described. Only ours are made: a file never chooses what code runs."""
    name, fields = description["class"], description["fields"]
    if name not in CONTROLLERS:
        raise InputError(
            f"kappa was set by {name}({_arguments(fields)}), which is not one of emuq's controllers: "
            f"pass it to load, as in load(path, env, kappa={name.rpartition('.')[2]}(...)), or pass any other"
        )
    try:
        return CONTROLLERS[name](
            **{key: math.inf if value == "inf" else value for key, value in fields.items()}
        )
    except TypeError as error:
        raise InputError(
            f"{name}({_arguments(fields)}) is not a controller this emuq knows: {error}"
        ) from error


def _arguments(fields: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in fields.items())


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value  # NumPy's and JAX's scalars
    if isinstance(value, float) and math.isinf(value):
        return "inf"  # JSON has no infinity
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | str | bytes | type | Controller):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _weight(kappa: float) -> None:
    if not (_is_number(kappa) and kappa >= 0):
        raise InputError(f"kappa is {kappa!r}: expected a number from 0, or inf")


def _whole(name: str, value: int, least: int) -> None:
    if not _is_number(value) or not float(value).is_integer() or value < least:
        raise InputError(f"{name} is {value!r}: expected a whole number from {least}")
