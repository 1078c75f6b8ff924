"""How large an agent a file's options may make, decided before it is made.

A few bytes of options could ask for any amount of memory. But each option below is the length of an array
that is in the file, too, so that the declared sizes bound the options:

    length^axes <= the numbers in the file's largest array

`actions_per_dimension` alone makes no array of the state. It is bounded by the weights, of which an agent
needs one for each action at least.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from emuq.agents.spaces import Spaces
from emuq.checkpoint import Declared, memory
from emuq.errors import InputError

# Of each agent, its options that are lengths, and of how many axes of one array.
_AXES = {
    "emuq": {"features": 2, "capacity": 1},
    "rnd": {"features": 1, "capacity": 1, "hidden": 1, "outputs": 1},
    "vime": {"batch": 1, "hidden": 1, "pool": 1},
    "dora": {"memory": 1},
    "rffq": {"features": 1},
}
_COPIES = (
    64  # bytes that an agent takes for each number in its largest array: eight arrays in double precision
)


def check(agent: str, options: Mapping[str, Any], spaces: Spaces, declared: Mapping[str, Declared]) -> None:
    """An error for options that would make an agent larger than the file's arrays, or than the machine."""
    most = max((found.size for found in declared.values()), default=0)
    for name, length, axes in _lengths(agent, options, spaces):
        needed = axes * math.log(max(length, 1))
        if needed > math.log(max(most, 1)) + 1e-9:
            raise InputError(
                f"{name} is {options[name]}, but no array in the file has more than {most} numbers: "
                "it was altered, use another copy"
            )
        if needed > math.log(memory() / _COPIES):
            raise InputError(f"{name} is {options[name]}: too large an agent for this machine's memory")


def _lengths(agent: str, options: Mapping[str, Any], spaces: Spaces) -> list[tuple[str, int, int]]:
    if agent == "emuq" and options.get("exact"):  # a table, and no features at all
        return [("exact", options["exact"], 1)]
    lengths = [(name, options.get(name, 0), axes) for name, axes in _AXES.get(agent, {}).items()]
    observation, action = (_dimensions(space) for space in spaces[:2])
    if agent == "rffq" and options.get("basis") == "fourier":  # (n + 1)^d features
        return [("order", options.get("order", 0) + 1, observation + action)]
    if agent == "dora" and isinstance(spaces.action_space, gym.spaces.Box):
        lengths.append(("actions_per_dimension", options.get("actions_per_dimension") or 0, action))
    return lengths


def _dimensions(space: gym.Space) -> int:
    return int(space.n) if isinstance(space, gym.spaces.Discrete) else math.prod(space.shape or ())
