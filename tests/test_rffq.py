"""RFF-Q: the update is the equation, the compiled loop is the Gymnasium loop, and it learns."""

import gymnasium as gym
import jax.numpy as jnp
import numpy as np
import pytest

import emuq  # noqa: F401 (registers the environments)
from emuq import domains
from emuq.agents import rffq
from emuq.agents.actions import actions_of
from emuq.agents.registry import AGENTS, make_agent
from emuq.agents.rffq import RFFQ, Options
from emuq.errors import InputError
from emuq.precision import double
from emuq.run import lockstep, loop
from resuming import whole_and_resumed


@pytest.fixture
def env():
    return gym.make("emuq/Chain-v0", length=5, sparsity=0.0, max_episode_steps=40)


@pytest.mark.parametrize("options", [Options(features=20), Options(basis="fourier", order=2)])
@pytest.mark.parametrize("terminated", [False, True])
def test_one_update_is_the_equation(options, terminated):
    actions = actions_of(gym.spaces.Box(0.0, 1.0, (1,)))
    rng = np.random.default_rng(0)
    with double():
        s, following = jnp.array([0.2, 0.7]), jnp.array([0.3, 0.6])
        basis, state = rffq.init(options, 3, 2, actions)
        weights = rng.normal(size=basis.features.num_features).astype(np.float32)
        state = state._replace(weights=jnp.asarray(weights))
        here, there = rffq.look(basis, s), rffq.look(basis, following)
        new = rffq.observe(basis, state, here, 4, -1.5, there, terminated, options)
        candidates = jnp.asarray(actions.candidates)
        phi = np.asarray(basis.features(s, candidates[4]))
        q = np.asarray(basis.features(following[None], candidates)) @ weights
    target = -1.5 + (0.0 if terminated else 0.99 * q.max())
    expected = weights + 0.5 / basis.features.norm * (target - phi @ weights) * phi
    assert np.allclose(new.weights, expected, atol=1e-4)


def test_rate_1_learns_one_transition_at_once():
    actions = actions_of(gym.spaces.Discrete(2))
    with double():
        basis, state = rffq.init(Options(), 0, 1, actions)
        part = rffq.look(basis, jnp.array([0.5]))
        state = rffq.observe(basis, state, part, 1, 3.0, part, True, Options(rate=1.0))
        assert float(rffq.values(basis, state, part)[1]) == pytest.approx(3.0, abs=1e-5)


def test_the_compiled_loop_is_the_gymnasium_loop():
    car = gym.make("emuq/MountainCar-v0", reward="classic", max_episode_steps=60)
    history = RFFQ(car, seed=1, features=40).learn(episodes=3, progress=False)
    domain = domains.make("MountainCar", reward="classic", horizon=60)
    curves = lockstep.learn_rffq(domain, Options(features=40), [0, 1], 3)
    assert np.allclose(curves.returns[1], history.to_dict()["return"], atol=1e-9)
    assert curves.lengths[1].tolist() == history.to_dict()["length"]


def test_it_learns_a_short_chain_where_every_step_costs():
    curves = lockstep.learn_rffq(domains.make("Chain", length=5, sparsity=0.0), Options(), range(8), 30)
    assert curves.lengths[:, -5:].mean() < 8
    assert curves.lengths[:, -5:].mean() < curves.lengths[:, 0].mean()


def test_random_runs_stop_at_the_goal_and_never_leave_the_box():
    curves = lockstep.learn_random(domains.make("Chain", length=4), range(6), 3, until_goal=True)
    assert curves.goals.any(1).all()
    again = lockstep.learn_random(domains.make("Chain", length=4), range(6), 3, until_goal=True)
    assert np.array_equal(curves.lengths, again.lengths)
    assert len(set(curves.lengths[:, 0])) > 1


def test_chains_share_one_program_whatever_their_length():
    loop.walk.clear_cache()
    steps = {}
    for length in (4, 6, 9):
        domain = domains.make("Chain", length=length, horizon=300)
        steps[length] = lockstep.learn_random(domain, range(30), 1, until_goal=True).lengths.mean()
    assert loop.walk._cache_size() == 1
    assert steps[4] < steps[6] < steps[9]


def test_ties_at_zero_are_broken_at_random_or_by_the_first():
    domain = domains.make("Chain", length=30, horizon=50)
    first = lockstep.learn_rffq(domain, Options(ties="first", epsilon=0.0), [0, 1], 1)
    assert not first.goals.any()
    actions = actions_of(gym.spaces.Discrete(2))
    with double():
        basis, state = rffq.init(Options(), 0, 1, actions)
        part = rffq.look(basis, jnp.array([0.5]))
        chosen = set()
        for _ in range(20):
            state, index = rffq.act(basis, state, part, Options(epsilon=0.0))
            chosen.add(int(index))
    assert chosen == {0, 1}


def test_saving_and_loading_goes_on_bit_for_bit(env, tmp_path):
    whole, other = whole_and_resumed(lambda: RFFQ(env, seed=2, features=40), tmp_path, 2, 2)
    assert np.array_equal(other._get_state().weights, whole._get_state().weights)
    action, _ = whole.predict(np.array([1.0]))
    assert action == int(np.argmax(whole.values(np.array([1.0]))))
    assert whole.values(np.zeros((3, 1))).shape == (3, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 3.0}, "rate is 3.0"),
        ({"epsilon": -0.1}, "epsilon is -0.1"),
        ({"basis": "wavelet"}, "basis is 'wavelet'"),
        ({"ties": "last"}, "ties is 'last'"),
        ({"features": 3}, "num_features is 3"),
    ],
)
def test_bad_options_are_refused(env, options, message):
    with pytest.raises(InputError, match=message):
        RFFQ(env, seed=0, **options)


def test_every_named_agent_can_be_made(env):
    for name in AGENTS:
        if AGENTS[name][0] in ("emuq.agents.rffq", "emuq.agents.random", "emuq.agents.emuq.agent"):
            assert make_agent(name, env, seed=0).name == name.removesuffix("-paper")
    with pytest.raises(InputError, match="no agent 'dreamer'"):
        make_agent("dreamer", env, seed=0)
