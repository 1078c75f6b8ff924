"""How far learning is: a bar on a terminal or in a notebook, elsewhere a line now and then, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Protocol

from emuq.compiling import Compiling
from emuq.history import Episode

LINE_SECONDS = 10.0
BAR_SECONDS = 0.1
FIRST_REMARK = 5  # episodes after which there is a line about the agent; the next ones after twice as many
COMPILING = "compiling, once: the steps after it are quick"


class Display(Protocol):
    """`seconds` between two updates at least; `show` an update, `say` for now, `note` a line that stays."""

    seconds: float

    def show(self, done: int, text: str) -> None: ...
    def say(self, text: str) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


class Bar:
    """A bar that moves, and is gone at the end."""

    seconds = BAR_SECONDS

    def __init__(self, console: Any, total: int | None) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True)
        self._task = self._bar.add_task("learning", total=total)
        self._bar.start()

    def show(self, done: int, text: str) -> None:
        self._bar.update(self._task, completed=done, description=text)

    def say(self, text: str) -> None:
        self._bar.update(self._task, description=text)

    def note(self, text: str) -> None:
        self._bar.console.print(text, highlight=False)

    def close(self) -> None:
        self._bar.stop()


class Lines:
    """A line at most every ten seconds, for files and pipes."""

    seconds = LINE_SECONDS

    def show(self, done: int, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    note = say

    def close(self) -> None:
        pass


def display(total: int | None) -> Display:
    """A bar where one can be drawn. In a notebook it takes ipywidgets, without which Rich only complains."""
    from rich.console import Console

    console = Console(stderr=True)
    notebook = console.is_jupyter and find_spec("ipywidgets") is not None
    return Bar(console, total) if console.is_terminal or notebook else Lines()


class Progress:
    """`with Progress(True, episodes=10) as bar: bar.step(); bar.episode(row)`."""

    def __init__(self, shown: bool, *, episodes: int | None = None, steps: int | None = None) -> None:
        self._display: Display | None = None
        self._steps = self._goals = self._episodes = 0
        self._total, self._unit = (episodes, "episode") if episodes is not None else (steps, "step")
        self._shown, self._next, self._latest = shown, 0.0, ""
        self._remarked = FIRST_REMARK
        self._open = ExitStack()

    def __enter__(self) -> Progress:
        if self._shown:
            self._display = shown = display(self._total)
            self._open.callback(shown.close)
            self._open.enter_context(Compiling(lambda: shown.say(COMPILING)))
            self._next = time.monotonic() + shown.seconds
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def step(self) -> None:
        self._steps += 1
        self._update()

    def episode(self, episode: Episode, remark: Callable[[], str | None] = lambda: None) -> None:
        """An episode is over. Now and then there is a line about the agent, which `remark` makes."""
        self._episodes += 1
        self._goals += episode.goal
        self._latest = f"  return {episode.total_return:+.2f}  kappa {episode.kappa:.3g}  goals {self._goals}"
        self._update()
        if self._display is not None and self._episodes == self._remarked:
            self._remarked *= 2  # its cost grows with the data
            if text := remark():
                self._display.note(text)

    def _update(self) -> None:
        if self._display is None or (now := time.monotonic()) < self._next:
            return
        self._next = now + self._display.seconds
        done = self._episodes if self._unit == "episode" else self._steps
        of = f" of {self._total}" if self._unit == "episode" else ""
        self._display.show(done, f"{self._episodes}{of} episodes  steps {self._steps}{self._latest}")
