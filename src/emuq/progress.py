"""A progress bar for learning: episode, return, steps, kappa, goals found; silent off a terminal."""

from __future__ import annotations

import time
from types import TracebackType

from emuq.history import Episode


class Progress:
    """`with Progress(True, episodes=10) as bar: bar.step(); bar.episode(row)`."""

    def __init__(self, shown: bool, *, episodes: int | None = None, steps: int | None = None) -> None:
        self._bar = None
        self._steps = self._goals = self._episodes = 0
        self._total, self._unit = (episodes, "episode") if episodes is not None else (steps, "step")
        self._shown, self._last = shown, 0.0

    def __enter__(self) -> Progress:
        if self._shown:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            console = Console(stderr=True)
            if console.is_terminal:
                columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
                self._bar = Bar(*columns, console=console, transient=True)
                self._task = self._bar.add_task("learning", total=self._total)
                self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self) -> None:
        self._steps += 1
        if self._bar is not None and self._unit == "step" and time.monotonic() - self._last > 0.1:
            self._last = time.monotonic()
            self._bar.update(self._task, completed=self._steps)

    def episode(self, episode: Episode) -> None:
        self._episodes += 1
        self._goals += episode.goal
        if self._bar is not None:
            text = (
                f"episode {self._episodes}  return {episode.total_return:+.2f}  steps {self._steps}"
                f"  kappa {episode.kappa:.3g}  goals {self._goals}"
            )
            done = self._episodes if self._unit == "episode" else self._steps
            self._bar.update(self._task, completed=done, description=text)
