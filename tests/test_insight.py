"""How an agent is doing, in numbers and in words, and which numbers of an observation are noise."""

from __future__ import annotations

import gymnasium as gym
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box

import emuq
from emuq.agents import summary
from emuq.agents.actions import from_unit
from emuq.agents.emuq import insight, relevance
from emuq.agents.emuq.datasets import transitions_of
from emuq.planning import dynamics, selection
from emuq.precision import double
from emuq.progress import Progress


class Drift(gym.Env):
    """Position and speed under a force, and pure noise after them; nothing is ever paid."""

    action_space = Box(-1, 1, (1,), np.float64)
    observation_space = Box(-3, 3, (3,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = np.zeros(2)
        return self._seen(), {}

    def step(self, action):
        position, speed = self.state
        self.state = np.clip([position + 0.1 * speed, 0.9 * speed + 0.3 * action[0]], -2, 2)
        return self._seen(), 0.0, False, False, {}

    def _seen(self):
        return np.append(self.state, self.np_random.uniform(-1, 1))


@pytest.fixture(scope="module")
def drifter():
    agent = emuq.EMUQ(Drift(), seed=0, features=60)
    agent.learn(steps=200, progress=False)
    agent.plan()
    return agent


# Relevance ------------------------------------------------------------------------------------------------


def rows(rng, number):
    """A slow number, one that only pushes it, noise on which an agent acts, a constant; and the actions."""
    push, noise = rng.choice([-1.0, 1.0], number + 1), rng.standard_normal(number + 1)
    actions = np.sign(noise[:-1, None])
    slow = np.cumsum(np.append(0.0, 0.1 * push[:-1] + 0.2 * actions[:, 0]))
    return np.column_stack([slow, push, noise, np.ones(number + 1)]), actions


def noise(*arrays):
    """By all rows."""
    with double():
        return np.asarray(relevance.noise(*map(jnp.asarray, arrays), jnp.ones(len(arrays[0]), bool)))


def test_what_says_nothing_about_what_follows_is_noise_and_what_moves_something_is_not(rng):
    seen, actions = rows(rng, 400)
    found = noise(seen[:-1], actions, np.zeros(400), seen[1:])
    assert found.tolist() == [False, False, True, False]
    few = relevance.ENOUGH - 1
    assert not noise(seen[:few], actions[:few], np.zeros(few), seen[1 : few + 1]).any()


def test_what_is_paid_for_is_not_noise(rng):
    seen, actions = rows(rng, 400)
    assert not noise(seen[:-1], actions, seen[:-1, 2], seen[1:]).any()


def test_features_are_coarse_along_noise_alone(drifter):
    data = drifter.whole_state().data
    with double():
        found, few = (
            relevance.blur(rows).tolist()
            for rows in (data, data._replace(count=jnp.int32(relevance.ENOUGH - 1)))
        )
    assert found == [1, 1, relevance.BLUR]
    assert few == [1, 1, 1]
    drawn = np.asarray(drifter.whole_state().basis.features.state_frequencies).std(axis=0)
    assert drawn[2] < 2 * drawn[0] / relevance.BLUR, "drawn within the episode, at 150 steps"


# Insight --------------------------------------------------------------------------------------------------


def test_what_is_left_is_the_variance_of_q_where_it_has_been(drifter):
    told = drifter.insight()
    states = np.concatenate(drifter.trajectories())
    actions, weights = drifter._actions, drifter._actions.node_weights
    shares = [
        drifter.settings.prior_precision * drifter.values(states, from_unit(actions, node))[2]
        for node in actions.nodes
    ]
    assert told.left == pytest.approx(float(weights @ np.mean(shares, axis=1)), rel=1e-3)


def test_novelty_is_what_the_steps_before_left_unknown(drifter):
    told = drifter.insight()
    features = drifter.whole_state().basis.features
    states, units, *_ = transitions_of(drifter)
    with double():
        phi = np.asarray(features(jnp.asarray(drifter._scaling(states)), jnp.asarray(units)))
    before, after = phi[:100], phi[100:]
    covariance = np.linalg.inv(0.01 * np.eye(60) + before.T @ before)
    assert told.latest == 100
    assert told.novelty == pytest.approx(
        np.mean(0.01 * np.sum((after @ covariance) * after, axis=1)), rel=1e-6
    )


def test_a_model_is_judged_on_steps_that_it_was_not_fitted_to(drifter):
    assert drifter.insight().noise == (2,)
    # Two of three changes can be predicted, and of the noise's change half the variance: sqrt(0.5 / 3) is
    # the best there is. On its own rows a model does better than that.
    with double():
        own = dynamics.sample(drifter.whole_state().data, 0.99)
        chosen = selection.select(dynamics.deviations(own), own.mask, dynamics.KNOWN)
        fitted = float(dynamics.error(dynamics.fit(own, *chosen), own))
    assert fitted < np.sqrt(0.5 / 3) < drifter.insight().error < 0.5


def test_a_table_counts():
    agent = emuq.EMUQ(gym.make("emuq/DeepSea-v0", size=6), seed=0)
    assert agent.insight() is None
    agent.learn(episodes=1, progress=False)
    told = agent.insight()
    # Six cells, one of two actions tried once in each; none was seen before.
    assert told.left == pytest.approx((1 + 0.01 / 1.01) / 2)
    assert (told.novelty, told.latest, told.error, told.rewarded) == (1.0, 3, None, 0)


# Words ----------------------------------------------------------------------------------------------------


def test_words_say_what_is_the_matter(drifter, monkeypatch):
    text = drifter.summary()
    assert "look like noise: 2." in text
    assert "Every reward so far was 0" in text
    told = drifter.insight()._replace(noise=(), error=0.9, left=0.001, novelty=0.001)
    monkeypatch.setattr(insight, "of", lambda agent: told)
    assert "hard to predict" in drifter.summary()
    assert "nothing new any more" in drifter.summary()
    told = told._replace(novelty=0.5)
    assert "let it learn on" in drifter.summary()
    drifter.kappa = 0.0
    assert "nothing has paid yet" in drifter.summary()
    assert "let it learn on" not in drifter.summary()


def test_a_line_comes_after_5_10_and_20_episodes(capsys):
    agent = emuq.EMUQ(gym.make("emuq/DeepSea-v0", size=4), seed=0)
    agent.learn(episodes=11)
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("after ")]
    assert [line.split(":")[0] for line in told] == ["after 5 episodes", "after 10 episodes"]
    assert summary.remark(agent).startswith("after 11 episodes: ")
    with Progress(False, episodes=5) as bar:
        for row in agent.history[:5]:
            bar.episode(row, lambda: pytest.fail("nobody asked for it"))
