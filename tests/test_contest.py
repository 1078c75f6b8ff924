"""The contest of policies: who plays, who is trusted, what replaces whom."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emuq.agents.emuq import contest, schedule
from emuq.agents.emuq.contest import CHALLENGER, FIRST, LONG, NEWEST, TRUSTED
from emuq.agents.emuq.options import Options
from emuq.linear.features import Features, action_part
from emuq.precision import double


def policy(number):
    """A policy that is told by its weight alone."""
    return contest.GreedyPolicy(None, None, jnp.full(1, float(number)), None)  # type: ignore[arg-type]


def number(policy) -> float:
    return float(policy.weights[0])


OLD, NEW = 1, 2
OPTIONS = Options()
JUDGE, CHALLENGE = jax.jit(contest.judge), jax.jit(contest.challenge)


@pytest.fixture(autouse=True)
def _in_double():
    with double():
        yield


def begun(**record):
    """A contest past its first episodes, in which nobody is trusted, with these fields changed."""

    def field(name, value):
        if name in ("trusted", "former", "challenger"):
            return policy(value)
        return jnp.asarray(value, float if name == "score" else jnp.int32)

    fields = {"episodes": FIRST} | record
    return contest.nobody(policy(0))._replace(**{name: field(name, x) for name, x in fields.items()})


def play(state, newest, outcomes):
    """Feed episodes' outcomes (goal, value) to the contest, with these newest weights."""
    for goal, value in outcomes:
        state = JUDGE(state, policy(newest), jnp.asarray(value, float), jnp.asarray(goal))
    return state


def trusts(state, known) -> bool:
    assert int(state.trials) > 0
    return number(state.trusted) == known


def record(state) -> tuple[int, int]:
    return int(state.wins), int(state.trials)


class Book:
    """What each policy won of what it played, kept apart from the contest; a policy is its number."""

    def __init__(self) -> None:
        self.records: dict[float, tuple[int, int]] = {}

    def note(self, known: float, goal: bool) -> None:
        wins, trials = self.records.get(known, (0, 0))
        self.records[known] = wins + goal, trials + 1

    def bet(self, known: float) -> float:
        wins, trials = self.records[known]
        return (wins + 1) / (trials + 2)


EPISODES = st.lists(
    st.tuples(st.booleans(), st.sampled_from([-0.5, 0.0, 0.1, 0.4]), st.booleans(), st.booleans()),
    max_size=80,
)
LUCKY = st.lists(  # long runs of wins, as it takes to replace a policy that never misses
    st.tuples(st.integers(0, 15).map(bool), st.sampled_from([0.0, 0.1, 0.4]), st.booleans(), st.booleans()),
    max_size=80,
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(EPISODES, LUCKY))
def test_no_policy_gives_way_to_a_worse_bet_and_records_are_true(episodes):
    with double():  # hypothesis runs the body many times within one fixture
        state, book = contest.nobody(policy(0)), Book()
        for i, (goal, value, draws, postpones) in enumerate(episodes):
            newest = float(i + 1)  # another policy at each plan
            if schedule.challenge_begins(state) and draws:
                state = CHALLENGE(state, policy(newest + 0.5), jnp.int32(i))
            if postpones and schedule.postpones_challenge(OPTIONS, state, 0.0):
                state = contest.postpone(state)
            turn, before = int(state.turn), state
            if turn != NEWEST:
                assert turn == CHALLENGER or int(state.trials) > 0
                book.note(number(contest.player(state)), goal)
            state = play(state, newest, [(goal, value)])
            # Who plays: the newest weights at first and never again, then somebody who is known.
            assert (int(state.turn) == NEWEST) == (i + 1 < FIRST and int(state.trials) == 0)
            # Records are those of the policy they stand beside, and no one wins more than it plays.
            if int(state.trials):
                assert record(state) == book.records[number(state.trusted)]
            for wins, trials in (record(state), (int(state.former_wins), int(state.former_trials))):
                assert 0 <= wins <= trials
            if wins := int(state.challenger_wins):  # a challenger is kept as it is, and has not missed
                assert book.records[number(state.challenger)] == (wins, wins)
            # Who is trusted: always somebody once there is one; nobody gives way to a worse bet.
            old, new = number(before.trusted), number(state.trusted)
            assert int(state.trials) > 0 or int(before.trials) == 0
            if int(before.trials) and new != old:
                assert book.bet(new) >= book.bet(old)
                wins, trials = book.records[old]
                if wins == trials:
                    found = book.records[new]
                    assert found[0] == found[1] >= trials


