"""Planning beside the loop: a plan is made from the data of one moment, and taken over at a later one.

    begin    at a step's end: what the agent knows now, for another thread to plan on, or to look
    follow   in that thread, once the plan is made: it learns from transitions made since (`programs.follow`)
    take     at a later step's end, once few are left: these too; then the agent goes on with the result

A transition is one rank-1 update of what was planned, on whichever thread it is made, and a fold comes after
every half block of them: the result depends on the two moments alone, and not on how long anything took. So a
run whose moments of taking over are kept (`Background.moments`) can be made again, bit for bit, from these.

There is one plan under way at a time. The thread yields to others: it has a lower priority where the system
lets it.
"""

from __future__ import annotations

import contextlib
import copy
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from emuq.agents.emuq import programs
from emuq.agents.emuq.schedule import BLOCK
from emuq.errors import InputError, quoted
from emuq.precision import double

if TYPE_CHECKING:
    from emuq.agents.emuq.runtime import Runtime
    from emuq.agents.emuq.state import State

CLOSE = (
    8  # transitions that are left to the loop's own thread, at most, where it is not faster than the plan's
)
NICE = 10  # by so much the thread's priority is lower


class Made(NamedTuple):
    """What a plan has come to: a state, the number of transitions learned from since, V's rows in use."""

    state: State
    followed: int = 0
    used: int = 0


class Job:
    """A plan under way: what for, since how many transitions, and those that were made since."""

    def __init__(self, kind: str, began: int) -> None:
        self.kind, self.began = kind, began
        self.rows: list[tuple[np.ndarray, np.ndarray]] = []  # a transition, and where its episode began
        self.future: Future = Future()


class Background:
    """At most one plan under way, and the moments at which plans were taken over.

    A moment is a number of transitions, and whether it was between two steps (the agent was saved, or `learn`
    returned) instead of at the end of one.

    Args:
        runtime: Of the agent.
        record: The moments of an earlier run, to make it again; None: take a plan over as soon as it is made.
    """

    def __init__(self, runtime: Runtime, record: list[tuple[int, bool]] | None = None) -> None:
        self._runtime = runtime
        self._job: Job | None = None
        self._record = record
        self.moments: list[tuple[int, bool]] = []

    @property
    def kind(self) -> str | None:
        """What is under way."""
        return None if self._job is None else self._job.kind

    def plan(self, kappa: float, episodes: int | None, check: Callable[[], Any] | None = None) -> None:
        """Begin to plan: on new features after so many episodes, on the old ones (None), or not at all where
        the check finds something.
        """
        runtime = self._runtime
        state, scale, options = runtime.snapshot(), runtime.scale, runtime.options

        def make(job: Job) -> Made:
            if check is not None and check() is not None:
                job.kind = "ranges"
                return Made(state)
            if episodes is None:
                planned = programs.KEPT.plan(state, kappa, options)
            else:
                anew = runtime.choices, kappa, np.int32(episodes), options
                planned = programs.KEPT.plan_anew(state, *anew)
            made = Made(jax.block_until_ready(planned))
            while len(job.rows) - made.followed > CLOSE:
                made = follow(runtime, made, scale, job.rows[made.followed :])
            return made

        self._begin("plan" if episodes is None else "draw", make)

    def look(self) -> None:
        """Begin to look ahead."""
        runtime = self._runtime
        state = runtime.snapshot()
        self._begin("look", lambda _: Made(programs.KEPT.look(state, runtime.options)))

    def add(self, row: np.ndarray) -> None:
        """A transition was made."""
        if self._job is not None:
            self._job.rows.append((row, self._runtime.start))

    def is_due(self) -> bool:
        """Whether what is under way is to be taken over at this step's end."""
        if self._job is None:
            return False
        return self._job.future.done() if self._record is None else self._is_next(False)

    def rests(self) -> bool:
        """Whether it was taken over here, between two steps, in the run that is made again."""
        return self._job is not None and self._record is not None and self._is_next(True)

    def _is_next(self, rests: bool) -> bool:
        assert self._record is not None
        at = len(self.moments)
        return at < len(self._record) and self._record[at] == (self._runtime.count, rests)

    def take(self, *, rests: bool) -> tuple[str, int]:
        """Take over what is under way, and wait for it: what it was, and how many transitions it has seen."""
        job, self._job, runtime = self._job, None, self._runtime
        assert job is not None
        made: Made = job.future.result()
        if job.kind == "look":
            runtime.take_look(made.state.lookahead)
        elif job.kind != "ranges":
            while made.followed < len(job.rows):
                made = follow(runtime, made, runtime.scale, job.rows[made.followed :])
            runtime.take_plan(made.state, made.used)
        self.moments.append((runtime.count, rests))
        return job.kind, job.began

    def _begin(self, kind: str, make: Callable[[Job], Made]) -> None:
        self._job = job = Job(kind, self._runtime.count)
        job.future = _thread().submit(_made, make, job)

    def __deepcopy__(self, memo: dict) -> Background:
        """A copy of an agent plans for itself: what is under way is not copied."""
        copied = Background(copy.deepcopy(self._runtime, memo), self._record)
        copied.moments = list(self.moments)
        return copied


def follow(runtime: Runtime, made: Made, scale: Any, rows: Sequence[tuple[np.ndarray, np.ndarray]]) -> Made:
    """Learn from some of these transitions: as many as fit before the next fold, which is made, too."""
    half = BLOCK // 2
    some = rows[: half - made.used]
    table, starts = (np.zeros((half, len(column))) for column in some[0])
    for i, (row, start) in enumerate(some):
        table[i], starts[i] = row, start
    table[: len(some), programs.USED] = made.used + np.arange(len(some))
    state = runtime.follow(made.state, scale, table, starts, len(some))
    used = made.used + len(some)
    if used == half:
        state, used = programs.folded(state), 0
    return Made(state, made.followed + len(some), used)


def moments_of(record: Any) -> list[tuple[int, bool]]:
    """Moments as `EMUQ.moments` has them, checked."""
    try:
        found = [(int(count), bool(rests)) for count, rests in record]
    except (TypeError, ValueError):
        found = [(-1, False)]
    if any(count < 0 for count, _ in found) or [count for count, _ in found] != sorted(c for c, _ in found):
        raise InputError(
            f"planning is {quoted(record)}: expected 'in step', 'beside', or the moments of another run"
        )
    return found


# The thread -------------------------------------------------------------------------------------------------


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="emuq-plan", initializer=yield_to_others)


if hasattr(os, "register_at_fork"):  # a forked process has none of its parent's threads
    os.register_at_fork(after_in_child=_thread.cache_clear)


def yield_to_others() -> None:
    """This thread comes after others, where the system lets it."""
    if sys.platform == "linux":  # where a thread has a priority of its own
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)


def _made(make: Callable[[Job], Made], job: Job) -> Made:
    with double():  # a thread begins in single precision
        made = make(job)
        jax.block_until_ready(made.state)
    return made
