"""Copies of an environment that step together: one agent, the right transitions, whole episodes."""

from __future__ import annotations

from functools import partial

import gymnasium as gym
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import emuq
from emuq.errors import InputError
from emuq.precision import double
from places import EMUQ

GOAL = 4.0


class Walk(gym.Env):
    """A walk in steps of a half, from a start that is drawn, to the goal at 4; copies are told by `name`."""

    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Box(np.array([-5.0, 0.0]), np.array([5.0, 7.0]), dtype=np.float64)

    def __init__(self, name: int, horizon: int = 9, trouble: int | None = None) -> None:
        self.name, self.horizon, self.trouble, self.steps = name, horizon + name, trouble, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.time = float(self.np_random.uniform(1.0, 3.0)), 0
        return np.array([self.place, self.name]), {}

    def step(self, action):
        self.steps += 1
        if self.steps == self.trouble:
            raise OSError("a wire is loose")
        self.place, self.time = self.place + (0.5 if action else -0.5), self.time + 1
        goal = self.place >= GOAL
        answer = np.array([self.place, self.name]), float(goal), goal, self.time >= self.horizon
        return *answer, {"is_success": goal}


def copies(mode=AutoresetMode.NEXT_STEP, number=3, kind=SyncVectorEnv):
    return kind([partial(Walk, i) for i in range(number)], autoreset_mode=mode)


def smooth(env, seed=0, **options):
    return emuq.EMUQ(env, seed=seed, **EMUQ, **options)


def check_episodes(agent):
    """Every episode's transitions lie together, follow on one another, and are what the walk does."""
    data, first = agent.dataset(), 0
    assert agent.num_transitions == agent.history.steps == len(data["rewards"])
    for row in agent.history:
        part = {name: column[first : first + row.length] for name, column in data.items()}
        here, there = part["observations"], part["next_observations"]
        first += row.length
        assert len({round(name) for name in here[:, 1]}) == 1, "of one copy alone"
        np.testing.assert_allclose(there[:-1], here[1:], atol=1e-5)
        moved = here[:, 0] + np.where(part["actions"] == 1, 0.5, -0.5)
        last = bool(part["terminated"][-1])
        np.testing.assert_allclose(there[:, 0], moved, atol=1e-5)
        assert not part["terminated"][:-1].any()
        assert last == row.goal == (moved[-1] >= GOAL - 1e-5)
        assert part["rewards"].sum() == row.total_return
    np.testing.assert_array_equal(
        np.cumsum([row.length for row in agent.history]), [row.steps for row in agent.history]
    )


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_each_copys_transitions_are_the_walks_in_every_mode(mode):
    agent = smooth(copies(mode), seed=4)  # which finds the goal after 35 steps
    history = agent.learn(steps=100, progress=False)
    assert history.steps == 100
    assert len(history) > 6
    assert any(row.goal for row in history)
    assert {round(name) for name in agent.dataset()["observations"][:, 1]} == {0, 1, 2}
    check_episodes(agent)
    whole = agent.whole_state().data
    ends = np.flatnonzero(np.asarray(whole.ended[:100])) + 1
    assert ends.tolist() == [row.steps for row in history], "returns go along whole episodes"
    agent.learn(steps=20, progress=False)
    assert agent.num_transitions == 120
    check_episodes(agent)


def test_the_same_seed_learns_the_same_in_other_processes():
    here = smooth(copies(number=2))
    here.learn(steps=40, progress=False)
    other_processes = partial(AsyncVectorEnv, context="spawn")  # a process with JAX in it cannot be forked
    there = smooth(envs := copies(number=2, kind=other_processes))
    there.learn(steps=40, progress=False)
    envs.close()
    assert here.history.to_dict() == there.history.to_dict()
    for name, column in here.dataset().items():
        np.testing.assert_array_equal(column, there.dataset()[name])


def test_ranges_are_learned_from_all_copies():
    class Free(Walk):
        observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)

    agent = smooth(SyncVectorEnv([partial(Free, i) for i in range(2)]))
    agent.learn(steps=60, progress=False)
    check_episodes(agent)
    low, high = agent.bounds
    assert np.all(low <= agent.dataset()["observations"].min(axis=0))
    assert np.all(high >= agent.dataset()["observations"].max(axis=0))


