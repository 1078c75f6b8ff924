"""Notices when JAX compiles for long, so that whoever waits can be told why."""

from __future__ import annotations

import threading
from collections.abc import Callable

AFTER_SECONDS = 2.0
# JAX tells when it has translated a program, just before it compiles it, and when it has compiled it.
_BEGINS, _ENDS = "jaxpr_to_mlir_module_duration", "backend_compile_duration"


class Compiling:
    """`with Compiling(tell):` calls `tell` once, when compiling has taken two seconds in all and goes on."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._spent = 0.0
        self._told = threading.Event()
        self._timers: dict[int, threading.Timer] = {}  # by thread: several may compile at once

    def __enter__(self) -> Compiling:
        import jax

        jax.monitoring.register_event_duration_secs_listener(self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        import jax

        jax.monitoring.unregister_event_duration_listener(self._hear)
        for timer in self._timers.values():
            timer.cancel()

    def _hear(self, event: str, duration_secs: float, **_: object) -> None:
        if self._told.is_set():
            return
        thread = threading.get_ident()
        if event.endswith(_BEGINS):
            timer = threading.Timer(max(0.0, AFTER_SECONDS - self._spent), self._say)
            timer.daemon = True
            self._timers[thread] = timer
            timer.start()
        elif event.endswith(_ENDS) and (timer := self._timers.pop(thread, None)) is not None:
            timer.cancel()
            self._spent += duration_secs

    def _say(self) -> None:
        if not self._told.is_set():
            self._told.set()
            self._tell()
