"""What processes compute on: a GPU is found without taking it, and shared by those that have it."""

from __future__ import annotations

import dataclasses
import importlib.util
import subprocess

import pytest

import toy
from emuq.experiments.plan import plan
from emuq.run import devices
from emuq.run.jobs import Job
from emuq.run.local import LocalProcesses
from emuq.run.queue import Queue


@pytest.fixture
def asked(monkeypatch):
    """What another process says that JAX computes on, when it is asked."""
    devices.gpu_here.cache_clear()
    said = []

    def run(command, **given):
        assert command[1] == "-c"
        return subprocess.CompletedProcess(command, 0, said.pop())

    monkeypatch.setattr(devices.subprocess, "run", run)
    yield said
    devices.gpu_here.cache_clear()


@pytest.mark.parametrize(
    ("plugins", "answer", "gpu"), [(True, "gpu\n", True), (True, "cpu\n", False), (None, None, False)]
)
def test_a_gpu_is_found_by_asking_another_process(plugins, answer, gpu, asked, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: plugins)
    asked.append(answer)
    assert devices.gpu_here() is gpu
    assert asked == ([None] if answer is None else []), "where JAX has no plugin nobody is asked"
    assert devices.batches(gpu).size == (1024 if gpu else 10)


def test_processes_that_share_a_gpu_take_its_memory_as_they_need_it(monkeypatch):
    name = "XLA_PYTHON_CLIENT_PREALLOCATE"
    monkeypatch.delenv(name, raising=False)
    (spec, *_) = toy.TOY.specs([0])
    for gpu, expected in ((True, "false"), (False, None)):
        ((_, outcome),) = LocalProcesses(1, gpu=gpu).run(Queue([Job(toy.devices, (spec,))]))
        assert outcome.results[0][name] == expected
    monkeypatch.setenv(name, "true")
    assert name not in devices.variables(True), "the user has said otherwise"


def test_batches_are_of_so_many_seeds():
    experiment = dataclasses.replace(toy.BATCHED, in_batches=lambda spec: spec.agent == "fair")
    jobs = plan([experiment], seeds=5, batches=devices.Batches(2, 5))
    assert [[spec.seed for spec in job.specs] for job in jobs] == [[0, 1], [2, 3], [4], [0, 1, 2, 3, 4]]
    jobs = plan([experiment], seeds=4, batches=devices.Batches(2, 5))
    assert [[spec.seed for spec in job.specs] for job in jobs] == [[0], [1], [2], [3], [0, 1, 2, 3]]
