"""Which policy exploits: one is proven by a success of its own, and trusted until a miss."""

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
        empty = support.nothing(jnp.zeros((2, 1)), 1)
    return empty._replace(base=jnp.float32(number))


def play(episodes):
    """(who acted at first, who is given to a user) of each (goal, return, steps), and who is in the end.

    The newest plan has the episode's number, from 1, and at its end half more: a plan made within it.
    """
    with double():
        now, seen, count = trust.nobody(plan(0)), [], 0
        for i, (goal, total, steps) in enumerate(episodes, 1):
            now = trust.begin(now, plan(i), jnp.int32(count))
            acted = float(trust.player(now, plan(i), jnp.int32(count)).base)
            seen.append((acted, float(trust.best(now, plan(i)).base)))
            count += steps
            now = judge(now, plan(i + 0.5), jnp.asarray(goal), jnp.asarray(total), jnp.int32(count))
        return seen, float(trust.best(now, plan(99)).base), now


def test_nobody_is_trusted_before_a_success():
    seen, given, now = play([(False, 5.0, 10), (False, 4.0, 10), (False, 3.0, 10)])
    assert seen[0] == (1, 1)
    assert seen[1] == (1.5, 1.5)  # the first return is the best so far
    assert seen[2] == (3, 3)  # the second was not
    assert given == 99
    assert not bool(now.held)
    assert float(now.record) == 5.0


def test_a_goal_that_newest_plans_reached_together_is_proven_by_one_of_them():
    seen, given, now = play([(True, 1.0, 10)])
    assert given == 99, "no plan has reached it alone"
    assert not bool(now.live), "the next one is kept for a whole episode"
    seen, given, now = play([(True, 1.0, 10), (True, 0.5, 12)])
    assert seen[1] == (2, 2)
    assert given == 2
    assert int(now.steps) == 12


def test_a_policy_that_is_proven_acts_until_it_misses():
    episodes = [(True, 1.0, 30), (True, 1.0, 30), (True, 0.9, 20), (True, 0.9, 9), (False, 0.0, 20)]
    seen, given, now = play(episodes)
    assert [acted for acted, _ in seen] == [1, 2, 2, 2, 2]
    assert given == 99
    assert bool(now.live)
    assert int(now.steps) == 30, "of its longest success"


def test_the_newest_plan_takes_over_from_a_policy_that_is_late():
    _, _, now = play([(True, 1.0, 30), (True, 1.0, 30)])
    with double():
        now = trust.begin(now, plan(3), jnp.int32(60))
        played = [float(trust.player(now, plan(4), jnp.int32(60 + i)).base) for i in (0, 59, 60)]
        assert played == [2, 2, 4]
        rescued = judge(now, plan(5), jnp.asarray(True), jnp.asarray(1.0), jnp.int32(60 + 70))
    assert not bool(rescued.held), "it was not the proven one that reached the goal"
    assert not bool(rescued.live)


def test_without_a_goal_a_success_is_the_best_return_so_far_and_no_episode_is_too_long():
    seen, given, now = play([(False, 100.0, 10), (False, 500.0, 3), (False, 500.0, 3), (False, 499.0, 3)])
    assert [acted for acted, _ in seen] == [1, 1.5, 1.5, 1.5]
    assert given == 99
    assert int(now.steps) == trust.FOREVER


def test_twice_the_data_have_the_newest_plan_tried_and_the_proven_one_given_meanwhile():
    seen, given, now = play([(True, 1.0, 10)] * 6)
    assert [acted for acted, _ in seen] == [1, 2, 2, 2, 5, 5]
    assert [given for _, given in seen] == [1, 2, 2, 2, 2, 5]
    assert given == 5
    assert int(now.since) == 50


def test_a_trial_that_misses_leaves_the_proven_policy_until_the_data_have_doubled_again():
    episodes = [(True, 1.0, 10)] * 4 + [(False, 0.0, 10)] + [(True, 1.0, 10)] * 6
    seen, given, now = play(episodes)
    assert [acted for acted, _ in seen] == [1, 2, 2, 2, 5, 2, 2, 2, 2, 2, 11]
    assert [given for _, given in seen[1:]] == [2] * 10
    assert given == 11
    assert int(now.since) == 110


@pytest.mark.parametrize("live", [False, True])
def test_a_policy_is_kept_whole(live):
    """All arrays of one plan, never some of another."""
    with double():
        now = trust.nobody(plan(1))._replace(live=jnp.asarray(live), steps=jnp.int32(5))
        newest = jax.tree.map(lambda x: x + 7, plan(2))
        found = jax.tree.leaves(trust.player(now, newest, jnp.int32(3)))
        expected = jax.tree.leaves(newest if live else now.playing)
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
