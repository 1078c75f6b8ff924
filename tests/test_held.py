"""Policies of Q that have been seen to work: when they are held, and what replaces them."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from emuq.agents import held as holding
from emuq.precision import double

OLD, NEW = np.ones(3), 2 * np.ones(3)  # any tree of arrays will do for a policy


@pytest.fixture(autouse=True)
def _in_double():
    with double():
        yield


def begun(**record):
    """Something that holds nothing, past its youth, with these fields changed."""
    fields = {"age": holding.YOUTH} | record
    return holding.nothing(jnp.zeros(3))._replace(
        **{name: jnp.asarray(value, jnp.int32) if isinstance(value, int) else jnp.asarray(value)
           for name, value in fields.items()}
    )  # fmt: skip


def play(held, live, outcomes):
    """Feed episodes' outcomes (goal, value) to the state, with the newest policy `live`."""
    for goal, value in outcomes:
        held = holding.settle(held, jnp.asarray(live), jnp.asarray(value), jnp.asarray(goal))
    return held


def held_is(held, policy) -> bool:
    assert int(held.trials) > 0
    return bool(np.all(holding.trusted(held, -jnp.ones(3)) == policy))


def test_the_first_episodes_act_on_the_newest_weights():
    held = holding.nothing(jnp.zeros(3))
    for _ in range(holding.YOUTH - 1):
        held = play(held, OLD, [(True, 0.5)])
        assert int(held.turn) == holding.LIVE
        np.testing.assert_array_equal(holding.acting(held, jnp.asarray(NEW)), NEW)
    held = play(held, OLD, [(True, 0.5)])
    assert int(held.turn) == holding.TRIAL
    np.testing.assert_array_equal(holding.acting(held, jnp.asarray(NEW)), OLD)


def test_a_policy_is_held_once_seen_to_work_and_replaced_when_it_misses():
    held = play(begun(), OLD, [(False, 0.0)])
    assert int(held.turn) == holding.LIVE
    held = play(held, OLD, [(True, 0.5)])  # reached the goal: this policy is tried, kept still
    assert int(held.turn) == holding.TRIAL
    held = play(held, NEW, [(True, 0.5)])  # it works
    assert held_is(held, OLD)
    assert holding.faultless(held)
    held = play(held, NEW, [(True, 0.5), (False, 0.0)])  # held again; then a trial of the new one misses
    assert held_is(held, OLD)
    assert int(held.turn) == holding.HELD
    held = play(held, NEW, [(False, 0.0)])  # the held one misses: 2 of 3, a bet of 3/5
    assert (int(held.wins), int(held.trials)) == (2, 3)
    assert not holding.faultless(held)
    held = play(held, NEW, [(True, 0.4)])  # the new one wins once, 2/3
    assert held_is(held, NEW)
    assert (int(held.wins), int(held.trials)) == (1, 1)


def test_a_long_record_is_replaced_only_by_as_good_a_bet():
    trial = begun(wins=18, trials=20, turn=holding.TRIAL, policy=OLD, trial=NEW)
    nearly = play(trial, NEW, [(True, 0.5)] * 14)  # they take turns: 7 wins, and 7 more of the held one
    assert (int(nearly.trial_count), int(nearly.wins), int(nearly.trials)) == (7, 25, 27)
    assert held_is(nearly, OLD)
    assert held_is(play(nearly, NEW, [(True, 0.5)]), NEW)  # 9/10 against 26/29
    lost = play(nearly, NEW, [(False, 0.0)])
    assert held_is(lost, OLD)
    assert int(lost.turn) == holding.HELD


def test_what_never_missed_is_replaced_by_a_clear_lead_or_after_ten_by_no_slower():
    trial = begun(wins=5, trials=5, turn=holding.TRIAL, policy=OLD, trial=NEW, score=0.4)
    assert held_is(play(trial, NEW, [(True, 0.6), (True, 0.4)] * 2 + [(True, 0.6)]), NEW)
    assert held_is(play(trial, NEW, [(True, 0.45), (True, 0.4)] * 5), OLD)
    assert held_is(play(trial, NEW, [(True, 0.4)] * 19), NEW)
    assert held_is(play(trial, NEW, [(True, 0.39), (True, 0.4)] * 10), OLD)
    proven = trial._replace(wins=jnp.int32(20), trials=jnp.int32(20))
    assert held_is(play(proven, NEW, [(True, 0.4)] * 19), OLD)
    assert held_is(play(proven, NEW, [(True, 0.6), (True, 0.4)] * 10), NEW)


def test_knowing_of_a_miss_outweighs_a_short_record():
    trial = begun(
        wins=4, trials=4, turn=holding.TRIAL, policy=OLD, trial=NEW, score=0.4, misses=1, trial_known=1
    )
    enough = [(True, 0.3), (True, 0.4)] * (holding.NEWS - 1) + [(True, 0.3)]
    assert held_is(play(trial, NEW, enough), NEW)
    assert held_is(play(trial._replace(known=jnp.int32(1)), NEW, enough), OLD)
    proven = trial._replace(wins=jnp.int32(10), trials=jnp.int32(10))
    assert held_is(play(proven, NEW, enough), OLD)
    missed = play(trial, NEW, [(False, 0.0)])  # the next trial knows of this one, too
    assert int(play(missed, NEW, [(True, 0.4)]).trial_known) == 2


def test_a_trial_about_to_begin_is_of_the_newest_policy():
    waiting = begun(turn=holding.TRIAL, trial=OLD, misses=3)
    fresh = holding.retry(waiting, jnp.asarray(NEW))
    np.testing.assert_array_equal(fresh.trial, NEW)
    assert int(fresh.trial_known) == 3
    going = holding.retry(waiting._replace(trial_count=jnp.int32(1)), jnp.asarray(NEW))
    np.testing.assert_array_equal(going.trial, OLD)
