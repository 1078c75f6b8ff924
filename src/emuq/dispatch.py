"""Where a compiled call runs on a CPU: on a thread of JAX's, or on the caller's.

JAX hands a computation to another thread and returns at once. A step's caller needs the action at once, too,
so that it only waits for that thread to wake up: 80 of 190 microseconds a step of EMU-Q's (M = 500, medians,
two busy cores). The switch belongs to JAX's client for the CPU, of which a process has one. So it is turned
where the process is ours, in the command line and in the workers of `emuq reproduce`, and nowhere else: a
program that steps a robot turns it itself, with `emuq.dispatch.inline()`.
"""

from __future__ import annotations

import jax


def inline() -> None:
    """Compiled calls on the CPU run on the caller's thread from now on, all of the program's.

    Call it before anything is computed with JAX: it has no effect after that.

    Examples:
        >>> emuq.dispatch.inline()
    """
    jax.config.update("jax_cpu_enable_async_dispatch", False)
