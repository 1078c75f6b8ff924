"""A job is a group of runs that one call executes; an outcome is what came of it.

`perform` is what every executor calls, wherever it is: it never raises, for a run that fails is recorded
with its error and must not stop the others.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from emuq.run.provenance import provenance
from emuq.run.spec import RunSpec

if TYPE_CHECKING:
    from emuq.run.queue import Queue


class Job(NamedTuple):
    """`execute(specs)` gives one JSON-able result a spec; a module-level function, so that it travels."""

    execute: Callable[[Sequence[RunSpec]], list[dict[str, Any]]]
    specs: tuple[RunSpec, ...]


class Outcome(NamedTuple):
    """Results in the order of the specs, or the error; `seconds` is the share of each run."""

    results: list[dict[str, Any]] | None
    error: str | None
    seconds: float
    provenance: dict[str, Any]


class Executor(Protocol):
    """Carries out jobs in any order and yields each with its outcome as it ends."""

    def run(self, jobs: Queue) -> Generator[tuple[Job, Outcome]]: ...


def perform(job: Job) -> Outcome:
    """The job's outcome; an exception, or results that are not JSON, become its error."""
    began = time.perf_counter()
    results, error = None, None
    try:
        results = job.execute(job.specs)
        if len(results) != len(job.specs):
            raise RuntimeError(f"{len(results)} results for {len(job.specs)} specs")
        json.dumps(results, allow_nan=False)
    except Exception:
        results, error = None, traceback.format_exc(limit=-6)
    seconds = (time.perf_counter() - began) / len(job.specs)
    return Outcome(results, error, seconds, provenance())


def died(reason: str) -> Outcome:
    """The outcome of a job whose process ended under it."""
    return Outcome(None, reason, 0.0, provenance())
