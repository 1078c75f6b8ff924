"""DORA: E-values are counts in a table, they order actions as visits do, and updates follow the gradient."""

from functools import partial
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import emuq
from emuq import domains
from emuq.agents.actions import actions_of
from emuq.agents.dora import core
from emuq.agents.dora.agent import grid
from emuq.domains.adapter import action_space
from emuq.errors import InputError
from emuq.experiments.presets import make_agent
from emuq.precision import double
from emuq.run import lockstep
from resuming import whole_and_resumed


@pytest.fixture(autouse=True)
def _double():
    with double():
        yield


def table(**options):
    return core.Options(tilings=1, tiles=4, link="linear", memory=64, **options)


@partial(jax.jit, static_argnames=("options", "actions"))
def visit(options, state, s, action, s_next, next_action, actions=3, end=False, reward=0.0):
    here = core.tiles(options, jnp.array([s]), actions)[action]
    following = core.tiles(options, jnp.array([s_next]), actions)
    return core.observe(
        options, state, here, jnp.float32(reward), following, next_action, jnp.asarray(end), jnp.float32(1)
    )


def count(options, state, s, actions=3):
    known = core.log_e(options, state, core.tiles(options, jnp.array([s]), actions))
    return np.asarray(core.counts(options, known))


def test_in_a_table_e_falls_as_a_power_of_visits_and_its_logarithm_counts_them():
    options = table(e_discount=0.0, e_rate=0.2)
    state = core.init(options, 0)
    for action, visits in ((0, 7), (1, 2)):
        for _ in range(visits):
            state = visit(options, state, 0.1, action, 0.6, 0)
    np.testing.assert_allclose(count(options, state, 0.1), [7, 2, 0], atol=1e-4)
    np.testing.assert_allclose(count(options, state, 0.6), 0, atol=1e-6)


def test_with_a_discount_e_looks_ahead():
    """Of two actions taken equally often, the one that leads to an unknown state counts as less visited."""
    options = table(e_discount=0.9, e_rate=0.2)
    state = core.init(options, 0)
    for _ in range(20):
        state = visit(options, state, 0.6, 0, 0.6, 0, end=True)  # a state well known
    for _ in range(3):
        state = visit(options, state, 0.1, 0, 0.6, 0)
        state = visit(options, state, 0.1, 1, 0.9, 0)
    known, unknown, never = count(options, state, 0.1)
    assert known > unknown > never


def test_e_orders_actions_as_visits_do_through_the_sigmoid_too():
    options = core.Options(e_discount=0.0)
    state = core.init(options, 0)
    for action, visits in ((0, 5), (1, 20), (2, 1)):
        for _ in range(visits):
            state = visit(options, state, 0.3, action, 0.8, 0)
    counts = count(options, state, 0.3)
    assert counts[1] > counts[0] > counts[2] > 1.0
    assert count(options, state, 0.95)[0] == pytest.approx(1.0)  # log_0.5 of 0.5


def test_an_update_follows_the_gradient_of_the_squared_error_at_the_visited_pair():
    options = core.Options(memory=4096)
    rng = np.random.default_rng(0)
    state = core.init(options, 0)._replace(e_weights=jnp.asarray(rng.normal(size=4096), jnp.float32))
    indices = core.tiles(options, jnp.array([0.2, 0.7]), 3)
    following = core.tiles(options, jnp.array([0.9, 0.1]), 3)
    target = 0.99 * jax.nn.sigmoid(state.e_weights[following[1]].sum())

    def loss(weights):
        return 0.5 * (target - jax.nn.sigmoid(weights[indices[2]].sum())) ** 2

    expected = state.e_weights - options.e_rate / options.tilings * jax.grad(loss)(state.e_weights)
    update = jnp.float32(0), following, jnp.int32(1)
    after = core.observe(options, state, indices[2], *update, jnp.array(False), jnp.float32(1))
    np.testing.assert_allclose(after.e_weights, expected, atol=1e-7)
    ended = core.observe(options, state, indices[2], *update, jnp.array(True), jnp.float32(1))
    assert float(ended.e_weights[indices[2]].sum()) < float(after.e_weights[indices[2]].sum())


