"""The field, side by side: what is run, when it is tested, and what is made of stored runs."""

from __future__ import annotations

import dataclasses
import json

import gymnasium as gym
import numpy as np
import pytest

import emuq
from emuq.agents.registry import misfit
from emuq.errors import InputError
from emuq.experiments import field, field_sb3, named
from emuq.experiments.base import Row
from emuq.experiments.field_tasks import GOAL_ONLY, GYMNASIUM, MARKS, TASKS, make, spec_of, threshold_steps
from emuq.experiments.plan import finished, plan
from emuq.report.summary import summarise
from emuq.run.jobs import Job, perform
from emuq.run.store import Store


@pytest.fixture(autouse=True)
def nobody_elses(monkeypatch, tmp_path):
    """No file of Stable-Baselines3's, whatever this checkout has; the path where one would be read."""
    path = tmp_path / "field-sb3.json"
    monkeypatch.setattr(field_sb3, "FILE", path)
    return path


def short(agent, task, **settings):
    """The run of a task with these settings in place of its own."""
    spec = spec_of(agent, task, 0)
    return dataclasses.replace(spec, settings=tuple(sorted((dict(spec.settings) | settings).items())))


def row(agent, task, seed, returns=None, goal_steps=None):
    """A finished run; without returns, one that is 0 at all marks."""
    spec = spec_of(agent, task, seed)
    returns = returns or [0.0] * len(spec["marks"])
    result = {"returns": returns, "seconds": 0.002 * spec["steps"]}
    if task in GYMNASIUM:
        return Row(spec, result | {"threshold_steps": threshold_steps(spec, returns)})
    return Row(spec, result | {"goal_episode": goal_steps and 1, "goal_steps": goal_steps})


def test_every_run_has_a_key_of_its_own_and_the_marks_of_its_task():
    specs = field.specs(range(20))
    assert len({spec.key for spec in specs}) == len(specs) == 12 * 3 * 20
    for spec in specs:
        assert spec["marks"] == tuple(mark for mark in MARKS if mark <= spec["steps"])
        assert spec["marks"][-1] == spec["steps"], "the end of a run is tested"
    assert {name: task.threshold for name, task in TASKS.items() if task.threshold is not None} == {
        "MountainCarContinuous-v0": 90, "CartPole-v1": 475, "Pendulum-v1": -200, "Acrobot-v1": -100,
        "MountainCar-v0": -120,
    }  # fmt: skip
    assert len(plan(named(["field"]), seeds=2, agents=["rnd"], domains=["CartPole-v1"])) == 2


@pytest.mark.parametrize("task", TASKS)
def test_every_agent_serves_every_task(task):
    if task in ("LunarLander", "Reacher", "Hopper"):
        pytest.importorskip("Box2D" if task == "LunarLander" else "mujoco")
    env = make(spec_of("emuq", task, 0))
    assert [misfit(agent, env) for agent in ("emuq", "rnd", "random")] == [None] * 3
    bounded = bool(np.isfinite(env.observation_space.low).all() and (env.observation_space.high < 1e6).all())
    assert bounded or task in GOAL_ONLY or TASKS[task].bounds is not None
    env.close()


def test_the_threshold_is_reached_at_the_first_mark_that_is_at_it():
    spec = spec_of("emuq", "Acrobot-v1", 0)
    assert threshold_steps(spec, [-500.0, -100.0, -300.0, -80.0]) == 1000
    assert threshold_steps(spec, [-500.0, -100.1, -300.0, -101.0]) is None


def test_tests_are_those_of_evaluate_and_change_nothing_in_what_is_learned():
    (result,) = field.execute([short("rnd", "Pendulum-v1", steps=50, marks=(25, 50), tests=2)])
    alone = emuq.RND(gym.make("Pendulum-v1"), seed=0)
    alone.learn(steps=50, progress=False)
    tests = alone.evaluate(2, env=gym.make("Pendulum-v1"))
    assert result["returns"][1] == np.mean([episode.total_return for episode in tests])
    assert len(result["returns"]) == 2
    assert result["threshold_steps"] is None
    assert result["seconds"] > 0


def test_a_goal_only_run_says_when_the_goal_was_found_first():
    spec = short("random", "SinglePendulum", steps=1200, marks=(600, 1200), tests=1)
    (result,) = field.execute([spec])
    agent = emuq.RandomAgent(make(spec), seed=0)
    history = agent.learn(steps=1200, progress=False)
    assert history.first_goal is not None
    assert result["goal_episode"] == history.first_goal
    assert result["goal_steps"] == history[history.first_goal - 1].steps
    assert "threshold_steps" not in result


