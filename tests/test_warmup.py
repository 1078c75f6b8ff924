"""After a warm-up nothing compiles, whatever happens: compilations are counted."""

from __future__ import annotations

import threading

import gymnasium as gym
import jax
import numpy as np
import pytest

import emuq
from emuq.agents.emuq import warming
from places import BOX, FOUR, Line

SMALL = {"features": 30, "capacity": 256, "refresh": 40}


@pytest.fixture(autouse=True)
def _warms(monkeypatch):
    monkeypatch.setattr(warming, "ENABLED", True)


@pytest.fixture
def compiled():
    """The names of threads in which something was compiled, one for each program."""
    threads = []

    def hear(event, duration_secs, **_):
        if event.endswith("backend_compile_duration"):
            threads.append(threading.current_thread().name)

    jax.monitoring.register_event_duration_secs_listener(hear)
    yield threads
    jax.monitoring.unregister_event_duration_listener(hear)


class Unbounded(Line):
    """The same line without bounds, which an agent has to learn."""

    def __init__(self, actions, **options):
        super().__init__(actions, **options)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)


def everything(agent, tmp_path):
    """All that happens to an agent in a long life: rewards, kappa, tests, files."""
    agent.learn(steps=270, progress=False)
    for kappa in (0.0, 0.3, float("inf")):
        agent.kappa = kappa
        agent.learn(episodes=3, progress=False)
    agent.kappa = 0.0
    agent.learn(steps=100, progress=False)
    agent.evaluate(1)
    agent.predict(agent.env.observation_space.sample())
    agent.save(tmp_path / "agent.emuq")


@pytest.mark.parametrize("planning", ["in step", "beside"])
@pytest.mark.parametrize("kind", [Line, Unbounded])
def test_nothing_compiles_after_the_warm_up(planning, kind, compiled, tmp_path):
    env = kind(BOX, horizon=40)
    env.reset(seed=0)
    agent = emuq.EMUQ(env, seed=0, planning=planning, **SMALL | {"capacity": 2048})
    assert agent.warmup() > 0
    compiled.clear()
    everything(agent, tmp_path)
    assert agent.num_transitions < 1024, "half of the room is free, so that no more is made"
    assert not compiled


def test_more_room_is_compiled_for_beside_the_steps(compiled):
    agent = emuq.EMUQ(Unbounded(BOX, horizon=40), seed=0, planning="beside", **SMALL)
    agent.warmup()
    compiled.clear()
    for steps in (200, 70):  # half of the room is taken, then all of it, and with it half of the larger one
        agent.learn(steps=steps, progress=False)
        warming._thread().submit(int).result()  # a longer run has the larger one long before it is needed
    assert "emuq-room_0" in compiled, "the thread that is there for it"
    assert threading.current_thread().name not in compiled, "the loop waits for nothing"
    compiled.clear()
    agent.learn(steps=60, progress=False)
    assert agent.num_transitions > 256, "the room has grown"
    assert not compiled


def test_what_is_compiled_is_compiled_once(compiled):
    options = {"features": 26, "capacity": 256}
    first = emuq.EMUQ(Line(FOUR), seed=0, **options)
    assert first.warmup() > 0
    assert compiled
    second = emuq.EMUQ(Line(FOUR), seed=1, **options)
    compiled.clear()
    assert second.warmup() < 1.0
    second.learn(episodes=3, progress=False)
    assert not compiled


def test_learning_warms_up_before_the_first_reset(compiled):
    class Watched(Line):
        def reset(self, **options):
            seen.append(len(compiled))
            return super().reset(**options)

    seen: list[int] = []
    agent = emuq.EMUQ(Watched(BOX), seed=0, features=22, capacity=256)
    agent.learn(episodes=2, progress=False)
    assert seen[0] > 0
    assert seen[1] == seen[0] == len(compiled)


def test_a_warm_up_changes_nothing_of_the_agent():
    runs = []
    for warm in (True, False):
        agent = emuq.EMUQ(Line(BOX), seed=3, **SMALL)
        if warm:
            agent.warmup()
        agent.learn(episodes=3, progress=False)
        runs.append(agent.dataset()["actions"])
    assert np.array_equal(*runs)
