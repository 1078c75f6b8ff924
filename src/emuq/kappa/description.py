"""Controllers as plain data and back, for checkpoints."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from emuq.errors import InputError
from emuq.kappa.controllers import CONTROLLERS
from emuq.kappa.protocol import Controller


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
    name, fields = description.get("class"), description.get("fields")
    if not isinstance(name, str) or not isinstance(fields, dict):
        raise InputError(f"kappa is {str(description)[:100]}: expected a controller's class and fields")
    if name not in CONTROLLERS:
        raise InputError(
            f"kappa was set by {name}({_arguments(fields)}), which is not one of emuq's controllers: "
            f"pass it to load, as in load(path, env, kappa={name.rpartition('.')[2]}(...)), or pass any other"
        )
    try:
        return CONTROLLERS[name](
            **{key: float(value) if value in ("inf", "-inf") else value for key, value in fields.items()}
        )
    except (TypeError, OverflowError) as error:
        raise InputError(
            f"{name}({_arguments(fields)}) is not a controller this emuq knows: {error}"
        ) from error


def _arguments(fields: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in fields.items())


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value  # NumPy's and JAX's scalars
    if isinstance(value, float) and math.isinf(value):
        return str(value)  # JSON has no infinity
    return value if isinstance(value, bool | int | float | str | None) else repr(value)
