"""What the page may ask for: a message is one of a few known orders with numbers in range, or is refused.

{"do": "kappa", "kappa": 0.5}            a number from 0, or "inf"
{"do": "controller", "name": "Decay", "fields": {"c": 0.1}}
{"do": "pause"}, {"do": "go on"}, {"do": "step"}
{"do": "speed", "steps": 30}             steps a second, or "inf": as fast as it can
{"do": "view", "dims": [0, 1]}           what the maps are drawn over
{"do": "test", "episodes": 5, "kappa": 0}
{"do": "save"}, {"do": "load"}, {"do": "reset"}
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from emuq.errors import InputError, quoted
from emuq.kappa import CONTROLLERS, from_json
from emuq.livepage.learner import Learner, Order

LONGEST = 1000  # characters of a message
MOST_TESTS = 100  # episodes: learning waits for them
MOST = 1e9  # any number of a controller

# Every controller with the numbers that the page proposes for it, and what it does, in words.
PROPOSED: dict[str, tuple[str, dict[str, float]]] = {
    "Automatic": ("Decide by goals or, without any, by returns", {"patience": 5, "kappa": 1}),
    "UntilGoal": ("Explore until the goal is found", {"patience": 5, "kappa": 1}),
    "Decay": ("Explore ever less: kappa / (1 + c t) after t episodes", {"c": 0.1, "kappa": 1}),
    "Budget": ("Explore for a number of episodes", {"episodes": 20, "kappa": 1}),
    "StopResume": ("Explore, stop, and explore again", {"stop": 20, "resume": 30, "kappa": 1}),
    "Target": (
        "Explore until tests pass",
        {"test_return": 0.1, "consecutive": 5, "kappa": 1},
    ),
}


def parse(text: str) -> Order:
    """The order of a message; an `InputError` for anything else."""
    if len(text) > LONGEST:
        raise InputError(f"a message has {len(text):,} characters: expected at most {LONGEST:,}")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"a message is {quoted(text)}: expected JSON") from None
    name = message.get("do") if isinstance(message, dict) else None
    if not isinstance(name, str) or name not in _ORDERS:
        raise InputError(f"a message is {quoted(message)}: expected one that does {', '.join(_ORDERS)}")
    make, fields = _ORDERS[name]
    if set(message) != {"do", *fields}:
        raise InputError(f"{quoted(message)} has other fields than expected: do, {', '.join(fields)}")
    return make(*(message[field] for field in fields))


def _kappa(given: Any) -> Order:
    kappa = _number("kappa", given, 0, math.inf)
    return Order("kappa", lambda learner: learner.set_kappa(kappa))


def _controller(name: Any, fields: Any) -> Order:
    if name not in CONTROLLERS or not isinstance(fields, dict) or len(fields) > 8:
        raise InputError(f"controller is {quoted(name)}: expected one of {', '.join(CONTROLLERS)} and fields")
    for field, value in fields.items():
        _number(quoted(field), value, -MOST, math.inf)
    controller = from_json({"class": name, "fields": fields})  # checks each number's range
    return Order("controller", lambda learner: learner.set_kappa(controller))


def _pause() -> Order:
    return Order("pause", lambda learner: learner.pause(True))


def _go_on() -> Order:
    return Order("go on", lambda learner: learner.pause(False))


def _step() -> Order:
    return Order("step", lambda learner: learner.step())


def _speed(given: Any) -> Order:
    steps = _number("steps", given, 0.1, math.inf)

    def run(learner: Learner) -> None:
        learner.speed = steps

    return Order("speed", run)


def _view(dims: Any) -> Order:
    return Order("view", lambda learner: learner.samples.maps.choose(dims))


def _test(episodes: Any, kappa: Any) -> Order:
    number_of = _number("episodes", episodes, 1, MOST_TESTS)
    if number_of != int(number_of):
        raise InputError(f"episodes is {number_of}: expected a whole number")
    weight = _number("kappa", kappa, 0, math.inf)
    return Order("test", lambda learner: learner.test(int(number_of), weight), "episode")


def _save() -> Order:
    return Order("save", lambda learner: learner.save(), "episode")


def _load() -> Order:
    return Order("load", lambda learner: learner.load(), "cut")


def _reset() -> Order:
    return Order("reset", lambda learner: learner.reset(), "cut")


_ORDERS: dict[str, tuple[Callable[..., Order], tuple[str, ...]]] = {
    "kappa": (_kappa, ("kappa",)),
    "controller": (_controller, ("name", "fields")),
    "pause": (_pause, ()),
    "go on": (_go_on, ()),
    "step": (_step, ()),
    "speed": (_speed, ("steps",)),
    "view": (_view, ("dims",)),
    "test": (_test, ("episodes", "kappa")),
    "save": (_save, ()),
    "load": (_load, ()),
    "reset": (_reset, ()),
}


def _number(name: str, value: Any, low: float, high: float) -> float:
    """A number within bounds; infinity is the word "inf", as JSON has none."""
    if value == "inf":
        value = math.inf
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InputError(f"{name} is {quoted(value)}: expected a number from {low:g} to {high:g}")
    return float(value)
