"""Plans made beside the loop: the same knowledge, taken over later, and a run that can be made again."""

from __future__ import annotations

import copy
import pickle
import threading

import jax
import numpy as np
import pytest

import emuq
from emuq.agents.emuq import background, schedule
from emuq.checkpoint import flatten
from emuq.errors import InputError
from emuq.precision import double
from places import BOX, FOUR, Line, Troubled, place

SMALL = {"features": 40, "capacity": 512, "refresh": 25}


class Track(Line):
    """A line without a goal."""

    def __init__(self):
        super().__init__(BOX, horizon=40)

    def step(self, action):
        observation, _, _, truncated, info = super().step(action)
        return observation, 0.0, False, truncated, info


def test_v_that_is_full_is_folded_before_anything_is_taken_over(monkeypatch):
    agent = emuq.EMUQ(Track(), planning="beside", **SMALL)
    alongside, runtime, done = agent._order, agent._runtime, []
    monkeypatch.setattr(alongside.background, "is_due", lambda: True)
    monkeypatch.setattr(alongside, "_take", lambda: done.append("take"))
    monkeypatch.setattr(runtime, "fold", lambda: done.append("fold"))
    for used in (schedule.BLOCK, schedule.BLOCK // 2):
        runtime.used = used
        alongside.after(1.0)
    assert done == ["fold", "take"]


class Waiting:
    """An environment that waits, now and then, until a plan is made: it is then taken over soon."""

    agent = None

    def step(self, action):
        if self.agent is not None and len(self.actions) % 7 == 3:
            job = self.agent._order.background._job
            if job is not None:
                job.future.result()
        return super().step(action)


class Slow(Waiting, Track):
    """A track that waits."""


class SlowLine(Waiting, Line):
    """A line with a goal that waits."""


def learned(planning, episodes=3, env=None, **options):
    env = env or Slow()
    agent = emuq.EMUQ(env, seed=1, planning=planning, **SMALL, **options)
    if isinstance(env, Waiting) and planning == "beside":
        env.agent = agent
    agent.learn(episodes=episodes, progress=False)
    return agent


def same(one, two):
    """Everything that two agents know, bit for bit."""
    first, second = (flatten(agent._get_state()) for agent in (one, two))
    return [name for name in first if not np.array_equal(first[name], second[name])] == []


def test_a_run_is_made_again_from_its_moments():
    agent = learned("beside", kappa=1.0)
    assert len(agent.moments) >= 5
    again = learned(agent.moments, env=Track(), kappa=1.0)
    assert again.moments == agent.moments
    assert same(agent, again)
    other = learned(agent.moments[:1], env=Track(), kappa=1.0)
    assert not same(agent, other), "the moments matter"


def test_a_run_that_looks_ahead_is_made_again_too():
    agent = learned("beside", env=SlowLine(BOX, horizon=40), episodes=8)
    assert agent.looked > 0
    again = learned(agent.moments, env=SlowLine(BOX, horizon=40), episodes=8)
    assert again.looked == agent.looked
    assert same(agent, again)


def test_what_is_taken_over_has_learned_from_every_transition():
    """The posterior is that of all data, however late a plan was taken over."""
    agent = learned("beside", kappa=1.0)
    state = agent.whole_state()
    data, count = state.data, agent.num_transitions
    with double():
        states, actions = (jax.numpy.asarray(rows[:count], float) for rows in (data.states, data.actions))
        phi = np.asarray(state.basis.features(states, actions))
    exact = np.linalg.inv(agent.settings.prior_precision * np.eye(phi.shape[1]) + phi.T @ phi)
    rows = np.asarray(state.blocked.rows, float)[: agent._runtime.used]
    covariance = np.asarray(state.blocked.covariance, float) - rows.T @ rows
    assert np.allclose(covariance, exact, rtol=0, atol=2e-3 * exact.max())


def test_nothing_is_under_way_once_learning_has_returned_or_the_agent_is_saved(tmp_path):
    env, saved = Track(), []
    agent = emuq.EMUQ(env, seed=1, planning="beside", kappa=1.0, **SMALL)

    def save(event):
        if event.kind == "step" and event.agent.num_transitions == 57:
            agent.save(tmp_path / "middle.emuq")
            saved.append(agent._order.background.kind)

    agent.learn(episodes=3, progress=False, callback=save)
    assert saved == [None]
    assert agent._order.background.kind is None
    again = learned(agent.moments, episodes=3, env=Track(), kappa=1.0)
    assert same(agent, again), "also where it was saved in the middle"
    middle = emuq.EMUQ.load(tmp_path / "middle.emuq", Track())
    assert middle.moments == [moment for moment in agent.moments if moment[0] <= 57]
    assert middle.options["planning"] == "beside"
    middle.learn(episodes=1, progress=False)


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, RuntimeError])
def test_an_interrupt_leaves_an_agent_that_goes_on(trouble, tmp_path):
    def fail():
        raise trouble

    agent = emuq.EMUQ(Troubled(Track(), 51, fail), seed=1, planning="beside", kappa=1.0, **SMALL)
    with pytest.raises(trouble):
        agent.learn(episodes=3, progress=False)
    assert agent.num_transitions == agent.history.steps == 50
    assert agent._order.background.kind is None
    agent.save(tmp_path / "broken.emuq")
    again = emuq.EMUQ.load(tmp_path / "broken.emuq", Track())
    assert same(agent, again)
    for one in (agent, again):
        one.learn(episodes=1, progress=False)


