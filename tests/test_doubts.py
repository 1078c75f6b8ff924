"""What an agent warns of, once: goals that may be none, rewards that dwarf exploration."""

from __future__ import annotations

import warnings

import pytest

import emuq
from emuq.errors import LearningWarning
from places import BOX, EMUQ, Line, agent, place


class Paying(Line):
    """`reward(time)` at each step, and the end after `horizon` steps, by termination or not."""

    def __init__(self, reward, *, horizon=3, ends=True, info=None) -> None:
        super().__init__(BOX, horizon=horizon)
        self.pay, self.ends, self.said = reward, ends, info or {}

    def step(self, action):
        observation, *_ = super().step(action)
        over = self.time >= self.horizon
        return observation, self.pay(self.time), over and self.ends, over and not self.ends, self.said


def warned(env, episodes, **options) -> list[str]:
    learner = agent(options.pop("name", "random"), env, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.learn(episodes=episodes, progress=False)
    assert all(one.category is LearningWarning for one in caught)
    assert len(learner.history) == episodes
    return [str(one.message) for one in caught]


@pytest.mark.parametrize(
    "env",
    [
        Paying(lambda time: 1.0),  # an end like every step: none
        Paying(lambda time: 1.0, info={"is_success": True}),  # it says so itself
        Paying(lambda time: float(time == 3)),  # only the goal is rewarded
        Paying(lambda time: 1.0 if time == 3 else -0.1),  # and the way to it costs
        Paying(lambda time: 1.0, ends=False),  # no goals at all
    ],
)
def test_goals_that_may_be_goals_are_not_doubted(env):
    assert warned(env, 12) == []


def test_it_is_said_once_when_kappa_would_never_fall():
    (text,) = warned(Paying(lambda time: -1.0, ends=False), 60, kappa=emuq.kappa.UntilGoal())
    assert "none of 50 episodes counts as a goal" in text


@pytest.mark.parametrize(
    ("env", "kappa"),
    [
        (Paying(lambda time: -1.0, ends=False), emuq.kappa.Decay(0.1)),
        (Paying(lambda time: 0.0, ends=False), emuq.kappa.UntilGoal()),  # a goal that is far away
        (Paying(lambda time: -float(time == 3)), emuq.kappa.UntilGoal()),  # or failures on the way to it
        (Paying(lambda time: -1.0, ends=False, info={"is_success": False}), emuq.kappa.UntilGoal()),
    ],
)
def test_patience_is_not_doubted(env, kappa):
    assert warned(env, 60, kappa=kappa) == []


@pytest.mark.parametrize(
    ("reward", "kappa", "said"),
    [(900.0, 1.0, False), (1100.0, 1.0, True), (1100.0, 2.0, False), (1100.0, 0.0, False)],
)
def test_it_is_said_once_when_one_reward_dwarfs_exploration(reward, kappa, said):
    env = place("exploration-values")
    env.step = lambda action, step=env.step: (step(action)[0], -reward, *step(action)[2:])
    texts = warned(env, 2, name="exploration-values", kappa=kappa)
    assert len(texts) == said
    assert all("kappa U weighs at most 100" in text for text in texts)


def test_emuqs_exploration_reaches_as_far_as_its_bounds_of_u():
    assert emuq.EMUQ(Line(BOX), **EMUQ).exploration_range == pytest.approx(1 / (1 - 0.97))
    assert emuq.EMUQ(Line(BOX), **EMUQ, preset="paper").exploration_range == pytest.approx(100)
