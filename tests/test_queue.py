"""Jobs wait for the process that has compiled their programs: that of their domain."""

from __future__ import annotations

from emuq.run.jobs import Job
from emuq.run.queue import Queue
from emuq.run.spec import RunSpec


def job(agent: str, domain: str, seed: int = 0) -> Job:
    return Job(lambda specs: [{} for _ in specs], (RunSpec.of("some", agent, domain, seed),))


A0, A1, B0, C0 = job("x", "A"), job("y", "A"), job("x", "B"), job("x", "C")


def test_a_queue_is_in_order():
    assert list(Queue([A0, A1, B0])) == [A0, A1, B0]


def test_a_process_stays_in_its_domain_and_begins_with_one_that_is_nobody_elses():
    queue = Queue([A0, A1, B0, C0])
    assert queue.take() == A0
    assert queue.take(busy={"A"}) == B0
    assert queue.take(last=A0, busy={"B"}) == A1
    assert queue.take(last=B0, busy={"A"}) == C0
    assert queue.take(last=B0) is None


def test_a_process_with_nothing_of_its_own_to_do_helps_another():
    queue = Queue([A0, A1])
    assert queue.take(last=B0, busy={"A"}) == A0


def test_what_was_finished_meanwhile_is_left_out():
    done = set()
    queue = Queue([A0, A1, B0], wanted=lambda job: job not in done)
    assert queue.take() == A0
    done.add(A1)
    assert queue.take(last=A0) == B0
    assert queue.take() is None
