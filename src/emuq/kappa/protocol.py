"""What a controller of kappa is, what it is told, and the checks of its numbers."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax

from emuq.errors import InputError


class Outcome(NamedTuple):
    """What a controller learns when a learning episode ends.

    Attributes:
        total_return: The sum of its rewards.
        goal: Whether it reached the goal.
        test_returns: The returns of the test episodes after it, if the controller asked for any.

    Examples:
        >>> emuq.kappa.Outcome(total_return=1.0, goal=True)
        Outcome(total_return=1.0, goal=True, test_returns=None, has_goal=True)
    """

    total_return: jax.Array | float
    goal: jax.Array | bool
    test_returns: Any = None  # kappa = 0 test episodes, for controllers that ask for them
    has_goal: jax.Array | bool = True  # the environment says whether its goal was reached


@runtime_checkable
class Controller(Protocol):
    """`value(state)` is kappa for the next episode; `update` is called once after each episode.

    Examples:
        >>> isinstance(emuq.kappa.Decay(c=0.1), emuq.kappa.Controller)
        True
    """

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


def settles(controller: Controller, test_return: jax.Array | float) -> jax.Array | bool:
    """Whether this test return makes the remaining tests of the episode needless."""
    return controller.settled(test_return) if hasattr(controller, "settled") else False  # type: ignore[attr-defined]


def is_number(value: Any) -> bool:
    """Whether `float` takes it; not so truth values, text and controllers."""
    if isinstance(value, bool | str | bytes | type | Controller):
        return False
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def check_weight(kappa: float) -> None:
    """kappa >= 0, or an error."""
    if not (is_number(kappa) and kappa >= 0):
        raise InputError(f"kappa is {kappa!r}: expected a number from 0, or inf")


def check_whole(name: str, value: int, least: int) -> None:
    """A whole number from `least` on, or an error."""
    if not is_number(value) or not float(value).is_integer() or value < least:
        raise InputError(f"{name} is {value!r}: expected a whole number from {least}")
