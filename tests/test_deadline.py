"""A control loop: commands that come late, commands that change too fast, machines that break off."""

from __future__ import annotations

import threading

import gymnasium as gym
import numpy as np
import pytest

import emuq
from emuq.agents.limits import Limits
from emuq.errors import InputError
from emuq.history import History
from places import BOX, EMUQ, Line, Troubled, agent, place

DEADLINE = 0.3  # seconds: long enough for an agent of forty features on a busy machine
LATE = 3  # steps that an agent misses in which it is held up


class Machine(Line):
    """A line whose episodes last 30 steps."""

    def __init__(self):
        super().__init__(BOX, horizon=30)
        self.passed = threading.Condition()

    def step(self, action):
        observation, _, _, truncated, info = super().step(action)
        with self.passed:
            self.passed.notify_all()
        return observation, 0.0, False, truncated, info

    def wait_for(self, steps):
        """Until so many steps have been made."""
        with self.passed:
            assert self.passed.wait_for(lambda: len(self.actions) >= steps, timeout=60)


def held_up(learner, env, step, error=None):
    """The agent does not answer to this step, counted from 1, before LATE more have been made."""
    advance, calls = learner._advance, []

    def slow(transition):
        calls.append(transition)
        if len(calls) == step:
            env.wait_for(step + LATE)
            if error is not None:
                raise error
        return advance(transition)

    learner._advance = slow
    return calls


def made(**options):
    """An agent that has compiled what it needs, and its machine."""
    env = Machine()
    learner = emuq.EMUQ(env, seed=0, kappa=1.0, plan_interval=None, refresh=None, **EMUQ, **options)
    learner.learn(episodes=2, progress=False)
    env.actions.clear()
    return learner, env


@pytest.mark.parametrize("safe", [None, [0.25]])
def test_a_late_answer_repeats_the_last_command_or_the_safe_one_and_all_is_learned_from(safe):
    learner, env = made()
    calls = held_up(learner, env, 5)
    history = learner.learn(episodes=1, progress=False, deadline=DEADLINE, safe_action=safe)
    assert history.to_dict()["missed"] == [LATE]
    late = env.actions[5 : 5 + LATE]
    assert all(np.array_equal(sent, env.actions[4] if safe is None else safe) for sent in late)
    assert [call.action.tolist() for call in calls] == [sent.tolist() for sent in env.actions], (
        "every step is learned from, in its order, with what was sent"
    )
    assert learner.num_transitions == learner.history.steps == 3 * 30
    where = np.cumsum([row.length for row in learner.history])[1]
    assert np.allclose(learner.dataset()["actions"][where:].ravel(), np.ravel(env.actions), atol=1e-6)


def test_an_agent_in_time_learns_what_it_learns_without_a_deadline():
    runs = []
    for deadline in (None, 10.0):
        learner = emuq.EMUQ(Line(BOX), seed=0, **EMUQ)
        history = learner.learn(episodes=4, progress=False, deadline=deadline)
        runs.append((learner.dataset(), history.to_dict()))
    (one, told), (two, timed) = runs
    assert timed.pop("missed") == [0] * 4
    assert told == timed
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_callbacks_hear_every_step_once_and_only_while_the_agent_is_idle():
    learner, env = made()
    held_up(learner, env, 4)
    heard, threads = [], set()

    def hear(event):
        threads.add(threading.current_thread())
        if event.kind == "step":
            heard.append(event.transition.action.tolist())
            assert event.agent.num_transitions >= 60 + len(heard)

    learner.learn(episodes=1, progress=False, deadline=DEADLINE, callback=hear)
    assert heard == [sent.tolist() for sent in env.actions]
    assert threads == {threading.current_thread()}


@pytest.mark.parametrize("deadline", [None, DEADLINE])
@pytest.mark.parametrize("bad", ["raises", "nan", "interrupt"])
def test_a_machine_that_breaks_off_ends_its_episode_and_learning_goes_on(deadline, bad, tmp_path):
    def trouble():
        if bad == "raises":
            raise RuntimeError("a wire came off")
        if bad == "interrupt":
            raise KeyboardInterrupt
        return np.array([np.nan, 0.0]), 0.0, False, False, {}

    learner, env = made()
    if deadline is not None:
        held_up(learner, env, 8 - LATE)
    errors = {"raises": RuntimeError, "nan": InputError, "interrupt": KeyboardInterrupt}
    with pytest.raises(errors[bad]):
        learner.learn(episodes=2, progress=False, deadline=deadline, env=Troubled(env, 10, trouble))
    assert learner.history[-1].length == 9, "what came before it is kept"
    assert learner.num_transitions == learner.history.steps == 69
    learner.save(tmp_path / "broken.emuq")
    again = emuq.EMUQ.load(tmp_path / "broken.emuq", env)
    assert again.history.to_dict() == learner.history.to_dict()
    for one in (learner, again):
        one.learn(episodes=1, progress=False)
        assert one.num_transitions == one.history.steps == 99


