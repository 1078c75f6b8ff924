"""Compiled programs kept on disk, so that the next process need not compile them again.

    emuq.cache.enable()             # ~/.cache/emuq, or $XDG_CACHE_HOME/emuq

The command line does this for itself; a program that uses emuq as a library has to ask for it, since JAX has
one cache for everything it compiles. What is there is run as it is, so that nobody else should be able to
write there.
"""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path

from emuq.errors import InputError

MAX_BYTES = 128 * 2**20  # what was used least recently is removed beyond this; MountainCar takes 1 MB
# Small programs too: there are dozens of them, and each takes longer to compile than to read.
MIN_SECONDS = 0.0


def enable(path: str | os.PathLike | None = None) -> Path:
    """JAX keeps what it compiles from now on on disk, at most 128 MiB of it.

    Args:
        path: The folder; ~/.cache/emuq by default, or $XDG_CACHE_HOME/emuq.

    Returns:
        The folder below `path` for this kind of processor.

    Raises:
        InputError: If the folder cannot be made.

    Examples:
        >>> folder = emuq.cache.enable("compiled")
    """
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    folder = _folder(path, os.environ.get("NPROC") or str(os.cpu_count()))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot keep compiled programs in {folder} ({error.strerror}): give another path"
        ) from None
    compilation_cache.reset_cache()  # a cache in use would stay in use
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_compilation_cache_max_size", MAX_BYTES)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", MIN_SECONDS)
    return folder


def variables(threads: int) -> dict[str, str]:
    """The same for processes of so many threads, as environment variables, unless the user has set them."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return {}
    return {
        "JAX_COMPILATION_CACHE_DIR": str(_folder(None, str(threads))),
        "JAX_COMPILATION_CACHE_MAX_SIZE": str(MAX_BYTES),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": str(MIN_SECONDS),
    }


def _folder(path: str | os.PathLike | None, threads: str) -> Path:
    """A folder for this kind of processor and number of threads, which is what XLA compiles for.

    The keys in JAX's cache tell neither apart, and what is compiled for one processor may not run on another.
    """
    if path is None:
        path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "emuq"
    return Path(path) / f"xla-{_processor()}-{threads}"


def _processor() -> str:
    """A short name for the processor and what it can do."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    told = sorted(
        {line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))}
    )
    whole = "\n".join([platform.machine(), platform.processor(), *told])
    return hashlib.sha256(whole.encode()).hexdigest()[:12]
