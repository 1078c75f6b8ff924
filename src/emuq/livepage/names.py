"""What the numbers of an observation are called, in words."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium as gym

from emuq.errors import InputError, quoted

_PENDULUM = ("cos angle", "sin angle", "velocity")
_JOINTS = ("cos joint 1", "cos joint 2", "sin joint 1", "sin joint 2")
_NAMES: dict[str, tuple[str, ...]] = {
    "emuq/SinglePendulum-v0": _PENDULUM,
    "emuq/MountainCar-v0": ("position", "velocity"),
    "emuq/DoublePendulum-v0": (
        "cos angle 1", "sin angle 1", "cos angle 2", "sin angle 2", "velocity 1", "velocity 2",
    ),
    "emuq/CartpoleSwingUp-v0": ("position", "velocity", "angle", "angular velocity"),
    "emuq/Furuta-v0": ("cos angle", "sin angle", "arm", "velocity", "arm velocity"),
    "emuq/LunarLander-v0": (
        "x", "y", "x velocity", "y velocity", "angle", "angular velocity", "left leg down", "right leg down",
    ),
    "emuq/Reacher-v0": (
        *_JOINTS, "target x", "target y", "velocity 1", "velocity 2", "distance x", "distance y",
    ),
    "emuq/Hopper-v0": (
        "height", "angle", "thigh", "leg", "foot", "forward velocity", "upward velocity",
        "angular velocity", "thigh velocity", "leg velocity", "foot velocity",
    ),
}  # fmt: skip


def names_of(env: gym.Env | None, dims: int, given: Sequence[str] | None = None) -> list[str]:
    """The names that were given, those of a domain of ours, or `state[0]` and so on."""
    if given is not None:
        if isinstance(given, str) or len(given) != dims or not all(isinstance(name, str) for name in given):
            raise InputError(f"names is {quoted(given)}: expected {dims} words, one for each number observed")
        return list(given)
    known = () if env is None or env.spec is None else _NAMES.get(env.spec.id, ())
    return list(known) if len(known) == dims else [f"state[{i}]" for i in range(dims)]