def test_a_table_is_learned_from_copies():
    envs = gym.make_vec("FrozenLake-v1", num_envs=3, vectorization_mode="sync", is_slippery=False)
    agent = emuq.EMUQ(envs, seed=0)
    assert repr(agent).startswith("<EMUQ on 3 copies of FrozenLake-v1, seed 0")
    agent.learn(episodes=40, progress=False)
    assert agent.num_transitions == agent.history.steps
    assert agent.history.first_goal is not None
    data, first = agent.dataset(), 0
    for row in agent.history:
        here, there = (
            data[name][first : first + row.length] for name in ("observations", "next_observations")
        )
        np.testing.assert_array_equal(there[:-1], here[1:])
        first += row.length


def test_plans_see_the_same_data_whatever_order_they_came_in():
    agent = smooth(copies(), kappa=1.0)
    agent.learn(steps=90, progress=False)
    agent.plan()
    state = agent.whole_state()
    with double():
        rows = (jnp.asarray(x[:90], float) for x in (state.data.states, state.data.actions))
        phi = np.asarray(state.basis.features(*rows))
    np.testing.assert_allclose(state.gram, phi.T @ phi, atol=1e-3)


def test_learning_stops_at_the_goal_and_the_others_are_cut():
    agent = smooth(copies(number=2))
    history = agent.learn(episodes=100, until="goal", progress=False)
    goals = [row.goal for row in history]
    assert sum(goals) == 1
    assert not any(goals[goals.index(True) + 1 :])
    check_episodes(agent)


def test_an_error_of_one_copy_closes_all_episodes():
    agent = smooth(SyncVectorEnv([partial(Walk, 0), partial(Walk, 1, trouble=6)]))
    with pytest.raises(OSError, match="wire"):
        agent.learn(steps=100, progress=False)
    assert agent.num_transitions == 10
    check_episodes(agent)
    assert agent.learn(steps=10, progress=False).steps == 20


def test_a_saved_agent_goes_on_in_copies_and_is_tested_in_one(tmp_path):
    agent = smooth(copies(number=2))
    agent.learn(steps=30, progress=False)
    agent.save(tmp_path / "walk.emuq")
    again = emuq.EMUQ.load(tmp_path / "walk.emuq", copies(number=2))
    for one in (agent, again):
        one.learn(steps=30, progress=False)
    assert again.history.to_dict() == agent.history.to_dict()
    assert len(again.evaluate(2, env=Walk(0))) == 2
    with pytest.raises(InputError, match="a single one"):
        again.evaluate(2)


def test_what_copies_cannot_do_is_said_in_one_line():
    envs = copies(number=2)
    agent = smooth(envs, kappa=emuq.kappa.Target(test_return=0.5))
    with pytest.raises(InputError, match="tests the policy in episodes of its own"):
        agent.learn(steps=10, progress=False)
    with pytest.raises(InputError, match="a vector of environments: expected a single one"):
        emuq.RandomAgent(envs)
    unknown = copies(number=2)
    unknown.metadata = {}
    with pytest.raises(InputError, match="autoreset_mode None in its metadata: expected one of") as caught:
        emuq.EMUQ(unknown)
    assert "\n" not in str(caught.value)


def test_of_episodes_under_way_no_transition_follows_on_another():
    agent, seen = smooth(copies()), []

    def look(event):
        under_way = slice(agent.history.steps, agent.num_transitions)
        seen.append(np.asarray(agent.whole_state().data.ended[under_way]).all())

    agent.learn(steps=30, callback=look, progress=False)
    assert len(seen) > 30
    assert all(seen)


def test_kappas_controller_hears_of_no_episode_that_was_cut():
    agent = smooth(copies(), kappa=emuq.kappa.Decay(c=1.0))
    agent.learn(steps=6, progress=False)
    assert [row.length for row in agent.history] == [2, 2, 2]
    assert agent.kappa == 1.0
    agent.learn(episodes=1, progress=False)
    assert agent.kappa == 0.5
