"""The paper's own numbers, to stand beside ours."""

from __future__ import annotations

from collections.abc import Mapping

_FIELDS = ("success", "episodes_mean", "episodes_std")

# Table 3: success, and mean and sd of the episodes to the first goal over successful runs.
_EMUQ = {
    "SinglePendulum": (1.0, 1.80, 1.07),
    "MountainCar": (1.0, 2.95, 0.38),
    "DoublePendulum": (1.0, 1.10, 0.30),
    "CartpoleSwingUp": (0.9, 12.40, 16.79),
    "LunarLander": (1.0, 28.75, 29.57),
    "Reacher": (1.0, 19.70, 20.69),
    "Hopper": (0.6, 52.85, 39.32),
}
_VIME = {
    "SinglePendulum": (0.95, 2.05, 2.04),
    "MountainCar": (0.65, 5.08, 2.43),
    "DoublePendulum": (0.9, 3.61, 2.75),
    "CartpoleSwingUp": (0.65, 3.23, 2.66),
    "LunarLander": (0.75, 4.47, 2.47),
    "Reacher": (0.95, 3.68, 2.03),
    "Hopper": (0.4, 5.62, 3.35),
}
_DORA = {
    "SinglePendulum": (0.35, 3.00, 4.11),
    "MountainCar": (0.0, None, None),
    "DoublePendulum": (0.0, None, None),
    "CartpoleSwingUp": (0.35, 48.71, 30.44),
    "LunarLander": (0.3, 35.17, 31.38),
    "Reacher": (0.35, 1.00, 0.00),
    "Hopper": (0.2, 30.50, 11.80),
}
_RFFQ = {
    "SinglePendulum": (1.0, 1.00, 0.00),
    "MountainCar": (1.0, 8.60, 8.05),
    "DoublePendulum": (1.0, 4.20, 2.25),
    "CartpoleSwingUp": (1.0, 9.70, 12.39),
    "LunarLander": (0.95, 19.15, 24.06),
    "Reacher": (0.95, 26.55, 25.58),
    "Hopper": (0.8, 41.15, 35.72),
}
_COLUMNS = {"emuq": _EMUQ, "emuq-paper": _EMUQ, "vime": _VIME, "dora": _DORA, "rffq": _RFFQ}

TABLE3: Mapping[tuple[str, str], Mapping[str, float | None]] = {
    (agent, domain): dict[str, float | None](zip(_FIELDS, numbers, strict=True))
    for agent, column in _COLUMNS.items()
    for domain, numbers in column.items()
}
