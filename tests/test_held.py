"""Weights of Q that have been seen to work: when they are held, and what replaces them."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from emuq.agents import held as holding
from emuq.precision import double


def play(held, live, outcomes):
    """Feed episodes' outcomes (goal, value) to the state, with the newest weights `live`."""
    for goal, value in outcomes:
        held = holding.settle(held, live, jnp.asarray(value), jnp.asarray(goal))
    return held


def test_weights_are_held_once_seen_to_work_and_replaced_when_they_miss():
    with double():
        good, new = jnp.ones(3), 2 * jnp.ones(3)
        held = play(holding.nothing(3), good, [(False, 0.0)])
        assert int(held.turn) == holding.LIVE
        held = play(held, good, [(True, 0.5)])  # reached the goal: these weights are tried, kept still
        assert int(held.turn) == holding.TRIAL
        held = play(held, new, [(True, 0.5)])  # they work
        np.testing.assert_array_equal(holding.trusted(held, new), good)
        held = play(held, new, [(True, 0.5), (False, 0.0)])  # held again; then a trial of the new ones misses
        np.testing.assert_array_equal(holding.trusted(held, new), good)
        assert int(held.turn) == holding.HELD
        held = play(held, new, [(False, 0.0)])  # the held ones miss: 2 of 3, a bet of 3/5
        assert (int(held.wins), int(held.trials)) == (2, 3)
        held = play(held, new, [(True, 0.4)])  # new ones win once, 2/3
        np.testing.assert_array_equal(holding.trusted(held, good), new)
        assert (int(held.wins), int(held.trials)) == (1, 1)


def test_weights_with_a_long_record_are_replaced_only_by_as_good_a_bet():
    with double():
        good, new = jnp.ones(3), 2 * jnp.ones(3)
        record = {"wins": jnp.int32(18), "trials": jnp.int32(20), "turn": jnp.int32(holding.TRIAL)}
        begun = holding.nothing(3)._replace(weights=good, trial=new, **record)
        nearly = play(begun, new, [(True, 0.5)] * 14)  # they take turns: 7 wins, and 7 more of the held ones
        assert (int(nearly.trial_count), int(nearly.wins), int(nearly.trials)) == (7, 25, 27)
        np.testing.assert_array_equal(holding.trusted(nearly, new), good)
        held = play(nearly, new, [(True, 0.5)])  # 9/10 against 26/29
        np.testing.assert_array_equal(holding.trusted(held, good), new)
        lost = play(nearly, new, [(False, 0.0)])
        np.testing.assert_array_equal(holding.trusted(lost, new), good)
        assert int(lost.turn) == holding.HELD


def test_weights_that_never_missed_are_replaced_only_by_a_clear_lead():
    with double():
        good, new = jnp.ones(3), 2 * jnp.ones(3)
        record = {"wins": jnp.int32(5), "trials": jnp.int32(5), "turn": jnp.int32(holding.TRIAL)}
        begun = holding.nothing(3)._replace(weights=good, trial=new, score=jnp.asarray(0.4), **record)
        turns = [(True, 0.4), (True, 0.4)]
        same = play(begun, new, turns * holding.MEMORY)
        np.testing.assert_array_equal(holding.trusted(same, new), good)
        faster = play(begun, new, [(True, 0.6), (True, 0.4)] * 2 + [(True, 0.6)])
        np.testing.assert_array_equal(holding.trusted(faster, good), new)
