"""Where a result came from: versions and the kind of host, recorded with each run."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from importlib import metadata
from typing import Any

_PACKAGES = ("emuq", "jax", "jaxlib", "numpy", "scipy", "gymnasium", "mujoco", "box2d", "dm_control", "optax")


@cache
def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def cores() -> int:
    """The cores this process may use, which in a container are fewer than the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def provenance() -> dict[str, Any]:
    """Versions of everything a result depends on, and the kind of host, without its name."""
    jax = sys.modules.get("jax")  # a run that never used JAX has no device to speak of
    host = f"{platform.system()} {platform.machine()}, {cores()} cores"
    return {
        "versions": {"python": platform.python_version(), **_versions()},
        "host": host,
        "device": jax.devices()[0].device_kind if jax is not None else "cpu",
    }
