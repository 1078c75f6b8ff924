"""Looking ahead: the model predicts, values lie on visited states, actions are judged one step ahead."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from emuq.planning import dynamics, kernels, selection, support, transitions
from emuq.precision import double

plan = jax.jit(support.plan, static_argnames="discount")


def walk(steps, *, goal=0.9, reward=1.0, cost=0.0, scale=1.0, seed=0, capacity=1024):
    """A point on a line moves by its action; an episode ends beyond `goal` with `reward`."""
    rng = np.random.default_rng(seed)
    data, s = transitions.empty(capacity, 1, 1), 0.5
    append = jax.jit(transitions.append)
    for _ in range(steps):
        a = rng.random()
        after = float(np.clip(s + 0.1 * (a - 0.5), 0, 1))
        over = after > goal
        row = np.array([s * scale]), np.array([a]), reward if over else -cost, np.array([after * scale]), over
        data = append(data, *row)
        s = rng.random() * goal if over else after
    return data


def lookahead(data, discount=0.95, plans=4, actions=5):
    candidates = jnp.linspace(0, 1, actions)[:, None]
    with double():
        policy = support.nothing(candidates, 1)
        for _ in range(plans):
            policy = plan(policy, data, discount)
    return policy


def test_the_model_predicts_where_actions_lead_and_what_they_pay():
    data = walk(600, cost=0.25)
    with double():
        rows = dynamics.sample(data, 0.95)
        at, real = selection.select(dynamics.deviations(rows), rows.mask, dynamics.KNOWN)
        model = dynamics.fit(rows, at, real)
        states, actions = np.array([[0.3], [0.5], [0.7]]), np.array([[0.0], [0.5], [1.0]])
        z, pay = dynamics.predict(
            model, dynamics.standardised(model, jnp.asarray(states)), jnp.asarray(actions)
        )
        following = dynamics.raw(model, z)
        assert float(dynamics.error(model, rows)) < 0.05
    np.testing.assert_allclose(following, states + 0.1 * (actions - 0.5), atol=2e-3)
    np.testing.assert_allclose(pay, -0.25, atol=1e-3)  # what endings pay is no part of it


def test_a_number_that_is_noise_is_told_from_one_that_can_be_predicted():
    rng, number = np.random.default_rng(3), 300
    s = rng.normal(size=(number, 3))
    a = rng.random((number, 1))
    wall = np.where(s[:, 1] > 1.5, -5.0, np.sin(s[:, 1]))  # seldom met, and no noise
    after = s + np.column_stack([np.sin(3 * s[:, 0]) + a[:, 0], wall, rng.normal(size=number)])
    with double():
        x = jnp.asarray(np.concatenate([s, a], axis=1))
        gram = kernels.matern(x, x, dynamics.LENGTHSCALE)
        noisy = dynamics.is_noisy(gram, jnp.asarray(after - s), jnp.ones(number, bool))
        few = dynamics.is_noisy(gram, jnp.asarray(after - s), jnp.arange(number) < 1)
    assert noisy.tolist() == [False, False, True]
    assert few.tolist() == [False, False, False]


@pytest.mark.parametrize(("count", "number"), [(0, 4), (3, 4), (4, 4), (9, 4), (1000, 7)])
def test_rows_are_spread_evenly_over_all_that_there_are(count, number):
    with double():
        at = np.asarray(selection.spread(number, jnp.int32(count)))
    if count <= number:
        np.testing.assert_array_equal(at, np.arange(number))
    else:
        assert at[0] == 0
        assert at[-1] < count
        assert np.ptp(np.diff(at)) <= 1


def test_values_rise_towards_the_goal_and_actions_lead_there():
    policy = lookahead(walk(600))
    states = jnp.linspace(0.1, 0.85, 16)[:, None]
    with double():
        worth = np.asarray(support.interpolate(policy, states))
        best = np.asarray(jnp.argmax(support.action_values(policy, states), axis=-1))
    assert np.all(np.diff(worth) > -0.01)
    assert worth[-1] > 0.7
    assert np.all(best == 4)  # full speed to the right


def test_a_failure_is_kept_away_from():
    policy = lookahead(walk(600, reward=-1.0))
    with double():
        q = np.asarray(support.action_values(policy, jnp.array([[0.86], [0.89]])))
    assert np.all(q[:, -1] < -0.3)  # over the edge
    assert np.all(q[:, 0] > q[:, -1] + 0.3)


def test_units_of_rewards_and_of_states_do_not_matter():
    states = jnp.linspace(0.1, 0.85, 9)[:, None]
    with double():
        plain, scaled = (
            np.asarray(support.action_values(lookahead(walk(400, **change)), states * factor))
            for change, factor in (({}, 1.0), ({"reward": 1000.0, "scale": 50.0}, 50.0))
        )
    np.testing.assert_allclose(scaled, 1000 * plain, rtol=0.02, atol=5.0)


def test_values_stay_within_what_rewards_allow():
    data = walk(500, cost=1.0)
    policy = lookahead(data, discount=0.9)
    rewards = np.asarray(data.rewards[:500])
    np.testing.assert_allclose(policy.bounds, [rewards.min() / 0.1, 1.0], rtol=1e-5)
    with double():
        worth = np.asarray(support.interpolate(policy, jnp.linspace(-3, 4, 50)[:, None]))
    assert worth.min() >= policy.bounds[0]
    assert worth.max() <= policy.bounds[1]


def test_q_of_an_action_is_that_of_the_candidate_it_is():
    policy = lookahead(walk(300))
    states = jnp.linspace(0.1, 0.8, 5)[:, None]
    with double():
        table = np.asarray(support.action_values(policy, states))
        for k in range(5):
            one = support.values(policy, states, jnp.full((5, 1), k / 4))
            np.testing.assert_allclose(one, table[:, k], atol=1e-5)


def test_the_farthest_rows_come_first_and_none_twice():
    z = jnp.array([[0.0], [0.1], [1.0], [0.5], [0.5], [9.0]], jnp.float32)
    with double():
        rows, new = selection.farthest(z, jnp.array([True] * 5 + [False]), 5)
    assert rows[:3].tolist() == [0, 2, 3]
    assert sorted(rows[:4].tolist()) == [0, 1, 2, 3]
    assert new.tolist() == [True] * 4 + [False]  # a repetition, and a row that is no data, are no support


def test_no_data_is_worth_nothing_and_raises_nothing():
    policy = lookahead(transitions.empty(256, 1, 1), plans=1)
    with double():
        q = np.asarray(support.action_values(policy, jnp.zeros((3, 1))))
    np.testing.assert_array_equal(q, 0.0)


def test_exploration_goes_on_at_the_start_of_the_episode_that_ended():
    data = transitions.empty(8, 1, 1)
    rows = [(0.1, 0.2, False, False), (0.2, 0.3, True, True), (0.6, 0.7, False, True), (0.8, 0.9, True, True)]
    for s, after, over, ended in rows:
        data = transitions.append(data, np.array([s]), np.zeros(1), 0.0, np.array([after]), over)
        data = transitions.end(data, ended)
    found = np.asarray(transitions.restarted(data).next_states[:4, 0])
    np.testing.assert_allclose(found, [0.2, 0.1, 0.7, 0.8])


def test_returns_are_at_least_what_was_paid_and_the_least_where_an_episode_was_cut():
    rng, number, count, least = np.random.default_rng(0), 64, 60, -7.0
    ended = rng.random(number) < 0.2
    terminal, rewards = ended & (rng.random(number) < 0.6), rng.normal(size=number).astype(np.float32)
    with double():
        data = transitions.empty(number, 1, 1)._replace(
            ended=jnp.asarray(ended),
            terminal=jnp.asarray(terminal),
            rewards=jnp.asarray(rewards),
            count=jnp.int32(count),
        )
        found = np.asarray(transitions.returns(data, 0.9, least))
    expected, later = np.full(number, -np.inf), least
    for i in reversed(range(count)):
        later = least if ended[i] else later
        expected[i] = later = rewards[i] + (0.0 if terminal[i] else 0.9 * later)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