def test_copies_and_pickles_go_on_for_themselves():
    agent = learned("beside", episodes=2, env=Track(), kappa=1.0)
    for other in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert other.moments == agent.moments
        assert same(other, agent)
    twin = copy.deepcopy(agent)
    twin.learn(episodes=1, progress=False)
    assert twin._order._runtime is twin._runtime is not agent._runtime
    assert agent.num_transitions == 80 < twin.num_transitions == 120


def test_an_error_in_a_plan_is_raised_where_it_is_taken_over(monkeypatch):
    def fail(*_):
        raise ZeroDivisionError("no plan")

    agent = emuq.EMUQ(Track(), seed=1, planning="beside", kappa=1.0, **SMALL)
    monkeypatch.setattr(background.programs, "KEPT", background.programs.KEPT._replace(plan=fail))
    with pytest.raises(ZeroDivisionError):
        agent.learn(episodes=3, progress=False)


def test_plans_are_made_in_a_thread_of_their_own(monkeypatch):
    seen = set()
    plan = background.programs.KEPT.plan

    def watched(*args):
        seen.add(threading.current_thread().name)
        return plan(*args)

    monkeypatch.setattr(background.programs, "KEPT", background.programs.KEPT._replace(plan=watched))
    learned("beside", episodes=1, kappa=1.0)
    assert seen == {"emuq-plan_0"}


def test_in_step_with_the_data_nothing_is_recorded():
    agent = learned("in step", episodes=1, env=Track())
    assert agent.moments == []
    assert "planning" not in agent.options


def test_where_states_repeat_there_is_nothing_to_plan_beside():
    agent = emuq.EMUQ("emuq/CliffWalking-v0", planning="beside", seed=0)
    agent.learn(episodes=1, progress=False)
    assert agent.moments == []


@pytest.mark.parametrize("planning", ["later", 3, [(-1, False)], [(20, False), (10, False)], None])
def test_bad_ways_of_planning_are_refused(planning):
    with pytest.raises(InputError, match=r"planning is .*: expected 'in step', 'beside', or the moments"):
        emuq.EMUQ(Line(BOX), planning=planning, **SMALL)


def test_copies_of_an_environment_are_planned_for_in_step():
    import gymnasium as gym

    copies = gym.make_vec("emuq/MountainCar-v0", 2, vectorization_mode="sync")
    with pytest.raises(InputError, match="planning is 'beside' where copies step together"):
        emuq.EMUQ(copies, planning="beside", **SMALL).learn(episodes=1, progress=False)


def test_a_deadline_and_plans_beside_the_loop_go_together():
    agent = emuq.EMUQ(place("emuq", horizon=40), seed=1, planning="beside", kappa=1.0, **SMALL)
    history = agent.learn(episodes=3, progress=False, deadline=600.0)
    assert history.to_dict()["missed"] == [0, 0, 0]
    assert agent.action_space == FOUR
