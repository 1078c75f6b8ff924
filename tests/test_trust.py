"""Which policy exploits: a success is trusted until a miss, and gives way to a better-informed success."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from emuq.agents.emuq import trust
from emuq.planning import endings, support
from emuq.precision import double

judge = jax.jit(trust.judge)


def plan(number):
    """A plan that can be told from others."""
    with double():
        empty = support.nothing(jnp.zeros((2, 2), jnp.float32), jnp.zeros((2, 1)), 1)
    return empty._replace(base=jnp.float32(number))


def play(episodes):
    """(who acted, who is given to a user) of each (goal, return, transitions), and who is in the end.

    The newest plan has the episode's number, from 1.
    """
    with double():
        now, seen = trust.nobody(plan(0)), []
        for i, (goal, total, count) in enumerate(episodes, 1):
            acted, given = (float(f(now, plan(i)).base) for f in (trust.player, trust.best))
            seen.append((acted, given))
            now = judge(now, plan(i), jnp.asarray(goal), jnp.asarray(total), jnp.int32(count))
        return seen, float(trust.best(now, plan(99)).base), now


def test_nobody_is_trusted_before_a_success():
    seen, given, now = play([(False, 5.0, 10), (False, 4.0, 20), (False, 3.0, 30)])
    assert seen[0] == (1, 1)
    assert seen[1] == (1, 1)  # the first return is the best so far
    assert seen[2] == (3, 3)  # the second was not
    assert given == 99
    assert not bool(now.held)
    assert float(now.record) == 5.0


def test_a_policy_that_reached_the_goal_acts_until_it_misses():
    seen, given, _ = play(
        [(True, 1.0, 10), (True, 0.5, 12), (True, 0.4, 14), (False, 0.0, 16), (True, 1.0, 18)]
    )
    assert [acted for acted, _ in seen] == [1, 1, 1, 1, 5]
    assert given == 5


def test_without_a_goal_a_success_is_the_best_return_so_far():
    seen, given, _ = play([(False, 100.0, 10), (False, 500.0, 12), (False, 500.0, 14), (False, 499.0, 16)])
    assert [acted for acted, _ in seen] == [1, 1, 1, 1]
    assert given == 99


def test_twice_the_data_have_the_newest_plan_tried_and_the_trusted_one_given_meanwhile():
    episodes = [(True, 1.0, 100), (True, 1.0, 199), (True, 1.0, 200), (True, 0.9, 210), (True, 1.0, 220)]
    seen, given, now = play(episodes)
    assert [acted for acted, _ in seen] == [1, 1, 1, 4, 4]
    assert [given for _, given in seen] == [1, 1, 1, 1, 4]
    assert given == 4
    assert int(now.since) == 210


def test_a_trial_that_misses_leaves_the_trusted_policy_until_the_data_have_doubled_again():
    episodes = [(True, 1.0, 100), (True, 1.0, 200), (False, 0.0, 250), (True, 1.0, 499), (True, 1.0, 500)]
    seen, given, now = play([*episodes, (True, 1.0, 510)])
    assert [acted for acted, _ in seen] == [1, 1, 3, 1, 1, 6]
    assert [given for _, given in seen] == [1, 1, 1, 1, 1, 1]
    assert given == 6
    assert int(now.since) == 510


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("trial", [False, True])
def test_a_policy_is_kept_whole(held, trial):
    """All arrays of one plan, never some of another."""
    with double():
        now = trust.nobody(plan(1))._replace(held=jnp.asarray(held), trial=jnp.asarray(held and trial))
        newest = jax.tree.map(lambda x: x + 7, plan(2))
        found = jax.tree.leaves(trust.player(now, newest))
        expected = jax.tree.leaves(now.policy if held and not trial else newest)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


# Edges, which endings lie beyond ----------------------------------------------------------------------------


def test_the_edge_that_explains_most_endings_is_taken_first_and_others_for_the_rest_alone():
    rows = [[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]
    taken = endings.cover(jnp.array(rows, bool))
    assert taken.tolist() == [True, False, True]  # the second explains nothing that the first does not


def test_states_beyond_an_edge_are_worth_what_the_edge_is():
    none = endings.nowhere(2)
    edges = none._replace(
        places=none.places.at[1, 0].set(2.0).at[0, 1].set(-1.0),
        worth=none.worth.at[1, 0].set(3.0).at[0, 1].set(-5.0),
    )
    z = jnp.array([[0, 0], [2.1, 0], [0, -1.1], [3, -3]], jnp.float32)
    out, worth = endings.beyond(edges, z)
    assert out.tolist() == [False, True, True, True]
    np.testing.assert_allclose(worth, [0, 3, -5, -1])
    assert not endings.beyond(none, z)[0].any()
