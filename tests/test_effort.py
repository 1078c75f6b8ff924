"""What an action costs while exploring: nothing at rest, nothing to Q, nothing with a single actuator."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import emuq
from emuq.agents.actions import actions_of, from_unit
from emuq.errors import InputError

SMALL = {"features": 100, "capacity": 1024, "seed": 0, "effort": 0.35}


def box(low, high):
    return actions_of(gym.spaces.Box(np.array(low, float), np.array(high, float), dtype=float))


def lander(**options):
    """After two episodes, one of which ends in a crash at least: Q has something to tell."""
    agent = emuq.EMUQ(gym.make("emuq/LunarLander-v0", max_episode_steps=150), **SMALL | options)
    agent.learn(episodes=2, progress=False)
    assert np.any(np.asarray(agent.whole_state().data.rewards) < 0)
    return agent


@pytest.mark.parametrize(
    ("low", "high", "rest"),
    [([-1, -2], [1, 2], [0, 0]), ([0, 0], [1, 1], [0, 0]), ([-3, 1], [-1, 2], [-1, 1])],
)
def test_rest_is_free_and_full_effort_costs_one(low, high, rest):
    actions = box(low, high)
    physical = from_unit(actions, actions.candidates)
    efforts = actions.efforts
    assert efforts is not None
    np.testing.assert_array_equal(physical[np.argmin(efforts)], rest)
    assert efforts.min() == 0
    assert efforts.max() == 1


def test_a_throttle_between_unequal_limits_is_measured_by_the_larger():
    actions = box([-1, -1], [4, 1])
    physical = from_unit(actions, actions.candidates)
    np.testing.assert_allclose(actions.efforts, ((physical[:, 0] / 4) ** 2 + physical[:, 1] ** 2) / 2)


@pytest.mark.parametrize("space", [gym.spaces.Discrete(3), gym.spaces.Box(-1.0, 1.0, (1,))])
def test_one_actuator_has_no_price(space):
    assert actions_of(space).efforts is None


def test_an_actuator_without_range_has_no_effort():
    np.testing.assert_allclose(box([-1, 2], [1, 2]).efforts, box([-1, 0], [1, 0]).efforts)


@pytest.mark.parametrize("kappa", [0.0, 0.5, np.inf])
def test_the_action_is_the_best_in_q_and_u_less_its_price(kappa):
    agent = lander(lookahead=0)
    grid = from_unit(agent._actions, agent._actions.candidates)
    for observation in agent._scaling.inverse(np.asarray(agent.whole_state().data.states[:50:10])):
        q, u, _ = agent.values(np.tile(observation, (len(grid), 1)), grid)
        priced = u - agent.settings.effort * agent._actions.efforts * np.ptp(u)
        total = priced if np.isinf(kappa) else q + kappa * priced
        np.testing.assert_allclose(agent.predict(observation, kappa=kappa)[0], grid[np.argmax(total)])


def test_a_price_goes_into_a_file_and_comes_out(tmp_path):
    agent = lander()
    agent.save(tmp_path / "lander.emuq")
    again = emuq.EMUQ.load(tmp_path / "lander.emuq", agent.env)
    np.testing.assert_array_equal(again.whole_state().basis.prices, agent.whole_state().basis.prices)
    for each in (agent, again):
        each.learn(episodes=1, progress=False)
    assert again.history.to_dict() == agent.history.to_dict()


def test_a_higher_price_makes_for_less_effort():
    def effort(price):
        agent = lander(effort=price)
        states = agent._scaling.inverse(np.asarray(agent.whole_state().data.states[:80]))
        return np.mean([np.square(agent.predict(state, kappa=np.inf)[0]).mean() for state in states])

    assert effort(2.0) < 0.5 * effort(0.0)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_effort_is_free_unless_a_price_is_given(preset):
    agent = emuq.EMUQ(gym.make("emuq/LunarLander-v0"), preset=preset, features=100)
    assert agent.whole_state().basis.prices is None


@pytest.mark.parametrize("price", [-1.0, np.inf, np.nan])
def test_what_is_no_price_is_refused(price):
    with pytest.raises(InputError, match=f"effort is {price}: expected a finite number from 0"):
        emuq.EMUQ(gym.make("emuq/LunarLander-v0"), effort=price)