@settings(max_examples=60, deadline=None)
@given(st.integers(LONG, 40), st.floats(-0.5, 0.5), st.floats(-0.5, 0.5))
def test_one_that_never_missed_gives_way_to_as_many_wins_that_are_worth_as_much(wins, score, value):
    with double():
        state = begun(wins=wins, trials=wins, turn=CHALLENGER, trusted=OLD, challenger=NEW, score=score)
        nearly = play(state, NEW, [(True, value)] * (wins - 1))
        assert trusts(nearly, OLD)
        # The mean of equal numbers may round.
        if abs(value - score) > 1e-9:
            assert trusts(play(nearly, NEW, [(True, value)]), NEW if value > score else OLD)


def test_the_first_episodes_act_on_the_newest_weights():
    state = contest.nobody(policy(0))
    for _ in range(FIRST - 1):
        state = play(state, OLD, [(True, 0.5)])
        assert int(state.turn) == NEWEST
    state = play(state, OLD, [(True, 0.5)])
    assert int(state.turn) == CHALLENGER
    assert number(contest.player(state)) == OLD


def test_a_policy_is_trusted_once_seen_to_work_and_tested_to_its_first_miss():
    state = play(begun(), NEW, [(False, 0.0)])
    for _ in range(2):  # past its youth a policy is tried, kept still, and after a miss the next one
        assert schedule.challenge_begins(state)
        state = play(state, OLD, [(False, 0.0)])
        assert int(state.trials) == 0
    state = play(state, NEW, [(True, 0.5)])  # it works
    assert trusts(state, OLD)
    state = play(state, NEW, [(True, 0.5)] * 2)
    assert int(state.turn) == TRUSTED
    assert schedule.never_missed(state)
    state = play(state, NEW, [(False, 0.0)])  # 3 of 4, a bet of 4/6: the new one is tried, alone
    assert (*record(state), int(state.turn)) == (3, 4, CHALLENGER)
    assert not schedule.never_missed(state)
    assert trusts(state, OLD)  # but not yet trusted
    state = play(state, NEW, [(True, 0.4)])  # it wins once, 2/3
    assert trusts(state, NEW)
    assert (*record(state), int(state.turn)) == (1, 1, TRUSTED)


def test_challenges_follow_ten_wins_and_a_turn_of_the_trusted_policy_each_challenge():
    state = play(begun(wins=9, trials=9, turn=TRUSTED, trusted=OLD, score=0.4), NEW, [(True, 0.4)])
    turns = []
    for goal in (True, True, False, True):
        turns.append(int(state.turn))
        state = play(state, NEW, [(goal, 0.4 if goal else 0.0)])
    assert turns == [CHALLENGER] * 3 + [TRUSTED]
    assert int(state.turn) == CHALLENGER


def test_a_long_record_is_replaced_only_by_as_good_a_bet():
    challenged = begun(wins=18, trials=20, turn=CHALLENGER, trusted=OLD, challenger=NEW)
    nearly = play(challenged, NEW, [(True, 0.5)] * 5)  # alone: the trusted one has missed
    assert (int(nearly.challenger_wins), int(nearly.wins), int(nearly.trials)) == (5, 18, 20)
    assert trusts(nearly, OLD)
    assert trusts(play(nearly, NEW, [(True, 0.5)]), NEW)  # 7/8 against 19/22
    lost = play(nearly, NEW, [(False, 0.0)])
    assert trusts(lost, OLD)
    assert schedule.challenge_begins(lost)


def test_what_never_missed_is_replaced_by_as_many_episodes_worth_as_much():
    challenged = begun(wins=12, trials=12, turn=CHALLENGER, trusted=OLD, challenger=NEW, score=0.4)
    nearly = play(challenged, NEW, [(True, 0.41)] * 11)
    assert trusts(nearly, OLD)
    assert trusts(play(nearly, NEW, [(True, 0.41)]), NEW)
    slower = play(challenged, NEW, [(True, 0.39)] * 12)
    assert trusts(slower, OLD)
    assert int(slower.challenger_wins) == 0  # it was tried long enough


