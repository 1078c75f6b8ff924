"""The runtime's contract: it is the pure functions, S is folded exactly, and nothing compiles late."""

from __future__ import annotations

import copy

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import emuq
from cars import car, weights
from doubling import in_double
from emuq import checkpoint
from emuq.agents.actions import to_unit
from emuq.agents.emuq import act, learn, programs
from emuq.agents.episodes import Transition
from emuq.linear import posterior
from emuq.linear.expectation import quadratic_form
from emuq.precision import double


def walk(agent, steps):
    """Transitions between random states, one in seven terminal, each with the action that the agent chose."""
    states = np.random.default_rng(0).uniform([-1.3, -0.08], [0.7, 0.08], (steps + 1, 2))  # some are clipped
    action = agent._start(states[0])
    for i in range(steps):
        transition = Transition(states[i], action, float(i % 5 == 3), states[i + 1], i % 7 == 6, False, False)
        action = agent._advance(transition)
        yield transition, action


@pytest.mark.parametrize("kappa", [0.0, 0.7, np.inf])
def test_it_does_what_the_pure_functions_do(kappa):
    agent = in_double(car(kappa=kappa, plan_interval=None, refresh=None, lookahead=0))
    options = agent.settings
    observe, choose, fold = (
        jax.jit(learn.observe, static_argnames="options"), jax.jit(act.act_on), jax.jit(learn.fold)
    )  # fmt: skip
    with double():
        state = jax.tree.map(jnp.copy, agent.whole_state())
        for i, (transition, action) in enumerate(walk(agent, 170)):
            seen = transition.observation, transition.next_observation
            here, there = (jnp.asarray(agent._scaling(x)) for x in seen)
            if i == 0:
                state = learn.begin(state, here)
            used = to_unit(agent._actions, transition.action)
            ended = np.bool_(transition.terminated)
            state = observe(state, here, used, transition.reward, there, ended, kappa, options)
            index = int(choose(state, None, there, kappa))
            np.testing.assert_array_equal(action, agent._choices[index])
            if int(state.blocked.used) == len(state.blocked.rows):
                state = fold(state)
        whole = agent.whole_state()
        same(whole.data, state.data)
        np.testing.assert_array_equal(whole.q_bounds, state.q_bounds)
        # r^e takes rows that wait by quadrature, folded ones in closed form: 1e-7 apart.
        np.testing.assert_allclose(whole.blocked.weights, state.blocked.weights, atol=1e-6)
        ours, pure = (s.blocked.covariance - s.blocked.rows.T @ s.blocked.rows for s in (whole, state))
        np.testing.assert_allclose(ours, pure, atol=1e-9 * float(jnp.max(pure)))


def test_the_whole_state_is_the_same_however_often_it_is_asked_for():
    asked, left = (car(kappa=1.0, plan_interval=100) for _ in range(2))  # a block is full before a plan
    for agent, often in ((asked, True), (left, False)):
        for _ in walk(agent, 210):
            if often:
                agent.whole_state()
    same(asked.whole_state(), left.whole_state())


def same(tree, other):
    """All arrays are equal, number for number."""
    assert jax.tree.structure(tree) == jax.tree.structure(other)
    ours, theirs = checkpoint.flatten(tree), checkpoint.flatten(other)
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)


@pytest.mark.parametrize("options", [{}, {"effort": 0.3}])
def test_what_a_step_reads_is_packed_and_unpacked_without_loss(options):
    agent = emuq.EMUQ(gym.make("emuq/LunarLander-v0"), features=40, capacity=256, **options)
    state = agent.whole_state()
    with double():
        same(programs.unpacking(state)(programs.reading(state).small), programs.small(state))
        assert programs.unpacking(state) == programs.unpacking(agent.whole_state())  # one program for all
        moving, fixed = programs.split(state)
        assert fixed.q_bounds is None
        same(programs.join(moving, fixed), state)


@pytest.mark.parametrize("precise", [lambda agent: agent, in_double], ids=["single", "double"])
@pytest.mark.parametrize("steps", [31, 32, 63, 64, 95, 96, 400])
def test_folding_is_exact(steps, precise):
    agent = precise(car(kappa=1.0, plan_interval=1000))
    agent.learn(steps=steps, progress=False)
    state = agent.whole_state()
    with double():
        rows = slice(int(state.data.count))
        phi = state.basis.features(
            state.data.states[rows].astype(float), state.data.actions[rows].astype(float)
        )
        whole = posterior.covariance(phi.T @ phi, agent.settings.prior_precision, 1.0)
        blocked = state.blocked
        assert int(blocked.used) == agent._runtime.used <= len(blocked.rows)
        np.testing.assert_allclose(  # the data are in single precision in either case
            blocked.covariance - blocked.rows.T @ blocked.rows, whole, atol=1e-4 * float(jnp.max(whole))
        )
        folded = blocked.covariance
        form = quadratic_form(state.basis.features, state.basis.moments, folded)
        np.testing.assert_allclose(state.form, form, atol=1e-5 * float(jnp.max(jnp.abs(form))))


def test_a_copy_of_an_agent_goes_on_by_itself():
    agent = car(kappa=1.0, plan_interval=1000)
    agent.learn(steps=33, progress=False)  # half of the rows are full
    twin = copy.deepcopy(agent)
    for one in (agent, twin):
        one.learn(steps=70, progress=False)
    np.testing.assert_array_equal(weights(agent), weights(twin))


def test_nothing_compiles_after_the_first_goal_and_four_episodes():
    agent = car(kappa=1.0, plan_interval=70)  # a block is full before a plan, and so folded early
    agent.learn(episodes=9, until="goal", progress=False)
    agent.learn(episodes=4, progress=False)
    assert agent.looked > 0

    def compiled() -> list[int]:
        calls = (programs.store, programs.plan, programs.finished, programs.fold, programs.move_up,
                 programs.plan_anew, programs.look.keywords["ahead"],
                 agent._runtime._step, agent._runtime._begin)  # fmt: skip
        return [programs.step.cache_info().misses, *(call._cache_size() for call in calls)]

    before = compiled()
    agent.learn(episodes=4, progress=False)
    assert compiled() == before


def test_the_step_that_exploits_is_compiled_once():
    agent = car(kappa=1.0, features=46)  # shapes of its own: no other test has compiled these
    agent.learn(episodes=1, progress=False)
    agent.kappa = 0.0
    agent.look()
    agent.learn(episodes=1, progress=False)
    compiled = agent._runtime._step._cache_size()
    agent.look()
    agent.learn(episodes=1, progress=False)
    assert agent._runtime._step._cache_size() == compiled
