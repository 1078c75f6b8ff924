"""Ctrl-C while an agent learns: heard while the environment or a callback has the word, else a little later.

Learning from a transition changes several arrays; an interrupt between two of them would leave neither the
old agent nor the new one.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from emuq.agents.readings import Environment

Answer = TypeVar("Answer")


class Interrupts:
    """`with Interrupts() as ears: ears.during(env.step, action)` takes the place of the handler of SIGINT.

    What it hears it passes on to that handler: at once within `during`, otherwise when `during` is next
    called or the block ends.
    """

    def __init__(self) -> None:
        self._open = False
        self._heard: tuple[int, FrameType | None] | None = None
        self._handler: Any = None

    def __enter__(self) -> Interrupts:
        handler = signal.getsignal(signal.SIGINT)
        # Only the main thread hears of signals. What cannot be called is none of Python's business.
        if threading.current_thread() is threading.main_thread() and callable(handler):
            self._handler = handler
            signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
        self._pass_on()

    def during(self, call: Callable[..., Answer], *args: Any, **options: Any) -> Answer:
        """What `call` returns, if Ctrl-C does not end it."""
        try:
            self._open = True
            self._pass_on()
            return call(*args, **options)
        finally:
            self._open = False

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._heard = number, frame
        if self._open:
            self._open = False
            self._pass_on()

    def _pass_on(self) -> None:
        if self._heard is not None:
            heard, self._heard = self._heard, None
            self._handler(*heard)


class Heard:
    """An environment whose steps and resets Ctrl-C may end."""

    def __init__(self, env: Environment, ears: Interrupts) -> None:
        self._env, self._ears = env, ears

    def reset(self, *, seed: int) -> Any:
        return self._ears.during(self._env.reset, seed=seed)

    def step(self, action: Any) -> Any:
        return self._ears.during(self._env.step, action)