def test_tables_claims_and_figure_of_stored_runs(tmp_path):
    (experiment,) = named(["field"])
    rows = []
    for seed in range(6):
        last = -105.0 if seed < 4 else -150.0  # two runs lose it again
        rows += [row("emuq", "MountainCar-v0", seed, [-200.0, -130.0 + 5 * seed, -110.0, last]),
                 row("random", "MountainCar-v0", seed, [-200.0] * 4),
                 row("emuq", "Hopper", seed, goal_steps=(400, 700, None)[seed % 3]),
                 row("random", "Hopper", seed)]  # fmt: skip
    with Store(tmp_path) as store:
        store.write([r.spec for r in rows], [r.result for r in rows], None, 1.0, {})
        stored, errors, foreign = finished(experiment, store)
    assert (len(stored), errors, foreign) == (24, [], 0)
    gymnasium, goals = experiment.tables(stored)
    assert gymnasium.rows[0] == (
        "MountainCar-v0 (-120)", "EMU-Q, default",
        "-200.0 (0/6)", "-117.5 (4/6)", "-110.0 (6/6)", "-105.0 (4/6)", "-", "-", "-", "1,000", "2.00",
    )  # fmt: skip
    assert gymnasium.rows[1][-2] == "never"
    assert gymnasium.note == field_sb3.HOW
    assert goals.rows[0][:5] == ("Hopper", "EMU-Q, default", "0.00 (2/6)", "0.00 (4/6)", "0.00 (4/6)")
    assert [row[-2] for row in goals.rows] == ["700", "never"]
    assert all(len(line) == len(table.header) for table in (gymnasium, goals) for line in table.rows)
    assert [claim.verdict for claim in experiment.claims(stored)] == ["reproduced", "reproduced"]
    assert experiment.figure is not None
    assert [axes.get_title() for axes in experiment.figure(stored).axes][:5] == list(GYMNASIUM)
    found = {(r["agent"], r["domain"]): r["steps_median"] for r in summarise(experiment, stored)}
    assert found["emuq", "Hopper"] == 700
    assert found["emuq", "MountainCar-v0"] is None


def test_analysis_stands_the_absence_of_runs():
    (experiment,) = named(["field"])
    assert experiment.claims([]) == []
    one = [row("emuq", "Reacher", 0)]
    gymnasium, goals = experiment.tables(one)
    assert (len(gymnasium.rows), len(goals.rows)) == (0, 1)
    assert experiment.figure is not None
    assert len(experiment.figure(one).axes) == 6


def theirs(seed, **other):
    marks, returns = [500, 1000, 2000, 3000, 5000, 6000], [-1500.0] * 5 + [-150.0 - seed]
    return {"agent": "sac", "task": "Pendulum-v1", "seed": seed, "marks": marks, "returns": returns,
            "seconds": 60.0, **other}  # fmt: skip


def test_runs_of_stable_baselines3_stand_beside_ours(nobody_elses):
    other_marks = theirs(6, marks=[500, 1000, 2000, 3000, 4000, 6000])
    nobody_elses.write_text(json.dumps({"runs": [*map(theirs, range(6)), other_marks]}))
    ours = [row("emuq", "Pendulum-v1", seed, [-1500.0] * 5 + [-160.0 - seed]) for seed in range(6)]
    table, _ = field.EXPERIMENTS[0].tables(ours)
    assert [line[1] for line in table.rows] == ["EMU-Q, default", "SAC"]
    assert table.rows[1][-4:] == ("-152.5 (6/6)", "-", "6,000", "10.00")
    assert "SAC needs a Box" in table.note
    (claim,) = field.claims(ours)
    assert (claim.statistic, claim.verdict) == (-10, "not reproduced")


@pytest.mark.parametrize("text", ["[]", '{"runs": [{"agent": "sac"}]}', "{", '{"runs": 3}'])
def test_a_file_that_is_no_such_file_is_named_in_one_line(nobody_elses, text):
    nobody_elses.write_text(text)
    with pytest.raises(InputError, match=r"field-sb3\.json is not a file of make sb3-field") as error:
        field_sb3.rows()
    assert "\n" not in str(error.value)


def test_a_run_is_recorded_as_others_are(tmp_path):
    spec = short("random", "Acrobot-v1", steps=20, marks=(10, 20), tests=1)
    outcome = perform(Job(field.execute, (spec,)))
    assert outcome.error is None
    with Store(tmp_path) as store:
        store.write([spec], outcome.results, None, outcome.seconds, outcome.provenance)
        (record,) = store.records("field")
    assert record.result is not None
    assert record.result["returns"] == [-500.0, -500.0]
