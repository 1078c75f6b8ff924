"""Exploration rewards: non-positive, falling with visits, and what each equals in closed form."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from emuq import exploration, precision
from emuq.agents.episodes import Event
from emuq.agents.tabular import core
from emuq.agents.tabular.agent import ExplorationValues
from emuq.errors import InputError
from emuq.exploration import CountBonus, EValues, FirstVisit, NextStateUncertainty
from tabular_worlds import Bandit

ALL = [FirstVisit(), CountBonus(), EValues(), NextStateUncertainty()]
S, A = 4, 3


@pytest.mark.parametrize("part", ALL, ids=lambda part: type(part).__name__)
@pytest.mark.parametrize("terminated", [False, True])
def test_rewards_lie_in_minus_one_to_zero_and_never_rise_with_visits(part, terminated):
    rng = np.random.default_rng(0)
    for _ in range(20):
        fewer = rng.integers(1, 10, (S, A))
        more = fewer + rng.integers(0, 10, (S, A))
        s, a, s_next = rng.integers(S), rng.integers(A), rng.integers(S)
        before = float(part.reward(jnp.asarray(fewer), s, a, s_next, terminated))
        after = float(part.reward(jnp.asarray(more), s, a, s_next, terminated))
        assert -1 <= after <= before <= 0


def test_first_visit_and_count_bonus_in_closed_form():
    for n in range(1, 6):
        visits = jnp.zeros((S, A), int).at[1, 2].set(n)
        assert float(FirstVisit().reward(visits, 1, 2, 0, False)) == (0 if n == 1 else -1)
        assert float(CountBonus().reward(visits, 1, 2, 0, False)) == pytest.approx(n**-0.5 - 1)


def test_next_state_uncertainty_looks_ahead_and_at_the_end_behind():
    visits = jnp.array([[1, 0, 0], [3, 8, 0], [0, 0, 0], [0, 0, 0]])
    part = NextStateUncertainty()
    assert float(part.reward(visits, 0, 0, 1, False)) == pytest.approx((1 / 2 + 1 / 3 + 1) / 3 - 1)
    assert float(part.reward(visits, 0, 0, 2, False)) == 0  # nothing tried there: all of it is left
    assert float(part.reward(visits, 1, 0, 2, True)) == pytest.approx(1 / 2 - 1)


def test_e_values_count_visits_when_the_discount_is_zero():
    parameters = core.Parameters(rate=0.1, discount=0.0, by_value=True)
    with precision.double():
        state = core.init(parameters, EValues(), S, A, jnp.zeros(2, jnp.uint32))
        for n in range(1, 6):
            state = core.observe(parameters, EValues(), state, 1, 2, 0.0, 0, False, 1.0)  # type: ignore[arg-type]
            assert float(state.u[1, 2]) == pytest.approx(0.9**n, rel=1e-5)
            assert float(jnp.log(state.u[1, 2]) / jnp.log(0.9)) == pytest.approx(n, rel=1e-5)


@pytest.mark.parametrize("part", ALL, ids=lambda part: type(part).__name__)
@pytest.mark.parametrize("discount", [0.0, 0.9])
def test_u_stays_at_most_its_optimistic_start(part, discount):
    parameters = core.Parameters(discount=discount, by_value=True)
    rng = np.random.default_rng(1)
    with precision.double():
        state = core.init(parameters, part, S, A, jnp.zeros(2, jnp.uint32))
        for _ in range(60):
            s, a, s_next = rng.integers(S), rng.integers(A), rng.integers(S)
            state = core.observe(parameters, part, state, s, a, 0.0, s_next, rng.random() < 0.1, 1.0)
        u, visits = np.asarray(state.u), np.asarray(state.visits)
    assert u.max() <= part.initial
    assert (u[visits > 3] < part.initial).all()


def test_discount_zero_recovers_ucb_on_a_bandit():
    """Every pull maximises mean reward + kappa w(n), a confidence width between 1/sqrt(n) and 2/sqrt(n)."""
    kappa, pulls, rewards = 0.7, [], []
    agent = ExplorationValues(Bandit(), rate=0, discount=0.0, exploration="count", kappa=kappa, seed=3)

    def record(event: Event):
        if event.transition is not None:
            pulls.append(event.transition.action)
            rewards.append(event.transition.reward)

    agent.learn(episodes=300, callback=record, progress=False)
    assert sorted(pulls[:3]) == [0, 1, 2]  # every arm once, as its unknown mean 0 is above them all
    width = [0.0, *(np.mean(np.arange(1, n + 1) ** -0.5) for n in range(1, 301))]
    assert all(n**-0.5 <= width[n] <= 2 * n**-0.5 for n in range(1, 301))
    for t in range(3, 300):
        arms, paid = np.array(pulls[:t]), np.array(rewards[:t])
        index = [paid[arms == k].mean() + kappa * width[(arms == k).sum()] for k in range(3)]
        assert index[pulls[t]] == pytest.approx(max(index), abs=1e-5)
    assert pulls[200:].count(1) > 50  # the best arm in the end
    assert min(pulls.count(k) for k in range(3)) > 5  # and no arm given up after a bad start


def test_names_descriptions_and_strangers():
    for name in exploration.REWARDS:
        part = exploration.as_reward(name)
        assert exploration.as_reward(json.loads(json.dumps(exploration.to_json(part)))) == part
        assert exploration.as_reward(part) is part
    for bad in ("novelty", 3, FirstVisit, {"class": "elsewhere.Mine", "fields": {}}):
        with pytest.raises(InputError, match="expected one of first-visit"):
            exploration.as_reward(bad)