@pytest.mark.parametrize("memory", [2048, 1000])  # every tile has a weight of its own, or they share
def test_tiles_are_shared_by_neighbours_and_by_no_one_else(memory):
    options = core.Options(memory=memory)
    near, also, far = (core.tiles(options, jnp.array(s), 3) for s in ([0.5, 0.5], [0.51, 0.5], [0.1, 0.9]))
    assert near.shape == (3, 8)
    assert 0 <= int(near.min()) <= int(near.max()) < memory
    assert 5 <= len(np.intersect1d(near[0], also[0])) <= 8
    if memory == 2048:
        assert not np.intersect1d(near, far).size
        assert len(np.unique(near)) == 24


def test_the_bonus_goes_into_q_and_kappa_weighs_it():
    base = core.Options(memory=64)
    state = core.init(base, 0)._replace(q_weights=jnp.zeros(64, jnp.float32))
    here = jnp.arange(8)
    following = jnp.arange(8, 32).reshape(3, 8)
    rest = jnp.float32(0), following, jnp.int32(0), jnp.array(False)
    gains = [
        float(core.q_values(core.observe(o, state, here, *rest, jnp.float32(kappa)), here))
        for o, kappa in ((base, 0.0), (base, 0.5), (base, 1.0), (base._replace(variant="lll"), 1.0))
    ]
    np.testing.assert_allclose(gains, [0.0, 0.05, 0.1, 0.0], atol=1e-7)  # rate 0.1, count 1 at first


def test_lll_acts_on_q_alone_without_kappa_and_on_e_alone_with_an_infinite_one():
    options = core.Options(variant="lll", memory=64)
    q, e = np.zeros(64, np.float32), np.zeros(64, np.float32)
    indices = jnp.arange(24).reshape(3, 8)
    q[8:16], e[16:24] = 1.0, 1.0  # the second is best, the third least known
    state = core.init(options, 0)._replace(q_weights=jnp.asarray(q), e_weights=jnp.asarray(e))
    assert [int(core.greedy(options, state, indices, k)) for k in (0.0, np.inf)] == [1, 2]


@pytest.mark.parametrize("variant", ["bonus", "lll"])
def test_a_saved_agent_goes_on_bit_for_bit_and_the_compiled_loop_gives_the_same(variant, tmp_path):
    def fresh():
        env = gym.make("emuq/MountainCar-v0", max_episode_steps=60)
        return emuq.DORA(env, variant=variant, memory=2048, seed=3)

    whole, resumed = whole_and_resumed(fresh, tmp_path, 3, 3)
    np.testing.assert_array_equal(resumed._state.q_weights, whole._state.q_weights)
    np.testing.assert_array_equal(resumed._state.e_weights, whole._state.e_weights)

    domain = domains.make("MountainCar", horizon=60)
    actions = grid(actions_of(action_space(domain)), 3)
    curves = lockstep.learn_dora(domain, whole.settings, actions, [3, 4], 6)
    assert curves.lengths[0].tolist() == whole.history.to_dict()["length"]


def test_its_own_choice_of_actions_finds_the_mountain_top_where_chance_does_not():
    domain = domains.make("MountainCar")
    actions = grid(actions_of(action_space(domain)), 3)
    options = core.Options(variant="lll", memory=2048)
    ours = lockstep.learn_dora(domain, options, actions, [1, 3, 5], 40, until_goal=True)
    chance = lockstep.learn_random(domain, [1, 3, 5], 40)
    assert ours.goals.any(1).sum() == 3
    assert not chance.goals.any()


def test_actions_are_the_grids_of_the_paper_and_bad_options_are_named():
    counts = {"SinglePendulum": 5, "MountainCar": 3, "CartpoleSwingUp": 2, "LunarLander": 9, "Hopper": 27}
    for name, count_ in counts.items():
        agent: Any = make_agent("dora", gym.make(f"emuq/{name}-v0"), seed=0, memory=64)
        assert len(agent.actions.candidates) == count_
    env = gym.make("emuq/MountainCar-v0")
    assert len(emuq.DORA(env, actions_per_dimension=7).actions.candidates) == 7
    for bad in (
        {"variant": "x"},
        {"rate": 2.0},
        {"memory": 0},
        {"nonsense": 1},
        {"actions_per_dimension": 1},
    ):
        with pytest.raises(InputError, match=next(iter(bad))):
            emuq.DORA(env, **bad)
    with pytest.raises(InputError, match="kappa is inf"):
        emuq.DORA(env, kappa=float("inf")).learn(episodes=1, progress=False)
