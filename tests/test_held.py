"""Policies of Q that have been seen to work: when they are held, and what replaces them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from emuq.agents.emuq import held as holding
from emuq.linear.features import Features, action_part
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
    return bool(np.all(held.policy == policy))


def test_the_first_episodes_act_on_the_newest_weights():
    held = holding.nothing(jnp.zeros(3))
    for _ in range(holding.YOUTH - 1):
        held = play(held, OLD, [(True, 0.5)])
        assert int(held.turn) == holding.LIVE
    held = play(held, OLD, [(True, 0.5)])
    assert int(held.turn) == holding.TRIAL
    np.testing.assert_array_equal(holding.reduced(held).policy, OLD)


def test_a_policy_is_held_once_seen_to_work_and_tested_to_its_first_miss():
    held = play(begun(), NEW, [(False, 0.0)])
    for _ in range(2):  # past its youth a policy is tried, kept still, and after a miss the next one
        assert holding.begins_trial(held)
        held = play(held, OLD, [(False, 0.0)])
        assert int(held.trials) == 0
    held = play(held, NEW, [(True, 0.5)])  # it works
    assert held_is(held, OLD)
    held = play(held, NEW, [(True, 0.5)] * 2)
    assert int(held.turn) == holding.HELD
    assert holding.faultless(held)
    held = play(held, NEW, [(False, 0.0)])  # 3 of 4, a bet of 4/6: the new one is tried, alone
    assert (int(held.wins), int(held.trials), int(held.turn)) == (3, 4, holding.TRIAL)
    assert not holding.faultless(held)
    assert held_is(held, OLD)  # but not yet trusted
    held = play(held, NEW, [(True, 0.4)])  # it wins once, 2/3
    assert held_is(held, NEW)
    assert (int(held.wins), int(held.trials), int(held.turn)) == (1, 1, holding.HELD)


def test_trials_follow_ten_wins_of_the_held_policy_and_a_turn_of_its_own_their_misses():
    held = play(begun(wins=9, trials=9, turn=holding.HELD, policy=OLD, score=0.4), NEW, [(True, 0.4)])
    turns = []
    for goal in (True, True, False, True):
        turns.append(int(held.turn))
        held = play(held, NEW, [(goal, 0.4 if goal else 0.0)])
    assert turns == [holding.TRIAL] * 3 + [holding.HELD]
    assert int(held.turn) == holding.TRIAL


def test_a_long_record_is_replaced_only_by_as_good_a_bet():
    trial = begun(wins=18, trials=20, turn=holding.TRIAL, policy=OLD, trial=NEW)
    nearly = play(trial, NEW, [(True, 0.5)] * 5)  # alone: the held one has missed
    assert (int(nearly.trial_count), int(nearly.wins), int(nearly.trials)) == (5, 18, 20)
    assert held_is(nearly, OLD)
    assert held_is(play(nearly, NEW, [(True, 0.5)]), NEW)  # 7/8 against 19/22
    lost = play(nearly, NEW, [(False, 0.0)])
    assert held_is(lost, OLD)
    assert holding.begins_trial(lost)


def test_what_never_missed_is_replaced_by_as_many_episodes_worth_as_much():
    trial = begun(wins=12, trials=12, turn=holding.TRIAL, policy=OLD, trial=NEW, score=0.4)
    nearly = play(trial, NEW, [(True, 0.41)] * 11)
    assert held_is(nearly, OLD)
    assert held_is(play(nearly, NEW, [(True, 0.41)]), NEW)
    slower = play(trial, NEW, [(True, 0.39)] * 12)
    assert held_is(slower, OLD)
    assert int(slower.trial_count) == 0  # it was tried long enough


def test_what_was_replaced_comes_back_when_its_successor_misses():
    trial = begun(wins=12, trials=12, turn=holding.TRIAL, policy=OLD, trial=NEW, score=0.4)
    faster = play(trial, NEW, [(True, 0.6)] * 12)
    assert held_is(faster, NEW)
    assert np.isnan(faster.score)  # its worth is measured by what it expects itself, from here on
    missed = play(faster, NEW, [(False, 0.0)])
    assert held_is(missed, OLD)
    assert (int(missed.wins), int(missed.trials)) == (12, 12)
    assert (int(missed.former_trials), int(missed.turn)) == (0, holding.HELD)
    again = play(missed, NEW, [(False, 0.0)])  # nothing is left to come back
    assert held_is(again, OLD)
    assert (int(again.wins), int(again.trials)) == (12, 13)


def test_a_worse_record_does_not_come_back():
    held = begun(
        wins=20, trials=20, policy=NEW, former=OLD, former_wins=3, former_trials=6, turn=holding.HELD
    )
    assert held_is(play(held, NEW, [(False, 0.0)]), NEW)


def test_a_trial_about_to_begin_is_of_the_newest_policy():
    waiting = begun(turn=holding.TRIAL, trial=OLD)
    retried = holding.retry(waiting, jnp.asarray(NEW), jnp.int32(700))
    np.testing.assert_array_equal(retried.trial, NEW)
    assert int(retried.drawn) == 700
    going = holding.retry(waiting._replace(trial_count=jnp.int32(1)), jnp.asarray(NEW), jnp.int32(700))
    np.testing.assert_array_equal(going.trial, OLD)


def drawn(rng, sines, actions, number=3):
    members = []
    for _ in range(number):
        w = jnp.asarray(rng.normal(size=(6, 2))), jnp.asarray(rng.normal(size=(6, 1)))
        features = Features(*w, 0.3, sines)
        weights = jnp.asarray(rng.normal(size=features.num_features))
        members.append(holding.Policy(features, action_part(features, actions), weights, jnp.zeros(1, bool)))
    return members


@pytest.mark.parametrize("sines", [True, False])
def test_votes_weigh_the_members_and_depend_on_the_observation_alone(sines, rng):
    state, action, actions = (jnp.asarray(rng.random(shape)) for shape in ((5, 2), (5, 1), (7, 1)))
    members = drawn(rng, sines, actions)
    calm = holding.committee(members)
    restless = calm._replace(restless=jnp.ones(3, bool))
    key, q = jax.random.key(0), [np.asarray(m.features(state, action) @ m.weights) for m in members]
    np.testing.assert_array_equal(holding.voted(calm, key, state[0]).weights, calm.weights)
    seen = []
    for observation in rng.random((200, 2)):
        weights = holding.voted(restless, key, jnp.asarray(observation)).weights
        votes, *_ = np.linalg.lstsq(np.stack(q).T, calm.features(state, action) @ weights, rcond=None)
        again = holding.voted(restless, key, jnp.asarray(observation)).weights
        np.testing.assert_array_equal(weights, again)
        seen.append(votes)
    votes = np.array(seen)
    assert votes.min() > 0
    np.testing.assert_allclose(votes.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(votes.mean(axis=0), 1 / 3, atol=0.06)  # each 1/3 +- 0.24, 200 of them
    np.testing.assert_allclose(votes.std(axis=0), 18**-0.5, atol=0.04)  # Dirichlet(1, 1, 1)


def test_one_member_has_the_only_vote(rng):
    (member,) = drawn(rng, True, jnp.asarray(rng.random((7, 1))), 1)
    assert holding.voted(member, jax.random.key(0), jnp.zeros(2)) is member


@pytest.mark.parametrize("sines", [True, False])
def test_a_committee_is_the_mean_of_its_members(sines, rng):
    state, action, actions = (jnp.asarray(rng.random(shape)) for shape in ((5, 2), (5, 1), (7, 1)))
    members = drawn(rng, sines, actions)
    whole = holding.committee(members)
    mean = np.mean([np.asarray(m.features(state, action) @ m.weights) for m in members], axis=0)
    np.testing.assert_allclose(whole.features(state, action) @ whole.weights, mean, atol=1e-12)
    parts = action_part(whole.features, actions)
    np.testing.assert_allclose(whole.candidates.cos, parts.cos, atol=1e-12)
    np.testing.assert_allclose(whole.candidates.sin, parts.sin, atol=1e-12)
