"""EMU-Q's steps between plans: S is folded in the background, exactly, and nothing compiles late."""

from __future__ import annotations

import copy

import jax.numpy as jnp
import numpy as np
import pytest

from cars import car, weights
from emuq.agents.emuq import folding, step
from emuq.agents.emuq import held as holding
from emuq.linear import posterior
from emuq.linear.expectation import quadratic_form
from emuq.precision import double


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("steps", [3, 4, 7, 8, 11, 12, 50])
def test_folding_in_the_background_is_exact(steps, precision):
    agent = car(kappa=1.0, precision=precision, plan_interval=None, block=8)
    agent.learn(steps=steps, progress=False)
    state = agent._state
    with double():
        rows = slice(int(state.data.count))
        phi = state.basis.features(
            state.data.states[rows].astype(float), state.data.actions[rows].astype(float)
        )
        whole = posterior.covariance(phi.T @ phi, agent.settings.prior_precision, 1.0)
        blocked = state.blocked
        assert int(blocked.used) == agent._used <= 8
        np.testing.assert_allclose(  # the data are in single precision in either case
            blocked.covariance - blocked.rows.T @ blocked.rows, whole, atol=1e-4 * float(jnp.max(whole))
        )
        folded = blocked.covariance
        form = quadratic_form(state.basis.features, state.basis.moments, folded)
        np.testing.assert_allclose(state.form, form, atol=1e-5 * float(jnp.max(jnp.abs(form))))


def test_a_copy_of_an_agent_goes_on_by_itself():
    agent = car(kappa=1.0, plan_interval=None, block=8)
    agent.learn(steps=21, progress=False)  # a fold is under way
    twin = copy.deepcopy(agent)
    for one in (agent, twin):
        one.learn(steps=30, progress=False)
    np.testing.assert_array_equal(weights(agent), weights(twin))


def test_nothing_compiles_after_the_first_two_episodes():
    agent = car(kappa=1.0)
    agent.learn(episodes=2, progress=False)

    def compiled() -> list[int]:
        calls = (step.store, step.plan, step.begin, step.finish, folding.fold, folding.move_up, agent._step)
        return [step.advance.cache_info().misses, *(call._cache_size() for call in calls)]

    before = compiled()
    agent.learn(episodes=4, progress=False)
    assert compiled() == before


def test_the_step_of_a_trial_is_compiled_as_exploiting_begins():
    agent = car(kappa=1.0, features=46)  # shapes of its own: no other test has compiled these
    agent.learn(episodes=1, progress=False)
    agent.kappa = 0.0
    before = agent._step._cache_size()
    agent.learn(episodes=1, progress=False)
    assert int(agent._state.held.turn) == holding.LIVE
    compiled = agent._step._cache_size()
    assert compiled == before + 1
    trial = agent._state.held._replace(turn=jnp.int32(holding.TRIAL))
    agent._state = agent._state._replace(held=trial)
    agent.learn(episodes=1, progress=False)
    assert agent._step._cache_size() == compiled


def test_a_rest_is_the_held_policys_episode():
    agent = car(kappa=1.0)
    agent.learn(episodes=1, progress=False)
    agent.kappa = 0.0
    ten = {name: jnp.int32(10) for name in ("trials", "wins")}
    trial = agent._state.held._replace(turn=jnp.int32(holding.TRIAL), drawn=jnp.int32(10**6), **ten)
    agent._state = agent._state._replace(held=trial)
    agent.learn(episodes=1, progress=False)
    assert int(agent._state.held.trials) == 11
