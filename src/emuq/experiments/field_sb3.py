"""Runs of Stable-Baselines3's SAC and PPO beside ours, from the file that `make sb3-field` writes.

Torch is no dependency of emuq, so that they run in an environment of their own. The file has `runs`, a list
of `agent`, `task`, `seed`, `marks`, `returns` and `seconds`.
"""

from __future__ import annotations

import json
from pathlib import Path

from emuq.errors import InputError
from emuq.experiments.base import Row
from emuq.experiments.field_tasks import spec_of, threshold_steps

FILE = Path(__file__).parents[3] / "docs" / "results" / "field-sb3.json"  # of a checkout
HOW = "Stable-Baselines3's SAC and PPO are not here: `make sb3-field` in a checkout runs them."


def rows(path: Path | None = None) -> list[Row]:
    """Their runs as rows like ours; none where there is no file. Runs with other marks are set aside."""
    path = FILE if path is None else path
    if not path.exists():
        return []
    try:
        runs = json.loads(path.read_text())["runs"]
        specs = [spec_of(run["agent"], run["task"], run["seed"]) for run in runs]
        return [
            Row(spec, {
                "returns": run["returns"],
                "seconds": run["seconds"],
                "threshold_steps": threshold_steps(spec, run["returns"]),
            }, run["seconds"])
            for spec, run in zip(specs, runs, strict=True)
            if tuple(run["marks"]) == spec["marks"]
        ]  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not a file of make sb3-field ({error!r}): remove it, or make it again"
        ) from error
