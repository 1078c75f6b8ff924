"""Jobs that wait for a process: first those whose programs it is likely to have compiled already.

Programs are shared within a domain: by seeds, by experiments, and by the tabular agents among each other. Two
processes in the same domain would compile them side by side, and at few seeds that is half of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from emuq.run.jobs import Job


def domain(job: Job) -> str:
    return job.specs[0].domain


class Queue:
    """Jobs in their order, but for `take`; those that `wanted` refuses when their turn comes are left out."""

    def __init__(self, jobs: Sequence[Job], wanted: Callable[[Job], bool] = lambda _: True) -> None:
        self._jobs, self._wanted = list(jobs), wanted

    def take(self, last: Job | None = None, busy: Collection[str] = ()) -> Job | None:
        """The next job for a process: in the domain of its last one, or in one that no other is busy with."""
        while self._jobs:
            alike = (
                i for i, job in enumerate(self._jobs) if last is not None and domain(job) == domain(last)
            )
            apart = (i for i, job in enumerate(self._jobs) if domain(job) not in busy)
            job = self._jobs.pop(next(alike, next(apart, 0)))
            if self._wanted(job):
                return job
        return None

    def __iter__(self) -> Iterator[Job]:
        while (job := self.take()) is not None:
            yield job
