"""What processes of ours compute on, a GPU or the CPU, and how many runs are a batch there."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from functools import cache
from typing import NamedTuple


class Batches(NamedTuple):
    """How many runs of a condition make a job, and how many there must be for batches to be faster."""

    size: int
    least: int


# On a CPU a batch saves a tenth to a third of a second a run, and takes 2 s more to compile in each process.
ON_CPU, ON_GPU = Batches(10, 50), Batches(1024, 2)


def batches(gpu: bool) -> Batches:
    """What suits the device."""
    return ON_GPU if gpu else ON_CPU


@cache
def gpu_here() -> bool:
    """Whether JAX would compute on a GPU here. Another process is asked, since to ask is to take it."""
    if importlib.util.find_spec("jax_plugins") is None:  # JAX as it is installed for a CPU
        return False
    asked = [sys.executable, "-c", "import jax; print(jax.default_backend())"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() == "gpu"


def variables(gpu: bool) -> dict[str, str]:
    """The environment of a process with a GPU, whose memory it takes as it needs it, or without one."""
    if not gpu:
        return {"JAX_PLATFORMS": "cpu"}
    return {} if "XLA_PYTHON_CLIENT_PREALLOCATE" in os.environ else {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