def test_what_was_replaced_comes_back_when_its_successor_misses():
    challenged = begun(wins=12, trials=12, turn=CHALLENGER, trusted=OLD, challenger=NEW, score=0.4)
    faster = play(challenged, NEW, [(True, 0.6)] * 12)
    assert trusts(faster, NEW)
    assert np.isnan(faster.score)  # its worth is measured by what it expects itself, from here on
    missed = play(faster, NEW, [(False, 0.0)])
    assert trusts(missed, OLD)
    assert (int(missed.wins), int(missed.trials)) == (12, 12)
    assert (int(missed.former_trials), int(missed.turn)) == (0, TRUSTED)
    again = play(missed, NEW, [(False, 0.0)])  # nothing is left to come back
    assert trusts(again, OLD)
    assert (int(again.wins), int(again.trials)) == (12, 13)


def test_a_worse_record_does_not_come_back():
    state = begun(wins=20, trials=20, trusted=NEW, former=OLD, former_wins=3, former_trials=6, turn=TRUSTED)
    assert trusts(play(state, NEW, [(False, 0.0)]), NEW)


def test_a_challenge_about_to_begin_is_the_newest_policys():
    waiting = begun(turn=CHALLENGER, challenger=OLD)
    begins = contest.challenge(waiting, policy(NEW), jnp.int32(700))
    assert number(begins.challenger) == NEW
    assert int(begins.drawn) == 700
    tried = waiting._replace(challenger_wins=jnp.int32(1))
    assert number(contest.challenge(tried, policy(NEW), jnp.int32(700)).challenger) == OLD


def drawn(rng, sines, actions, count=3):
    members, actions = [], jnp.asarray(actions)
    for _ in range(count):
        w = jnp.asarray(rng.normal(size=(6, 2))), jnp.asarray(rng.normal(size=(6, 1)))
        features = Features(*w, 0.3, sines)
        weights = jnp.asarray(rng.normal(size=features.num_features))
        candidates = action_part(features, actions)
        members.append(contest.GreedyPolicy(features, candidates, weights, jnp.zeros(1, bool)))
    return members


@pytest.mark.parametrize("sines", [True, False])
def test_votes_weigh_the_members_and_depend_on_the_observation_alone(sines, rng):
    state, action, actions = (jnp.asarray(rng.random(shape)) for shape in ((5, 2), (5, 1), (7, 1)))
    members = drawn(rng, sines, actions)
    calm = contest.committee(members)
    restless = calm._replace(restless=jnp.ones(3, bool))
    key, q = jax.random.key(0), [np.asarray(m.features(state, action) @ m.weights) for m in members]
    np.testing.assert_array_equal(contest.vote(calm, key, state[0]).weights, calm.weights)
    seen = []
    for observation in rng.random((200, 2)):
        weights = contest.vote(restless, key, jnp.asarray(observation)).weights
        votes, *_ = np.linalg.lstsq(np.stack(q).T, calm.features(state, action) @ weights, rcond=None)
        again = contest.vote(restless, key, jnp.asarray(observation)).weights
        np.testing.assert_array_equal(weights, again)
        seen.append(votes)
    votes = np.array(seen)
    assert votes.min() > 0
    np.testing.assert_allclose(votes.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(votes.mean(axis=0), 1 / 3, atol=0.06)  # each 1/3 +- 0.24, 200 of them
    np.testing.assert_allclose(votes.std(axis=0), 18**-0.5, atol=0.04)  # Dirichlet(1, 1, 1)


def test_one_member_has_the_only_vote(rng):
    (member,) = drawn(rng, True, rng.random((7, 1)), 1)
    assert contest.vote(member, jax.random.key(0), jnp.zeros(2)) is member


@pytest.mark.parametrize("sines", [True, False])
def test_a_committee_is_the_mean_of_its_members(sines, rng):
    state, action, actions = (jnp.asarray(rng.random(shape)) for shape in ((5, 2), (5, 1), (7, 1)))
    members = drawn(rng, sines, actions)
    whole = contest.committee(members)
    mean = np.mean([np.asarray(m.features(state, action) @ m.weights) for m in members], axis=0)
    np.testing.assert_allclose(whole.features(state, action) @ whole.weights, mean, atol=1e-12)
    parts = action_part(whole.features, actions)
    np.testing.assert_allclose(whole.candidates.cos, parts.cos, atol=1e-12)
    np.testing.assert_allclose(whole.candidates.sin, parts.sin, atol=1e-12)
