"""Checks of an agent's options; an error names the bad one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from emuq.errors import InputError

Options = TypeVar("Options")


def options_of(kind: Callable[..., Options], given: dict) -> Options:
    """`kind(**given)`, where `kind` is a named tuple with a default for every field."""
    known: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    for name in given:
        if name not in known:
            raise InputError(f"unknown option {name!r}: expected one of {', '.join(known)}")
    return kind(**given)


def check_counts(options: Any, *names: str) -> None:
    """Options that count something are 1 or more."""
    for name in names:
        if getattr(options, name) < 1:
            raise InputError(f"{name} is {getattr(options, name)}: expected a whole number from 1")


def check_shares(options: Any, *names: str) -> None:
    """Rates, discounts and probabilities lie in [0, 1]."""
    for name in names:
        if not 0 <= getattr(options, name) <= 1:
            raise InputError(f"{name} is {getattr(options, name)}: expected a number in [0, 1]")


def check_added(kappa: float) -> None:
    """What is added to the rewards is weighed by a finite kappa: only a value of its own explores alone."""
    if math.isinf(kappa):
        raise InputError(
            "kappa is inf: an exploration reward that is added cannot explore alone; expected a finite number"
        )
