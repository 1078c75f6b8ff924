"""The contest of policies: who plays, who is trusted, what replaces whom."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emuq.agents.emuq import contest
from emuq.agents.emuq.contest import CHALLENGER, FIRST, LONG, NEWEST, TRUSTED
from emuq.planning import support
from emuq.precision import double

judge = jax.jit(contest.judge)


def plan(number):
    """A policy that can be told from others, by its base."""
    nothing = support.nothing(jnp.zeros((1, 2), jnp.float32), jnp.zeros((2, 1)), 1)
    return nothing._replace(base=jnp.float32(number))


def play(worths):
    """(who played, on which policy, the contest after it) of each episode; the newest plan has its number."""
    with double():
        now, seen = contest.nobody(plan(0)), []
        for i, worth in enumerate(worths):
            who, policy = int(now.turn), float(contest.player(now, plan(i)).base)
            value = jnp.asarray(float(worth(who, policy) if callable(worth) else worth))
            now = judge(now, plan(i + 1), value, value)
            seen.append((who, policy, now))
    return seen


def test_the_first_episodes_act_on_the_newest_plan_and_trust_nobody():
    seen = play([1.0] * FIRST)
    assert [who for who, _, _ in seen] == [NEWEST] * FIRST
    assert [policy for _, policy, _ in seen] == list(range(FIRST))  # each on the plan before it
    assert int(seen[-1][2].record.episodes) == 0
    assert int(seen[-1][2].turn) == CHALLENGER


def test_the_first_challenger_is_trusted_and_then_they_take_turns():
    seen = play([1.0] * (FIRST + 6))
    assert [who for who, _, _ in seen[FIRST:]] == [
        CHALLENGER,
        TRUSTED,
        CHALLENGER,
        TRUSTED,
        CHALLENGER,
        TRUSTED,
    ]
    assert float(seen[FIRST][2].trusted.base) == FIRST


def test_a_policy_that_fails_gives_way_to_the_first_that_does_not():
    worths = [lambda who, policy: float(policy > FIRST)] * (FIRST + 4)
    seen = play(worths)
    assert float(seen[-1][2].trusted.base) > FIRST
    assert float(seen[-1][2].record.mean) == 1.0


def test_one_miss_ends_a_challenge_of_a_policy_that_never_missed():
    good = [lambda who, policy: 1.0] * (FIRST + 8)
    seen = play(good + [lambda who, policy: float(who != CHALLENGER)] * 7)
    before, after = seen[FIRST + 7][2], seen[-1][2]
    assert float(after.trusted.base) == float(before.trusted.base)
    assert float(after.record.mean) == 1.0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.integers(0, 1000))
def test_whatever_happens_records_belong_to_what_was_played(worths, seed):
    episodes, last = {}, None
    for i, (who, policy, now) in enumerate(play(worths)):
        assert int(now.episodes) == i + 1
        assert who in (NEWEST, CHALLENGER, TRUSTED)
        if who == TRUSTED:
            assert policy == float(last.trusted.base)
        if who != NEWEST:
            episodes.setdefault(policy, []).append(worths[i])
        if int(now.record.episodes):
            played = episodes[float(now.trusted.base)]
            assert int(now.record.episodes) <= len(played)
            assert min(played) - 1e-9 <= float(now.record.mean) <= max(played) + 1e-9
        assert int(now.challenge.episodes) <= LONG
        last = now


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=FIRST + 1, max_size=40))
def test_a_policy_is_replaced_by_one_that_was_no_worse(worths):
    last = None
    for i, (who, policy, now) in enumerate(play(worths)):
        replaced = last is not None and float(now.trusted.base) != float(last.trusted.base)
        if replaced and int(last.record.episodes):
            assert who == CHALLENGER
            assert float(now.trusted.base) == policy
            assert float(now.record.mean) >= float(last.record.mean) - 1e-9, i
        last = now


@pytest.mark.parametrize("length", [1, 4, LONG, 3 * LONG])
def test_a_record_is_the_mean_of_its_episodes_and_forgets_slowly(length):
    values = np.random.default_rng(0).normal(size=length)
    with double():
        record = contest.nobody(plan(0)).record
        for value in values:
            record = contest.longer(record, jnp.asarray(value))
    assert int(record.episodes) == length
    if length <= LONG:
        np.testing.assert_allclose(record.mean, values.mean())
        np.testing.assert_allclose(record.square, (values**2).mean())
