"""Experiments beyond the paper: what they measure, and that they stand missing runs."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest

from emuq.agents.emuq.options import DEFAULT, PAPER
from emuq.errors import MissingExtra
from emuq.experiments import (
    ablation,
    ahead,
    every,
    exploit,
    foreign,
    foreign_tasks,
    hanging,
    named,
    suite,
    suite_tasks,
)
from emuq.experiments.base import Row
from emuq.run.spec import RunSpec

TESTS = exploit.TESTS


def _row(domain, seed, tests, first_goal=1):
    spec = next(s for s in exploit.specs([seed]) if s.domain == domain)
    return Row(spec, {"first_goal": first_goal, "tests": tests})


def test_they_run_only_when_named():
    beyond = {"exploit", "field", "ahead", "ablation", "foreign", "hanging", "sensitivity", "suite", "views"}
    assert not beyond & {e.name for e in named([])}
    assert beyond <= set(every())
    assert [e.name for e in named(["ablation"])] == ["ablation"]


def test_passing_counts_from_the_first_goal_and_the_share_from_an_episode():
    row = _row("MountainCar", 0, [(1, TESTS, 70.0), (4, 3, 90.0), (6, TESTS, 70.0), (31, 0, None),
                                    (40, TESTS, 66.0)], first_goal=3)  # fmt: skip
    assert exploit.passed(row) == 6  # before the goal was found it was luck
    assert exploit.kept(row, 6) == pytest.approx(2 / 3)
    assert exploit.kept(row, 30) == 0.5
    assert exploit.passed(_row("MountainCar", 0, [(1, TESTS, 70.0)], first_goal=None)) is None


def test_tests_are_carried_on_to_episodes_without_one():
    row = _row("MountainCar", 0, [(2, 5, 80.0), (4, TESTS, None)])
    success, steps = exploit.by_episode(row, 1), exploit.by_episode(row, 2)
    assert np.isnan(success[0])
    assert success[1:4].tolist() == [5, 5, TESTS]
    assert steps[2] == 80
    assert np.isnan(steps[3])


def test_verdicts_tables_and_figure_of_exploit():
    good = [_row("MountainCar", s, [(1, 0, None), (5, TESTS, 70.0 + s), (45, TESTS, 70.0)]) for s in range(8)]
    bad = [_row("DoublePendulum", s, [(5, 1, 70.0), (45, s % 2, None)]) for s in range(8)]
    verdicts = [claim.verdict for claim in exploit.claims(good + bad)]
    assert verdicts == ["reproduced", "not reproduced"]
    (table,) = exploit.tables(good + bad)
    assert table.rows[0][2] == "8/8"
    assert table.rows[1][2] == "0/8"
    assert len(exploit.figure(good + bad).axes) == 4
    assert exploit.claims([]) == []


def test_a_run_of_exploit_tests_after_episodes():
    spec = dataclasses.replace(
        next(s for s in exploit.specs([0]) if s.domain == "MountainCar"),
        settings=(("episodes", 2), ("horizon", 60), ("tests", 2)),
    )
    (result,) = exploit.execute([spec])
    assert [episode for episode, _, _ in result["tests"]] == [1, 2]
    assert all(0 <= goals <= 2 for _, goals, _ in result["tests"])


def test_every_change_is_an_option_in_which_the_presets_differ():
    for options in list(ablation.CHANGES.values())[1:]:
        assert options
        for name, value in options.items():
            assert getattr(PAPER, name) != getattr(DEFAULT, name) != value
    # What remains bears on exploitation alone, or does nothing without what was changed.
    named_there = {name for options in ablation.CHANGES.values() for name in options}
    differ = {
        f.name for f in dataclasses.fields(DEFAULT) if getattr(DEFAULT, f.name) != getattr(PAPER, f.name)
    }
    assert differ - named_there == {"lookahead"}


def test_verdicts_tables_and_figure_of_the_ablation():
    def row(spec):
        slow = spec["change"] == "U ends at 0" and spec.domain == "Hopper"
        episode = None if slow else 2 + spec.seed % 3
        return Row(spec, {"goal_episode": episode, "goal_steps": episode and 50 * episode, "steps": 500})

    rows = [row(spec) for spec in ablation.specs(range(6)) if spec.domain in ("Hopper", "MountainCar")]
    found = {claim.claim.split(": ")[1]: claim.verdict for claim in ablation.claims(rows)}
    assert found["U ends at 0"] == "reproduced"
    assert found["observations not clipped"] != "reproduced"
    (table,) = ablation.tables(rows)
    assert table.rows[list(ablation.CHANGES).index("U ends at 0")][2] == "100.0 (0/6)"
    assert ablation.figure(rows).axes
    assert ablation.claims([]) == []


def test_hanging_compares_with_chance():
    rows = [
        Row(
            spec,
            {"goal_episode": 1, "goal_steps": 90, "steps": 90 if spec.agent == "emuq" else 900 + spec.seed},
        )
        for spec in hanging.specs(range(6))
    ]
    assert [claim.verdict for claim in hanging.claims(rows)] == ["reproduced", "undecided"]


def test_views_are_drawn_of_the_runs_that_there_are():
    from emuq.experiments import views

    values, path = [-float(i) for i in range(views.RESOLUTION**2)], [[0.0, 0.0], [0.1, 0.1]]
    panels = [{"of": of, "values": values, "path": path} for of in "uuuq"]
    result = {"views": panels, "low": [-1.0, -1.0], "high": [1.0, 1.0]}
    some = [Row(spec, result) for spec in views.specs([3]) if spec.domain != "SinglePendulum"]
    drawn = views.figure(some).axes
    assert len(drawn) == 2 * 4
    assert [axes.images[0].get_clim()[0] for axes in drawn[:3]] == [min(values)] * 3  # one scale for U
    assert "CartpoleSwingUp" in drawn[4].get_ylabel()
    views.figure([])
    assert views.claims(some) == []


def test_looking_ahead_is_compared_with_a_regressed_q_on_the_same_seeds():
    specs = [s for s in ahead.specs(range(6)) if s.domain == "CartPole-v1"]
    assert {s.get("options") for s in specs} == {(), (("lookahead", 1),), (("lookahead", 0),)}
    last = {(): 500.0, (("lookahead", 1),): 480.0, (("lookahead", 0),): 9.0}
    rows = [Row(s, {"returns": [9.0, 9.0, 9.0, last[s.get("options")]]}) for s in specs]
    without, one = ahead.claims(rows)
    assert (without.statistic, without.runs, without.verdict) == (1.0, 6, "reproduced")
    assert (one.statistic, one.verdict) == (0.0, "undecided"), "both are at the threshold"
    (table,) = ahead.tables(rows)
    assert [row[-1] for row in table.rows] == ["500.0 (6/6)", "480.0 (6/6)", "9.0 (0/6)"]
    assert ahead.claims(rows[:6]) == []
    assert ahead.tables([]) == []


def test_looking_ahead_is_compared_by_later_episodes_where_there_is_a_goal():
    specs = [s for s in ahead.specs(range(6)) if s.domain == "MountainCar"]
    rows = [
        Row(s, {"first_goal": 1, "tests": [(30, 20, 70.0), (60, 5 if s.get("options") else 20, 70.0)]})
        for s in specs
    ]
    claims = ahead.claims(rows)
    assert [(claim.statistic, claim.verdict) for claim in claims] == [(0.5, "reproduced")] * 2
    (table,) = ahead.tables(rows)
    half = "50.0% [50.0%, 50.0%]"
    assert [row[-1] for row in table.rows] == ["100.0% [100.0%, 100.0%]", half, half]


# Environments that the project does not contain -----------------------------------------------------------


def _foreign(name, **settings):
    spec = next(s for s in foreign.specs([0]) if (s.domain, s.agent) == (name, "random"))
    return dataclasses.replace(spec, settings=tuple(sorted((dict(spec.settings) | settings).items())))


def test_a_foreign_run_is_told_by_its_tests():
    (result,) = foreign.execute([_foreign("FrozenLake-v1", steps=50, threshold=0.0)])
    assert (result["solved"], result["returns"]) == (True, result["goals"] / 1000)
    (result,) = foreign.execute([_foreign("FrozenLake-v1", steps=50, threshold=1.1)])
    assert not result["solved"]
    rows = [Row(_foreign("FrozenLake-v1"), result)]
    (table,) = foreign.tables(rows)
    found = result["goal_steps"]
    assert table.rows[0][-3:-1] == ("0/1" if found is None else f"1/1, {found} steps", "0/1")
    assert table.rows[0][3:6] == ("", "", "")  # no run of EMU-Q's
    assert foreign.claims(rows) == foreign.tables([]) == []


def test_foreign_tasks_without_a_threshold_are_goal_only(monkeypatch):
    task = foreign_tasks.TASKS["Swimmer-v5"]
    assert task.threshold is None
    for least, told in ((-1e9, (1.0, True)), (1e9, (0.0, False))):
        monkeypatch.setitem(foreign_tasks.TASKS, "Swimmer-v5", task._replace(least=least))
        env = foreign_tasks.make("Swimmer-v5")
        env.reset(seed=0)
        assert env.step(env.action_space.high)[1:3] == told


def test_foreign_tasks_of_the_suite_end_at_a_reward(monkeypatch):
    pytest.importorskip("dm_control.suite")
    for least, told in ((-1.0, (1.0, True)), (9.0, (0.0, False))):
        monkeypatch.setitem(foreign_tasks.TASKS, "acrobot-swingup", foreign_tasks.Task(10, least=least))
        env = foreign_tasks.make("acrobot-swingup")
        env.reset(seed=0)
        assert env.step(env.action_space.low)[1:3] == told


def test_what_a_foreign_task_needs_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium_robotics", None)
    with pytest.raises(
        MissingExtra, match=r"^gymnasium_robotics is not installed: pip install gymnasium-robotics$"
    ):
        foreign_tasks.make("PointMaze_UMaze-v3")


def _suite(agent, **settings):
    spec = next(s for s in suite.specs([0]) if (s.domain, s.agent) == ("pendulum-swingup", agent))
    return RunSpec.of(suite.NAME, agent, spec.domain, 0, **{**dict(spec.settings), **settings})


def test_a_task_of_the_suite_is_made_of_decisions_and_its_runs_are_told_by_tests():
    pytest.importorskip("dm_control.suite")
    env = suite_tasks.Decisions("pendulum-swingup")
    first, again = env.reset(seed=3)[0], env.reset(seed=3)[0]
    assert first.shape == (3,)
    assert (first == again).all()
    assert (env.reset(seed=4)[0] != first).any()
    cuts = [env.step(env.action_space.sample())[3] for _ in range(500)]
    assert cuts == [False] * 499 + [True]  # 1,000 frames
    spec = _suite("random", steps=40, marks=(20, 40), tests=1, threshold=-1.0)
    (result,) = suite.execute([spec])
    assert len(result["returns"]) == 2
    assert 0 <= result["returns"][0] <= 1000
    assert result["threshold_steps"] == 20
    assert suite.tables([]) == suite.claims([Row(spec, result)]) == []
