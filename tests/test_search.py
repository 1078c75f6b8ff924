"""Looking several steps ahead: by a model, as far as it foretells what it has not seen."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from emuq.agents.emuq.options import Options
from emuq.errors import InputError
from emuq.planning import dynamics, foretelling, search, support, transitions
from emuq.precision import double
from test_support import lookahead, walk

plan = jax.jit(support.plan)
find = jax.jit(search.action_values)
WORD = np.uint32(7)


def far(data, reach, discount=0.95):
    with double():
        return lookahead(data, discount)._replace(reach=jnp.int32(reach))


def push(steps, seed=0, capacity=1024):
    """A sledge on a line: an action changes its speed a little; each step pays 1 near 0.8 at rest."""
    rng = np.random.default_rng(seed)
    data, x, v = transitions.empty(capacity, 2, 1), 0.3, 0.5
    append = jax.jit(transitions.append)
    for i in range(steps):
        a = rng.random()
        speed = float(np.clip(v + 0.2 * (a - 0.5), 0, 1))
        after = float(np.clip(x + 0.2 * (speed - 0.5), 0, 1))
        pays = float(abs(after - 0.8) < 0.1)
        data = append(data, np.array([x, v]), np.array([a]), pays, np.array([after, speed]), False)
        x, v = after, speed
        if i % 40 == 39:
            data, x, v = jax.jit(transitions.end)(data), rng.random(), 0.5
    return data


def test_one_step_ahead_is_what_the_support_says():
    policy = far(walk(400, cost=0.1), 1)
    states = jnp.linspace(0.1, 0.85, 6)[:, None]
    with double():
        for state in states:
            one = support.action_values(policy, state)
            np.testing.assert_allclose(find(policy, state, WORD), one, rtol=1e-4, atol=1e-5)


def test_a_sequence_is_worth_the_mean_of_what_it_is_after_each_number_of_steps():
    policy = far(walk(400, cost=0.1, reward=0.5), 4)
    chosen = jnp.array([[4, 4, 0, 2] + [0] * (foretelling.DEPTH - 4)])
    with double():
        z = dynamics.standardised(policy.model, jnp.array([0.3]))
        told = search.evaluate(policy, z, chosen)
        paid, totals, weight, at = 0.0, [], 1.0, z[None]
        for action in chosen[0, :4]:
            at, pay = dynamics.predict(policy.model, at, policy.actions[action][None])
            worth, _ = support.worth(policy, at)
            totals.append(paid + weight * float(pay[0] + worth[0]))
            paid, weight = paid + weight * float(pay[0]), weight * 0.95
    np.testing.assert_allclose(told[0], np.mean(totals), rtol=1e-4)


def test_beyond_an_edge_a_sequence_is_paid_once_and_goes_on_no_more():
    policy = far(walk(600, reward=-1.0, cost=0.1), 8)
    right = jnp.full((1, foretelling.DEPTH), 4)
    with double():
        z = dynamics.standardised(policy.model, jnp.array([0.885]))
        total = float(search.evaluate(policy, z, right)[0])
        _, over = support.worth(policy, dynamics.predict(policy.model, z[None], jnp.array([[1.0]]))[0])
    assert bool(over[0])
    assert total == pytest.approx(-1.0, abs=0.15)  # after one step and after eight alike


def test_a_search_is_no_worse_than_the_policy_it_begins_with():
    data = push(600)
    with double():
        policy = support.nothing(jnp.linspace(0, 1, 5)[:, None], 2)
        for _ in range(2):
            policy = plan(policy, data, 0.95, foretelling.DEPTH)
        policy = policy._replace(reach=jnp.int32(foretelling.DEPTH))
        for place in ([0.3, 0.5], [0.6, 0.9], [0.95, 0.2]):
            z = dynamics.standardised(policy.model, jnp.array(place))
            greedy, _ = search.rollout(policy, z)
            told = np.asarray(find(policy, jnp.array(place), WORD))
            own = float(search.evaluate(policy, z, greedy[None])[0])
            assert told[int(greedy[0])] >= own - 0.01 * abs(own)  # rounding may choose another way
            again = find(policy, jnp.array(place), WORD)
            np.testing.assert_array_equal(told, again)


def test_of_many_actions_the_best_ones_are_tried():
    with double():
        policy = lookahead(walk(300), actions=40)._replace(reach=jnp.int32(2))
        q = np.asarray(find(policy, jnp.array([0.5]), WORD))
    assert search.FIRST <= np.isfinite(q).sum() < 40
    assert np.argmax(q) == 39  # full speed to the right
    assert not np.isnan(q).any()


def test_changes_keep_what_lies_before_and_after_their_stretch():
    sequences = jnp.zeros((200, foretelling.DEPTH), int)
    bits = jax.random.bits(jax.random.key(0), (4, 200), jnp.uint32)
    new = np.asarray(search.changed(sequences, bits, 3))
    assert set(np.unique(new)) == {0, 1, 2}
    assert np.abs(np.diff((new > 0).astype(int), axis=1)).sum(axis=1).max() <= 2  # one stretch each
    assert (new[:, 0] > 0).any()
    assert (new[:, -1] > 0).any()


@pytest.mark.parametrize("limit", [-1, foretelling.DEPTH + 1, 2.5, "far"])
def test_a_limit_that_is_none_is_refused_in_one_line(limit):
    with pytest.raises(InputError, match=rf"^lookahead is {limit}: expected 0 \(none\), or steps up to 16$"):
        Options(lookahead=limit)


def test_the_limit_is_an_option():
    data = push(500)
    with double():
        policy = support.nothing(jnp.linspace(0, 1, 5)[:, None], 2)
        first = plan(policy, data._replace(count=jnp.int32(430)), 0.95, foretelling.DEPTH)
        second, third = (plan(first, data, 0.95, limit) for limit in (foretelling.DEPTH, 3))
    assert int(first.reach) == 1, "nothing was foretold before"
    assert int(second.reach) > 3
    assert int(third.reach) == 3
