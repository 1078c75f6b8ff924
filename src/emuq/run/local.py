"""Jobs in local processes, each with its own share of the cores.

Processes are spawned, never forked (JAX's threads do not survive a fork), and live through many jobs, so
that what one job compiled serves the next. A process that dies takes its own job with it and no other.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from emuq import cache, dispatch
from emuq.run import devices
from emuq.run.jobs import Job, Outcome, died, perform
from emuq.run.provenance import cores
from emuq.run.queue import Queue, domain

_SPAWN = multiprocessing.get_context("spawn")


class _Worker(NamedTuple):
    process: BaseProcess
    pipe: Connection


class LocalProcesses:
    """`workers` processes of `threads` threads each; by default as many as there are cores, one each.

    With `gpu` they share the GPU that JAX finds.
    """

    def __init__(self, workers: int | None = None, threads: int | None = None, *, gpu: bool = False) -> None:
        self.gpu, self.workers = gpu, workers or cores()
        self.threads = threads or max(1, cores() // self.workers)

    def run(self, jobs: Queue) -> Generator[tuple[Job, Outcome]]:
        """Each job with its outcome, as they end. Leaving the loop early ends the processes."""
        busy: dict[Connection, tuple[_Worker, Job]] = {}
        workers: list[_Worker] = []

        def following(last: Job | None = None) -> Job | None:
            return jobs.take(last, {domain(job) for _, job in busy.values()})

        try:
            while len(busy) < self.workers and (job := following()) is not None:
                worker = self._give(job, None, workers)
                busy[worker.pipe] = worker, job
            while busy:
                for pipe in wait(list(busy)):
                    worker, job = busy.pop(pipe)  # type: ignore[index]
                    outcome = _receive(worker)
                    after = following(job)
                    if after is not None:
                        # The next job starts before this one is recorded: nobody waits for the disk.
                        worker = self._give(after, worker, workers)
                        busy[worker.pipe] = worker, after
                    yield job, outcome
        finally:
            for worker in workers:
                worker.process.terminate()
            for worker in workers:
                worker.process.join(5)
                if worker.process.is_alive():
                    worker.process.kill()
                    worker.process.join()
                worker.pipe.close()

    def _give(self, job: Job, worker: _Worker | None, workers: list[_Worker]) -> _Worker:
        """The process that has the job now: `worker`, or a new one if that is none or has ended."""
        if worker is not None:
            try:
                if worker.process.is_alive():
                    worker.pipe.send(job)
                    return worker
            except (BrokenPipeError, ConnectionResetError):  # it ended at this very moment
                pass
            workers.remove(worker)
            worker.pipe.close()
        workers.append(worker := self._start())
        worker.pipe.send(job)
        return worker

    def _start(self) -> _Worker:
        ours, theirs = _SPAWN.Pipe()
        process = _SPAWN.Process(target=_serve, args=(theirs,), daemon=True)
        given = threads(self.threads) | cache.variables(self.threads)
        with _environment(given | (devices.variables(True) if self.gpu else {})), _ignoring_interrupts():
            process.start()
        theirs.close()
        return _Worker(process, ours)


def threads(number: int) -> dict[str, str]:
    """The environment that keeps a process to `number` threads: BLAS's, OpenMP's and XLA's (NPROC)."""
    names = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return dict.fromkeys(names, str(number))


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """A process started in here ignores Ctrl-C from its first moment; the parent handles it for all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _receive(worker: _Worker) -> Outcome:
    try:
        return worker.pipe.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join()
        code = worker.process.exitcode or 0
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return died(f"the process of this run was {how}")


def _serve(pipe: Connection) -> None:
    """A worker's life: receive a job, perform it, send the outcome."""
    threading.Thread(target=_follow_parent, daemon=True).start()
    dispatch.inline()
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        pipe.send(perform(job))


def _follow_parent() -> None:
    """End when the parent ends, even by SIGKILL: no orphan goes on computing."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
