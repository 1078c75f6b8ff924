"""An episode that does not finish is closed as cut: history, data and what follows agree, for every agent."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import emuq
from emuq.agents.interrupts import Interrupts
from emuq.errors import InputError
from places import AGENTS, Troubled, agent, place

STEP = 5  # of the second episode, in which something goes wrong
FIRST = 10  # the steps of the first: the goal is so far away


def stop():
    raise KeyboardInterrupt


def fail():
    raise RuntimeError("a wire came off")


def agrees(learner) -> bool:
    """Rows add up, and to the number of transitions."""
    rows = learner.history.to_dict()
    return rows["steps"] == np.cumsum(rows["length"]).tolist() and (
        learner.num_transitions == (rows["steps"][-1] if rows["steps"] else 0)
    )


def learn(learner, error, **options):
    with pytest.raises(error):
        learner.learn(episodes=3, progress=False, **options)


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("trouble", [stop, fail])
def test_an_episode_broken_off_in_a_step_is_a_row_and_learning_goes_on(name, trouble, tmp_path):
    env = Troubled(place(name), FIRST + STEP, trouble)
    learner = agent(name, env)
    learn(learner, (KeyboardInterrupt, RuntimeError))
    assert [(row.length, row.goal) for row in learner.history] == [(FIRST, True), (STEP - 1, False)]
    assert agrees(learner)
    learner.save(tmp_path / "broken.emuq")
    again = type(learner).load(tmp_path / "broken.emuq", place(name))
    for one in (learner, again):
        one.learn(episodes=2, progress=False)
        assert agrees(one)
    assert again.history.to_dict() == learner.history.to_dict()


@pytest.mark.parametrize("name", AGENTS)
def test_trouble_in_a_callback_keeps_the_step_that_was_made(name):
    learner, calls = agent(name, place(name)), []

    def callback(event):
        calls.append(event.kind)
        if calls.count("step") == FIRST + STEP:
            fail()

    learn(learner, RuntimeError, callback=callback)
    assert [row.length for row in learner.history] == [FIRST, STEP]
    assert agrees(learner)


def test_trouble_in_a_callback_after_the_last_step_leaves_the_goal_reached():
    learner = agent("random", place("random"))
    learn(learner, RuntimeError, callback=lambda event: fail() if event.transition.terminated else None)
    assert [(row.length, row.goal) for row in learner.history] == [(FIRST, True)]


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize(("where", "number"), [("reset", 2), ("step", FIRST + 1)])
def test_where_no_step_was_made_there_is_no_row(name, where, number):
    learner = agent(name, Troubled(place(name), number, stop, where=where))
    learn(learner, KeyboardInterrupt)
    assert [row.length for row in learner.history] == [FIRST]
    assert agrees(learner)
    learner.learn(episodes=1, progress=False)
    assert agrees(learner)


@pytest.mark.parametrize("name", [name for name in AGENTS if not AGENTS[name][2]])
@pytest.mark.parametrize("index", [0, 1])
def test_a_bad_number_in_the_middle_is_not_learned_from(name, index):
    bad = [(np.array([1.0, np.nan]), 0.0), (np.zeros(2), float("nan"))][index]
    learner = agent(name, Troubled(place(name), FIRST + STEP, lambda: (*bad, False, False, {})))
    with pytest.raises(InputError, match=f"step {FIRST + STEP}") as caught:
        learner.learn(episodes=3, progress=False)
    assert "\n" not in str(caught.value)
    assert [row.length for row in learner.history] == [FIRST, STEP - 1]
    learner.learn(episodes=1, progress=False)
    assert agrees(learner)


def test_no_reward_flows_back_over_a_broken_end():
    learner = agent("emuq", Troubled(place("emuq"), STEP, stop), kappa=1.0)
    learn(learner, KeyboardInterrupt)
    learner.learn(episodes=1, progress=False)
    data = learner.whole_state().data
    ended, terminal = (np.flatnonzero(np.asarray(x)).tolist() for x in (data.ended, data.terminal))
    assert ended == [STEP - 2, STEP - 2 + FIRST]  # broken off there: nothing flows back over it
    assert terminal == [STEP - 2 + FIRST]
    paths = learner.trajectories()
    assert [len(path) for path in paths] == [STEP - 1, FIRST]
    assert [path[0][0] for path in paths] == [0, 0]


def test_a_controller_counts_what_the_history_counts():
    learner = agent("random", Troubled(place("random"), FIRST + STEP, stop), kappa=emuq.kappa.Budget(3))
    learn(learner, KeyboardInterrupt)
    assert learner.kappa == 1
    learner.learn(episodes=1, progress=False)
    assert len(learner.history) == 3
    assert learner.kappa == 0


@pytest.mark.parametrize("number", [STEP, FIRST + STEP])
def test_trouble_in_a_test_episode_leaves_the_learning_episode_whole(number):
    kappa = emuq.kappa.Target(test_return=2.0, consecutive=2)
    learner = agent("random", Troubled(place("random"), number, stop), kappa=kappa)
    learn(learner, KeyboardInterrupt)
    assert [row.length for row in learner.history] == [min(number - 1, FIRST)]
    assert int(learner._controller_state.episodes) == 1
    learner.learn(episodes=1, progress=False)
    assert agrees(learner)


def test_an_agent_that_fails_after_it_has_stored_a_step_counts_it():
    learner = agent("emuq", place("emuq"))
    learner.plan = fail  # it is due after ten steps
    learn(learner, RuntimeError)
    del learner.plan
    assert [(row.length, row.goal) for row in learner.history] == [(FIRST, True)]
    assert agrees(learner)


# Ctrl-C itself ------------------------------------------------------------------------------------------


def ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_waits_while_an_agent_learns():
    learner = agent("random", place("random"))
    advance, seen = learner._advance, []

    def pressed(transition):
        ctrl_c()
        seen.append(advance(transition))
        return seen[-1]

    learner._advance = pressed
    learn(learner, KeyboardInterrupt)
    assert len(seen) == 1, "it was not broken off, and nothing came after it"
    assert [row.length for row in learner.history] == [1]


def test_ctrl_c_is_heard_at_once_in_a_step():
    learner = agent("random", Troubled(place("random"), STEP, ctrl_c))
    learn(learner, KeyboardInterrupt)
    assert [row.length for row in learner.history] == [STEP - 1]


def test_the_programs_own_handler_is_asked_and_put_back():
    asked = []
    before = signal.signal(signal.SIGINT, lambda *_: asked.append(True))
    try:
        own = signal.getsignal(signal.SIGINT)
        with Interrupts() as ears:
            ctrl_c()
            assert asked == []
            ears.during(ctrl_c)
            assert asked == [True, True]
            ctrl_c()
        assert asked == [True] * 3
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)
