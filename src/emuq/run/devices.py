"""What processes of ours compute on, a GPU or the CPU, and how many runs are a batch there."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from functools import cache

BATCH_ON_CPU = 10  # two processes share the usual 20 seeds, and a batch that is lost is soon made again
BATCH_ON_GPU = 1024


def batch_size(gpu: bool) -> int:
    """How many runs of a condition make a job."""
    return BATCH_ON_GPU if gpu else BATCH_ON_CPU


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
