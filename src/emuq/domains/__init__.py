"""The goal-only domains: `make(name, **options)` for a pure-JAX one, `gym.make("emuq/NAME-v0")` for any."""

from __future__ import annotations

import importlib
import inspect
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from emuq.domains.catalogue import ENTRIES
from emuq.errors import InputError

if TYPE_CHECKING:
    from emuq.domains.base import Domain

PURE = tuple(entry.name for entry in ENTRIES if entry.maker)


def make(name: str, **options: Any) -> Domain:
    """The pure-JAX domain `name` ("MountainCar"). The same options give the same object, compiled once.

    `horizon` is an option of every domain.
    """
    for option, value in options.items():
        if not isinstance(value, str | int | float | np.generic | None):
            raise InputError(f"{option} is {value!r}: expected a number or a word")
    return _make(name, **{o: v.item() if isinstance(v, np.generic) else v for o, v in options.items()})


@lru_cache(maxsize=256)
def _make(name: str, horizon: int | None = None, **options: Any) -> Domain:
    from dataclasses import replace

    makers = {entry.name: entry.maker for entry in ENTRIES if entry.maker}
    if name not in makers:
        raise InputError(f"domain is {name!r}: expected one of {', '.join(PURE)}")
    module, function = makers[name].split(":")
    maker = getattr(importlib.import_module(f"emuq.domains.{module}"), function)
    known = inspect.signature(maker).parameters
    for option in options:
        if option not in known:
            raise InputError(f"{name} has no option {option!r}: expected {', '.join([*known, 'horizon'])}")
    domain = maker(**options)
    if horizon is None:
        return domain
    if not isinstance(horizon, int) or horizon < 1:
        raise InputError(f"horizon is {horizon!r}: expected a whole number from 1")
    return replace(domain, horizon=horizon)
