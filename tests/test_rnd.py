"""RND: visited states stop being new, Q and U follow their targets, the two forms differ where they must."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import emuq
from emuq import domains
from emuq.agents.actions import actions_of
from emuq.agents.rnd import core
from emuq.errors import InputError
from emuq.precision import double
from emuq.run import lockstep
from resuming import whole_and_resumed

SMALL = {"features": 100, "hidden": 32, "capacity": 512}


@pytest.fixture(autouse=True)
def _double():
    with double():
        yield


def walker(**options):
    """A learner in [0, 1]^2 whose memory holds states of the lower left quarter."""
    settings = core.Options(**(SMALL | options))
    actions = actions_of(gym.spaces.Box(-1.0, 1.0, (1,)))
    basis, state = core.init(settings, 0, 2, actions)
    rng = np.random.default_rng(0)
    remember = jax.jit(core.remember)
    for s in rng.uniform(0, 0.5, (64, 2)):
        state = remember(state, s, np.array([0.5]), 0.0, s + 0.01, False)
    return settings, basis, state


def test_what_was_visited_stops_being_new_and_what_was_not_stays_newer():
    settings, basis, state = walker()
    learn = jax.jit(lambda state: core.learn(settings, basis, state._replace(steps=state.steps + 1), 1.0))
    for _ in range(600):
        state = learn(state)
    rng = np.random.default_rng(1)
    seen = core.exploration_rewards(basis, state, core.unpack(state.memory[:64], 2)[3])
    unseen = core.exploration_rewards(basis, state, jnp.asarray(rng.uniform(0.6, 1, (200, 2)), jnp.float32))
    assert float(jnp.median(seen)) < -0.2  # relative to the newest of what is remembered
    assert float(jnp.median(unseen)) == 0.0
    assert float(jnp.mean(unseen > jnp.median(seen))) > 0.95
    for rewards in (seen, unseen):
        assert -1 <= float(rewards.min()) <= float(rewards.max()) <= 0
    # U, which sums these rewards, is lower where all is known.
    low, high = (
        core.values(basis, state.u_weights, jnp.array(s, jnp.float32)).max() for s in ([0.2, 0.2], [0.9, 0.9])
    )
    assert float(low) < float(high)


def test_a_step_is_the_mean_of_the_q_learning_steps_of_its_minibatch():
    settings, basis, state = walker(minibatch=1, rate=0.5)
    rng = np.random.default_rng(2)
    weights = jnp.asarray(rng.normal(size=100), jnp.float32)
    start = jnp.array([0.9, 0.1], jnp.float32)
    learn = jax.jit(lambda state: core.learn(settings, basis, state, 1.0))
    for end in (False, True):
        told = jnp.array([0.3, 0.4]), basis.actions[2], jnp.array(1.0), jnp.array([0.5, 0.6]), jnp.array(end)
        state = core.remember(state, *told)
        before = state._replace(q_weights=weights, u_weights=2 * weights, start=start)
        after = learn(before)  # a minibatch of one is the newest transition
        phi = basis.features(jnp.array([0.3, 0.4], jnp.float32), basis.actions[2])
        ahead = core.values(basis, weights, jnp.array([0.5, 0.6], jnp.float32)).max()
        q_target = 1.0 + (0.0 if end else 0.99 * float(ahead))
        expected = weights + 0.5 * (q_target - phi @ weights) * phi
        np.testing.assert_allclose(after.q_weights, expected, atol=1e-5)
        # U goes on at the start of an episode where Q ends. A minibatch of one holds the largest error.
        restart = core.values(basis, 2 * weights, start).max()
        u_target = 0.99 * float(restart if end else 2 * ahead)
        expected = 2 * weights + 0.5 * (u_target - 2 * phi @ weights) * phi
        np.testing.assert_allclose(after.u_weights, expected, atol=1e-4)


def test_both_forms_are_one_algorithm_until_a_reward_or_an_end_comes_in():
    """Without rewards Q = 0, so that U under kappa = 1 is what the bonus form calls Q."""
    learned = []
    for form in ("values", "bonus"):
        env = gym.make("emuq/MountainCar-v0", max_episode_steps=60)
        agent = emuq.RND(env, form=form, seed=0, **SMALL)
        agent.learn(episodes=1, progress=False)
        learned.append(agent)
    values, bonus = learned
    np.testing.assert_allclose(values._state.u_weights, bonus._state.q_weights, atol=1e-5)
    assert not np.any(values._state.q_weights)
    # Values can be turned to exploitation at once, a bonus cannot.
    observation = np.array([-0.5, 0.0])
    assert np.ptp(values.values(observation)[0]) == 0
    assert np.ptp(bonus.values(observation)[0]) > 0
    with pytest.raises(InputError, match="kappa is inf"):
        emuq.RND(env, form="bonus", kappa=float("inf")).learn(episodes=1, progress=False)


def test_a_saved_agent_goes_on_bit_for_bit(tmp_path):
    def fresh():
        env = gym.make("emuq/CartpoleSwingUp-v0", max_episode_steps=60)
        return emuq.RND(env, seed=3, **(SMALL | {"capacity": 100}))  # less than is seen: the oldest go

    whole, resumed = whole_and_resumed(fresh, tmp_path, 2, 2)
    for name in ("q_weights", "u_weights", "largest"):
        np.testing.assert_array_equal(getattr(resumed._state, name), getattr(whole._state, name))
    assert int(whole._state.stored) > 100
    novelty = whole.novelty(whole.observation_space.sample() * 0)
    assert -1 <= float(novelty) <= 0


def test_the_compiled_loop_walks_as_the_gymnasium_loop_does_and_reaches_the_goal():
    domain = domains.make("MountainCar")
    options = core.Options(**(SMALL | {"features": 300}))
    curves = lockstep.learn_rnd(domain, options, [0, 1], 5, until_goal=True)
    assert curves.goals.any(1).all()
    # Rounding differs between the two programs, and a greedy walk magnifies it: a short one agrees.
    brief = domains.make("CartpoleSwingUp")
    curves = lockstep.learn_rnd(brief, core.Options(**SMALL), [0, 1], 1)
    agent = emuq.RND(gym.make("emuq/CartpoleSwingUp-v0"), seed=0, **SMALL)
    assert agent.learn(episodes=1, progress=False).to_dict()["length"] == [curves.lengths[0, 0]]


def test_bad_options_are_named():
    env = gym.make("emuq/MountainCar-v0")
    for bad in ({"form": "x"}, {"rate": 3.0}, {"capacity": 0}, {"nonsense": 1}, {"discount": 1.0}):
        with pytest.raises(InputError, match=next(iter(bad))):
            emuq.RND(env, **bad)
