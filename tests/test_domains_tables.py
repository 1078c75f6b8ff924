"""Domains that are tables, beside Gymnasium's; the chain."""

import gymnasium as gym
import jax
import numpy as np
import pytest

from emuq import domains
from emuq.precision import double
from side_by_side import check_goal_only, original, steps


def every(states, actions):
    state, action = np.meshgrid(np.arange(states), np.arange(actions), indexing="ij")
    return state.ravel().astype(np.int32), action.ravel().astype(np.int32)


def check_table(name, original_name, states, actions, **options):
    """All transitions against Gymnasium's table; the classic reward is its reward."""
    state, action = every(states, actions)
    result, _ = steps(name, state, action, reward="classic", **options)
    table = original(original_name).P
    for i, (s, a) in enumerate(zip(state, action, strict=True)):
        [(probability, following, reward, terminated)] = table[s][a]
        assert probability == 1.0
        assert (result.state[i], result.reward[i], result.terminated[i]) == (following, reward, terminated)
    return state, action, result.state


def test_cliff_walking():
    state, action, following = check_table("CliffWalking", "CliffWalking-v1", 48, 4, slip=0.0)
    table = original("CliffWalking-v1").P
    falls = np.array([table[s][a][0][2] == -100 for s, a in zip(state, action, strict=True)])
    for scale in (1.0, 100.0):
        result, _ = steps("CliffWalking", state, action, slip=0.0, reward_scale=scale)
        assert np.array_equal(
            result.reward, scale * np.where(following == 47, 1.0, np.where(falls, -1.0, 0.0))
        )
        assert np.array_equal(result.terminated, following == 47)
        assert np.array_equal(result.goal, following == 47)


def test_cliff_walking_slips_as_often_as_asked():
    """A slip draws one of four directions, so that three quarters of them show."""
    number = 20_000
    state, action = np.full(number, 17, np.int32), np.zeros(number, np.int32)
    for slip in (0.0, 0.1, 1.0):
        result, _ = steps("CliffWalking", state, action, slip=slip)
        share = np.mean(result.state != 17 - 12)
        assert abs(share - 0.75 * slip) < 4 * np.sqrt(0.25 / number) + 1e-12
        if slip:
            assert set(result.state) == {5, 16, 18, 29}


def test_taxi():
    state, action, following = check_table("Taxi", "Taxi-v4", 500, 6)
    result, _ = steps("Taxi", state, action)
    table = original("Taxi-v4").P
    classic = np.array([table[s][a][0][2] for s, a in zip(state, action, strict=True)])
    was_in, is_in = state // 4 % 5 == 4, following // 4 % 5 == 4
    elsewhere = (action == 5) & was_in & ~is_in & (classic == -1)
    assert np.array_equal(
        result.reward, np.where(classic == 20, 1.0, np.where((classic == -10) | elsewhere, -0.1, 0.0))
    )
    assert np.array_equal(result.goal, classic == 20)
    assert np.array_equal(result.terminated, classic == 20)


def test_taxi_starts_as_gymnasium_does():
    expected = np.flatnonzero(original("Taxi-v4").initial_state_distrib)
    with double():
        first = np.asarray(jax.vmap(domains.make("Taxi").reset)(jax.random.split(jax.random.key(0), 6000)))
    assert np.array_equal(np.unique(first), expected)


@pytest.mark.parametrize("length", [5, 20])
def test_chain(length):
    number = 20_000
    state = np.full(number, 2, np.int32)
    left, _ = steps("Chain", state, np.zeros(number, np.int32), length=length)
    assert np.all(left.state == 1)
    assert np.all(left.reward == 0)
    right, _ = steps("Chain", state, np.ones(number, np.int32), length=length)
    assert set(right.state) == {1, 3}
    p = 1 / length
    assert abs(np.mean(right.state == 1) - p) < 4 * np.sqrt(p * (1 - p) / number)
    first, _ = steps("Chain", 0 * state, np.zeros(number, np.int32), length=length)
    assert np.all(first.state == 0)
    last, observed = steps("Chain", 0 * state + length - 2, np.ones(number, np.int32), length=length)
    check_goal_only(last, last.state == length - 1, False)
    assert np.array_equal(observed[:, 0], last.state)


@pytest.mark.parametrize("sparsity", [0.0, 0.3, 1.0])
def test_chain_sparsity(sparsity):
    number = 20_000
    result, _ = steps(
        "Chain", np.full(number, 8, np.int32), np.ones(number, np.int32), length=10, sparsity=sparsity
    )
    assert np.all(result.reward[result.goal] == 1.0)
    others = result.reward[~result.goal]
    assert set(others) <= {0.0, -1.0}
    assert abs(np.mean(others == -1.0) - (1 - sparsity)) < 4 * np.sqrt(0.25 / others.size)


def test_chain_as_a_table():
    env = gym.make("emuq/Chain-v0", length=4, observation="index")
    assert env.observation_space == gym.spaces.Discrete(4)
    assert env.reset(seed=0)[0] == 0
    assert env.step(0)[0] == 0
