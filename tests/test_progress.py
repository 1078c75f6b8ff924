"""Progress: a bar where one can be drawn, else a line now and then; never on stdout."""

from __future__ import annotations

import io
import threading

import gymnasium as gym
import jax
import pytest
import rich.console

import emuq.progress
from emuq import compiling
from emuq.compiling import Compiling
from emuq.history import Episode
from emuq.progress import COMPILING, Bar, Lines, Progress, display

ROW = Episode(1.0, 5, True, 0.5, 5)
BEGINS = "/jax/core/compile/jaxpr_to_mlir_module_duration"
ENDS = "/jax/core/compile/backend_compile_duration"


@pytest.fixture
def clock(monkeypatch):
    """Time as the test sets it."""
    now = [0.0]
    monkeypatch.setattr(emuq.progress.time, "monotonic", lambda: now[0])
    return now


def test_off_a_terminal_there_is_a_line_every_ten_seconds_at_most(clock, capsys):
    with Progress(True, episodes=4) as bar:
        for _ in range(4):
            for _ in range(5):
                clock[0] += 1.0
                bar.step()
            bar.episode(ROW)
            clock[0] += 0.1
    told = capsys.readouterr()
    assert told.out == ""
    first, second = told.err.splitlines()
    assert first.startswith("1 of 4 episodes  steps 10  return +1.00  kappa 0.5  goals 1")
    assert second.startswith("3 of 4 episodes  steps 20")


def test_progress_that_is_not_wanted_is_not_shown(clock, capsys):
    with Progress(False, steps=10) as bar:
        clock[0] = 100.0
        bar.step()
        bar.episode(ROW)
    told = capsys.readouterr()
    assert told.out == told.err == ""


@pytest.mark.parametrize(
    ("terminal", "notebook", "widgets", "kind"),
    [
        (True, False, False, Bar),
        (False, False, True, Lines),
        (False, True, True, Bar),
        (False, True, False, Lines),
    ],
)
def test_a_bar_is_drawn_where_one_can_be(terminal, notebook, widgets, kind, monkeypatch):
    class Console(rich.console.Console):
        def __init__(self, stderr=False):
            super().__init__(file=io.StringIO(), force_terminal=terminal or None, force_jupyter=notebook)

    monkeypatch.setattr(rich.console, "Console", Console)
    monkeypatch.setattr(emuq.progress, "find_spec", lambda name: object() if widgets else None)
    monkeypatch.setattr("rich.progress.Progress.start", lambda self: None)
    assert type(display(10)) is kind


def test_compiling_for_long_is_told_once_and_while_it_goes_on(monkeypatch):
    told, again = threading.Event(), []
    monkeypatch.setattr(compiling, "AFTER_SECONDS", 0.0)

    def tell():
        again.append(1)
        told.set()

    with Compiling(tell):
        jax.monitoring.record_event_duration_secs(BEGINS, 0.1)
        assert told.wait(30)
        jax.monitoring.record_event_duration_secs(ENDS, 5.0)
        jax.monitoring.record_event_duration_secs(BEGINS, 0.1)
    jax.monitoring.record_event_duration_secs(BEGINS, 0.1)
    assert again == [1]


def test_many_short_compilations_are_told_once_they_add_up(monkeypatch):
    waits = []

    class Timer(threading.Timer):
        def __init__(self, interval, function):
            waits.append(interval)
            super().__init__(1000.0, function)

    monkeypatch.setattr(threading, "Timer", Timer)
    with Compiling(lambda: None):
        for _ in range(4):
            jax.monitoring.record_event_duration_secs(BEGINS, 0.1)
            jax.monitoring.record_event_duration_secs(ENDS, 0.75)
    assert waits == [2.0, 1.25, 0.5, 0.0]


def test_a_first_compilation_is_announced_by_learning(monkeypatch, capsys):
    monkeypatch.setattr(compiling, "AFTER_SECONDS", 0.0)
    said = threading.Event()
    monkeypatch.setattr(Lines, "say", lambda self, text: said.set() if text == COMPILING else None)
    # Sizes that no other test has, so that there is something to compile.
    env = gym.make("emuq/Chain-v0", length=7)
    agent = emuq.RFFQ(env, features=38)
    agent.learn(steps=2)
    assert said.wait(30)