def test_an_error_of_the_agents_own_is_raised_and_what_came_after_it_is_not_learned_from():
    learner, env = made()
    held_up(learner, env, 5, error=ZeroDivisionError("no"))
    with pytest.raises(ZeroDivisionError):
        learner.learn(episodes=1, progress=False, deadline=DEADLINE)
    assert learner.num_transitions == learner.history.steps == 64


def test_misses_are_saved_and_read(tmp_path):
    learner, env = made()
    held_up(learner, env, 5)
    learner.learn(episodes=1, progress=False, deadline=DEADLINE)
    learner.save(tmp_path / "late.emuq")
    again = emuq.EMUQ.load(tmp_path / "late.emuq", env)
    assert again.history[2].missed == learner.history[2].missed == LATE
    assert [row.missed for row in again.history[:2]] == [None, None]
    assert History.from_dict(again.history.to_dict()).to_dict() == again.history.to_dict()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"deadline": 0}, "deadline is 0: expected seconds above 0"),
        ({"deadline": "soon"}, "deadline is 'soon'"),
        ({"deadline": float("nan")}, "deadline is nan"),
        ({"safe_action": [0.0]}, "safe_action is .* without a deadline"),
        ({"deadline": 0.01, "safe_action": [2.0]}, r"safe_action is .*: it is not in Box"),
    ],
)
def test_bad_deadlines_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        emuq.EMUQ(Line(BOX), **EMUQ).learn(episodes=1, progress=False, **options)


def test_an_agent_that_learns_from_its_own_actions_alone_has_no_deadline():
    with pytest.raises(InputError, match="RFFQ learns from its own actions alone"):
        agent("rffq", place("rffq")).learn(episodes=1, progress=False, deadline=0.01)


# How fast a command may change ------------------------------------------------------------------------------


def test_commands_never_change_by_more_than_their_rate():
    env, rates = Line(gym.spaces.Box(-1.0, 1.0, (2,)), horizon=60), np.array([0.1, 0.5])
    learner = emuq.EMUQ(env, seed=0, kappa=1.0, action_rate=rates, **EMUQ)
    learner.learn(episodes=3, progress=False)
    tests = learner.evaluate(2)
    sent, learned = np.array(env.actions), learner.dataset()["actions"]
    assert np.allclose(learned, sent[: len(learned)], atol=1e-6), "what was sent is what was learned from"
    ends = np.cumsum([row.length for row in [*learner.history, *tests]])
    changes = []
    for episode in np.split(sent, ends[:-1]):
        changes.append(np.abs(np.diff(episode, axis=0, prepend=np.zeros((1, 2)))))  # it begins at rest
    assert np.all(np.concatenate(changes) <= rates + 1e-6)
    assert all(np.any(change >= rates - 1e-6) for change in changes), "the limit was reached"


def test_a_rate_is_saved_with_the_agent(tmp_path):
    learner = emuq.EMUQ(Line(BOX), seed=0, action_rate=0.2, **EMUQ)
    learner.learn(episodes=1, progress=False)
    learner.save(tmp_path / "slow.emuq")
    again = emuq.EMUQ.load(tmp_path / "slow.emuq", env := Line(BOX))
    again.learn(episodes=1, progress=False)
    assert np.abs(np.diff(np.ravel(env.actions), prepend=0)).max() <= 0.2 + 1e-6


def test_rest_is_the_command_nearest_to_nothing():
    limits = Limits(gym.spaces.Box(np.array([0.5, -1.0]), np.array([2.0, -0.2]), dtype=np.float64), 0.1)
    assert np.allclose(limits.rest, [0.5, -0.2])
    assert np.allclose(limits.nearest([2.0, -1.0], limits.rest), [0.6, -0.3])
    assert np.allclose(limits.nearest([-9.0, 9.0], limits.rest), [0.5, -0.2]), "and it stays in its space"


@pytest.mark.parametrize("rate", [0.0, -1.0, [0.1, 0.2], "slow", float("nan")])
def test_bad_rates_are_refused(rate):
    with pytest.raises(InputError, match="action_rate is"):
        emuq.EMUQ(Line(BOX), action_rate=rate, **EMUQ)


def test_a_choice_among_a_few_has_no_rate():
    with pytest.raises(InputError, match=r"action_rate is 1, but actions are in Discrete.*expected a Box"):
        emuq.EMUQ(place("emuq"), action_rate=1, **EMUQ)


def test_copies_have_no_deadline():
    copies = gym.make_vec("emuq/MountainCar-v0", 2, vectorization_mode="sync")
    with pytest.raises(InputError, match="deadline is given where copies step together"):
        emuq.EMUQ(copies, **EMUQ).learn(episodes=1, progress=False, deadline=0.1)
