"""How far the runs are: bars on a terminal, one JSON object a line otherwise, both on stderr.

A line: {"experiment": "fig6b", "done": 12, "failed": 0, "total": 60, "all_done": 40, "all_failed": 0,
"all_total": 300, "seconds": 33.1, "seconds_left": 120.0}; at most one every few seconds, and a last one.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TextIO

from emuq.run.jobs import Outcome
from emuq.run.spec import RunSpec

LINE_SECONDS = 5.0


class Tally:
    """Runs done, failed and left, overall and for each experiment, and the time left.

    Time left = sum over kinds of (runs left x mean seconds of that kind) / workers, where a kind is an
    agent in a domain of an experiment; a kind not seen yet counts as the mean of its experiment, or of all.
    """

    def __init__(self, specs: Sequence[RunSpec], workers: int) -> None:
        self.total = Counter(spec.experiment for spec in specs)
        self.done: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self._left = Counter(_kind(spec) for spec in specs)
        self._seconds: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self._workers = workers

    def count(self, specs: Sequence[RunSpec], outcome: Outcome) -> None:
        for spec in specs:
            tally = self.failed if outcome.results is None else self.done
            tally[spec.experiment] += 1
            self._left[_kind(spec)] -= 1
            if outcome.seconds:
                for level in (_kind(spec), (spec.experiment,), ()):
                    self._seconds[level].append(outcome.seconds)

    def seconds_left(self, experiment: str | None = None) -> float | None:
        """None until something has ended."""
        if not self._seconds:
            return None
        left = 0.0
        for kind, number in self._left.items():
            if experiment in (None, kind[0]):
                known = next(self._seconds[k] for k in (kind, kind[:1], ()) if self._seconds.get(k))
                left += number * sum(known) / len(known)
        return left / self._workers


def _kind(spec: RunSpec) -> tuple[str, ...]:
    return spec.experiment, spec.agent, spec.domain


class Lines:
    """Machine-readable progress."""

    def __init__(self, tally: Tally, stream: TextIO) -> None:
        self._tally, self._stream = tally, stream
        self._began = self._last = time.monotonic()

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def update(self, experiment: str) -> None:
        tally, now = self._tally, time.monotonic()
        ended = tally.done.total() + tally.failed.total()
        if now - self._last < LINE_SECONDS and ended < tally.total.total():
            return
        self._last = now
        left = tally.seconds_left()
        line = {
            "experiment": experiment,
            "done": tally.done[experiment],
            "failed": tally.failed[experiment],
            "total": tally.total[experiment],
            "all_done": tally.done.total(),
            "all_failed": tally.failed.total(),
            "all_total": tally.total.total(),
            "seconds": round(now - self._began, 1),
            "seconds_left": None if left is None else round(left, 1),
        }
        print(json.dumps(line), file=self._stream, flush=True)


class Bars:
    """A bar for everything and one for each experiment under way."""

    def __init__(self, tally: Tally, console) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._tally = tally
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TextColumn("[red]{task.fields[failed]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
        )
        self._bars = Progress(*columns, console=console)
        self._all = self._bars.add_task("[bold]all runs", total=tally.total.total(), failed="", left="")
        self._tasks = {
            name: self._bars.add_task(name, total=total, failed="", left="", start=False)
            for name, total in tally.total.items()
        }

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bars.stop()

    def update(self, experiment: str) -> None:
        for task, name in ((self._tasks[experiment], experiment), (self._all, None)):
            done = self._tally.done.total() if name is None else self._tally.done[name]
            failed = self._tally.failed.total() if name is None else self._tally.failed[name]
            self._bars.start_task(task)
            self._bars.update(
                task,
                completed=done + failed,
                failed=f"{failed} failed" if failed else "",
                left=_clock(self._tally.seconds_left(name)),
            )
            if done + failed == (self._tally.total.total() if name is None else self._tally.total[name]):
                self._bars.stop_task(task)


def _clock(seconds: float | None) -> str:
    if not seconds:
        return ""
    minutes, seconds = divmod(round(seconds), 60)
    return (
        f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d} left"
        if minutes >= 60
        else f"{minutes}:{seconds:02d} left"
    )


def progress(tally: Tally) -> Bars | Lines:
    """Bars when stderr is a terminal, lines when it is not."""
    from rich.console import Console

    console = Console(stderr=True)
    return Bars(tally, console) if console.is_terminal else Lines(tally, sys.stderr)
