"""Exact features where states repeat, and DeepSea, which nothing smooth can solve."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import emuq
from emuq import domains
from emuq.agents.emuq.exact import ExactRuntime
from emuq.agents.spaces import Spaces
from emuq.errors import InputError
from emuq.planning.targets import TOLERANCE


def sea(size=10, **options) -> gym.Env:
    return gym.make("emuq/DeepSea-v0", size=size, **options)


@pytest.mark.parametrize(("size", "most", "options"), [(10, 100, {"observation": "one-hot"}), (20, 400, {})])
def test_deep_sea_with_drawn_actions_is_found_within_its_square(size, most, options):
    for seed in range(2):
        agent = emuq.EMUQ(sea(size, meaning=seed, **options), seed=seed)
        history = agent.learn(episodes=most, until="goal", progress=False)
        assert history.first_goal is not None
        assert all(row.goal for row in agent.learn(episodes=3, progress=False)), "and then held"


def test_one_sequence_alone_finds_the_goal():
    env = sea(4, meaning=3)
    rightward = np.random.default_rng(3).integers(2, size=16, dtype=np.int32)
    for miss in (None, 0, 3):
        state, _ = env.reset(seed=0)
        for row in range(4):
            action = rightward[state] ^ (row == miss)
            state, reward, terminated, _, info = env.step(int(action))
        assert terminated
        assert (reward, info["is_success"]) == (float(miss is None), miss is None)
    with pytest.raises(InputError, match="size is 1"):
        domains.make("DeepSea", size=1)


@pytest.fixture(scope="module")
def diver():
    agent = emuq.EMUQ(sea(5, stochastic=True), seed=0, kappa=1.0)
    seen = []
    agent.learn(
        episodes=12, callback=lambda e: seen.append(e.transition) if e.transition else None, progress=False
    )
    agent.plan()
    return agent, seen


def test_the_table_is_the_posterior_on_indicator_features(diver):
    agent, seen = diver
    alpha, beta, gamma = (
        agent.settings.prior_precision,
        agent.settings.noise_precision,
        agent.settings.rules.u_discount,
    )
    place = np.array([2 * t.observation + t.action for t in seen])
    phi = np.eye(50)[place]
    covariance = np.linalg.inv(alpha * np.eye(50) + beta * phi.T @ phi)
    q, u, variance = (
        np.array([agent.values(s, a)[i] for s in range(25) for a in range(2)]) for i in range(3)
    )
    np.testing.assert_allclose(variance, np.diag(covariance), rtol=1e-12)
    following = np.array([0 if t.terminated else t.next_observation for t in seen])  # U goes on at the start
    novelty = alpha * variance.reshape(25, 2).mean(axis=1) - 1
    best = (q + u).reshape(25, 2).argmax(axis=1)
    target = novelty[following] + gamma * u.reshape(25, 2)[following, best[following]]
    np.testing.assert_allclose(beta * covariance @ phi.T @ target, u, atol=2 * TOLERANCE)
    assert agent.converged == (True, True)


def test_an_exact_agent_goes_on_where_it_was_saved(diver, tmp_path):
    agent, _ = diver
    agent.save(tmp_path / "sea.emuq")
    again = emuq.EMUQ.load(tmp_path / "sea.emuq", sea(5, stochastic=True), kappa=1.0)
    assert np.array_equal(np.concatenate(again.trajectories()), np.concatenate(agent.trajectories()))
    one, other = (a.learn(episodes=5, progress=False).to_dict() for a in (agent, again))
    assert one == other


def test_who_is_exact():
    few, many = gym.spaces.Discrete(9), gym.spaces.MultiBinary(40)
    box, vector = gym.spaces.Box(-1, 1, (1,)), gym.spaces.Box(0, 1, (9,))
    small = {"features": 16, "capacity": 256}
    kinds = {
        name: isinstance(emuq.EMUQ(Spaces(*spaces), **small, **options)._runtime, ExactRuntime)
        for name, spaces, options in [
            ("few states", (few, few), {}),
            ("too many states", (many, few), {}),
            ("actions in a box", (few, box), {}),
            ("not wanted", (few, few), {"exact": False}),
            ("the paper's", (few, few), {"preset": "paper"}),
            ("numbers", (vector, few), {}),
            ("wanted", (vector, few), {"exact": True}),
        ]
    }
    assert {name for name, exact in kinds.items() if exact} == {"few states", "wanted"}
    with pytest.raises(InputError, match="exact is True, but actions"):
        emuq.EMUQ(Spaces(vector, box), exact=True)
