"""Many runs: drop what the store has, hand the rest to an executor, record each as it ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple

from emuq.run.jobs import Executor, Job
from emuq.run.progress import Tally, progress
from emuq.run.queue import Queue
from emuq.run.spec import RunSpec
from emuq.run.store import Store


class Summary(NamedTuple):
    """Numbers of runs: done now, failed now, found in the store already."""

    done: int
    failed: int
    kept: int


class Interrupted(KeyboardInterrupt):
    """Stopped by Ctrl-C or SIGTERM with everything that had ended recorded."""

    def __init__(self, summary: Summary, left: int) -> None:
        super().__init__()
        self.summary, self.left = summary, left


def remaining(jobs: Sequence[Job], store: Store) -> list[Job]:
    """The jobs without the runs that the store has; failed runs are tried again."""
    done = store.done()
    kept = (Job(job.execute, tuple(s for s in job.specs if s.key not in done)) for job in jobs)
    return [job for job in kept if job.specs]


def carry_out(jobs: Sequence[Job], store: Store, executor: Executor, workers: int) -> Summary:
    """Run what is missing. Two campaigns on one store may overlap: a run is recorded once."""
    todo = remaining(jobs, store)
    specs: list[RunSpec] = [spec for job in todo for spec in job.specs]
    kept = sum(len(job.specs) for job in jobs) - len(specs)
    tally = Tally(specs, workers)
    try:
        # Another process may finish some of them meanwhile.
        outcomes = executor.run(Queue(todo, wanted=lambda job: bool(remaining([job], store))))
        with _termination_as_interrupt(), progress(tally) as shown, closing(outcomes):
            for job, outcome in outcomes:
                store.write(job.specs, outcome.results, outcome.error, outcome.seconds, outcome.provenance)
                tally.count(job.specs, outcome)
                shown.update(job.specs[0].experiment)
    except KeyboardInterrupt as stop:
        done, failed = tally.done.total(), tally.failed.total()
        raise Interrupted(Summary(done, failed, kept), len(specs) - done - failed) from stop
    return Summary(tally.done.total(), tally.failed.total(), kept)


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """SIGTERM ends a campaign as Ctrl-C does; only the main thread may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
