"""The contest of policies: which one acts while the agent exploits, and which one it trusts.

A plan's greedy policy may reach the goal in every test, and the next plan's in none: least squares gives no
guarantee of improvement. So a policy is tried before it is trusted. While kappa = 0, each episode is played
by

    the newest      the weights as they are, which every plan changes (the first six such episodes)
    a challenger    a policy planned just before its first episode, and kept as it is while it is tried
    the trusted     the policy with the best record so far

A record is w episodes won, those that reached the goal, of n played. By a uniform prior its policy then wins
with probability (w + 1) / (n + 2), and one record is as good a bet as another if this number is no smaller.

1. The first six episodes act on the newest weights: their misses teach what is hard, and a policy planned
   before such a miss has never seen it, however lucky its own starts.
2. Then a challenger plays. At its first miss it is dropped, and another one is planned.
3. It becomes the trusted policy once its record is as good a bet as the trusted one's. Against one that
   never missed this takes as many wins, and these must have been worth as much: by how much gamma^length
   exceeded what the trusted policy expected of the start, on average (starts differ, and luck is no merit).
4. A trusted policy that has not missed plays ten episodes before anyone challenges it, and one after each
   challenge. The next challenge then waits for much more data than there were at the last draw of features
   (`schedule`).
5. What it replaced is remembered as the former policy, which comes back if the new one misses and is now the
   worse bet.

A policy is weights with the features they belong to, so that it can be kept while others are drawn. It may
be a committee: several draws of features, each planned on for itself, whose mean is Q. What one of them gets
wrong the others outvote. Where no episode has failed it is restless: its votes vary from step to step, since
all that can go wrong there is a cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from emuq.linear.features import Features, Part

T = TypeVar("T")

NEWEST, CHALLENGER, TRUSTED = 0, 1, 2  # whose turn it is
LONG = (
    10  # episodes that make a long record: a score is averaged over them, a trusted policy plays them alone
)
FIRST = 6  # exploiting episodes that act on the newest weights


class GreedyPolicy(NamedTuple):
    """argmax_a phi(s, a).w over the candidate actions: all that it takes to act on Q."""

    features: Features
    candidates: Part
    weights: Float[Array, " m"]
    restless: Bool[Array, " c"]  # of each member of a committee, whether its vote varies


def committee(members: Sequence[GreedyPolicy]) -> GreedyPolicy:
    """Q is the mean of the members' Q: one policy on all of their features."""
    first = members[0].features
    joined = replace(
        first,
        state_frequencies=jnp.concatenate([m.features.state_frequencies for m in members]),
        action_frequencies=jnp.concatenate([m.features.action_frequencies for m in members]),
    )
    candidates = Part(*(jnp.concatenate([m.candidates[i] for m in members], axis=-1) for i in range(2)))
    # All cosines come first, then all sines.
    weights = jnp.stack([m.weights for m in members]).reshape(len(members), 2 if first.sines else 1, -1)
    flat = jnp.swapaxes(weights, 0, 1).ravel() / len(members)
    return GreedyPolicy(joined, candidates, flat, jnp.concatenate([m.restless for m in members]))


def vote(policy: GreedyPolicy, key: Array, observation: Float[Array, " ds"]) -> GreedyPolicy:
    """Q = sum_i v_i Q_i with v ~ Dirichlet(1, ..., 1): a restless committee at this observation.

    A policy that misses where nothing can go wrong is caught in a cycle, and votes that vary break it. They
    are drawn from the observation itself, so that a policy stays a function of it.
    """
    number = policy.restless.shape[0]
    if number == 1:
        return policy
    bits = jax.lax.bitcast_convert_type(observation, jnp.uint32).ravel()
    places = jnp.asarray(np.cumprod(np.full(len(bits), 2654435761, np.uint32), dtype=np.uint32))
    votes = jax.random.exponential(jax.random.fold_in(key, jnp.sum(bits * places)), (number,))
    votes = jnp.where(policy.restless, number * votes / jnp.sum(votes), 1.0)
    weights = policy.weights.reshape(-1, number, policy.features.state_frequencies.shape[0] // number)
    return policy._replace(weights=(weights * votes[:, None]).ravel())


class Contest(NamedTuple):
    """The policies and their records. A policy is trusted when `trials` > 0."""

    trusted: GreedyPolicy
    score: Float[Array, ""]  # the mean worth of its episodes, NaN before the first
    trials: Int[Array, ""]  # episodes in its record
    wins: Int[Array, ""]  # of them, those that reached the goal
    former: GreedyPolicy  # what it replaced
    former_trials: Int[Array, ""]
    former_wins: Int[Array, ""]
    challenger: GreedyPolicy
    challenger_score: Float[Array, ""]
    challenger_wins: Int[Array, ""]  # all of its episodes so far: the first miss ends a challenge
    turn: Int[Array, ""]  # who plays the next episode, or the one under way
    episodes: Int[Array, ""]  # exploiting episodes so far
    drawn: Int[Array, ""]  # transitions that there were when features were last drawn


def nobody(newest: GreedyPolicy) -> Contest:
    """No policy has been tried. `newest` gives the shapes alone."""

    def none() -> Array:  # an array of its own for each field: a state's arrays are donated, once each
        return jnp.zeros((), jnp.int32)

    def empty() -> GreedyPolicy:
        return jax.tree.map(jnp.zeros_like, newest)

    return Contest(
        trusted=empty(),
        score=jnp.zeros(()) + jnp.nan,
        trials=none(),
        wins=none(),
        former=empty(),
        former_trials=none(),
        former_wins=none(),
        challenger=empty(),
        challenger_score=jnp.zeros(()),
        challenger_wins=none(),
        turn=none() + NEWEST,
        episodes=none(),
        drawn=none(),
    )


def player(contest: Contest) -> GreedyPolicy:
    """The policy whose episode it is, unless that is the newest weights."""
    return when(contest.turn == TRUSTED, contest.trusted, contest.challenger)


def challenge(contest: Contest, policy: GreedyPolicy, count: Int[Array, ""]) -> Contest:
    """A challenge that is about to begin is this policy's; features were drawn at `count` transitions."""
    begins = contest.challenger_wins == 0
    return contest._replace(challenger=when(begins, policy, contest.challenger), drawn=count)


def postpone(contest: Contest) -> Contest:
    """The trusted policy plays, instead of a challenger."""
    return contest._replace(turn=jnp.full_like(contest.turn, TRUSTED))


def judge(contest: Contest, newest: GreedyPolicy, value: Float[Array, ""], goal: Bool[Array, ""]) -> Contest:
    """After an exploiting episode worth `value`: records, who is trusted, who plays next. O(M) for copies."""
    challenged, defended = contest.turn == CHALLENGER, contest.turn == TRUSTED
    # The record of the one who played.
    trials, wins = contest.trials + defended, contest.wins + (defended & goal)
    average = contest.score + (value - contest.score) / jnp.clip(trials, 1, LONG)
    score = jnp.where(defended, jnp.where(jnp.isnan(contest.score), value, average), contest.score)
    tried = contest.challenger_wins + challenged
    change = jnp.where(challenged, (value - contest.challenger_score) / jnp.maximum(tried, 1), 0.0)
    mean = contest.challenger_score + change
    # The challenger takes over, or the former policy comes back.
    as_good = _as_good((tried, tried), (wins, trials))
    worth_it = (wins < trials) | (mean >= score)
    takes_over = challenged & goal & ((contest.trials == 0) | (as_good & worth_it))
    former = contest.former_wins, contest.former_trials
    comes_back = defended & ~goal & ~_as_good((wins, trials), former)
    former_trials = jnp.where(takes_over, trials, jnp.where(comes_back, 0, contest.former_trials))
    former_wins = jnp.where(takes_over, wins, jnp.where(comes_back, 0, contest.former_wins))
    trials = jnp.where(takes_over, tried, jnp.where(comes_back, contest.former_trials, trials))
    wins = jnp.where(takes_over, tried, jnp.where(comes_back, contest.former_wins, wins))
    score = jnp.where(takes_over | comes_back, jnp.nan, score)  # from now on by what this one expects
    # Who plays next. Ten episodes find out most of what does not hold; what has missed is not tested again.
    episodes = contest.episodes + 1
    over = challenged & (~goal | as_good)
    untested = (trials < LONG) | (challenged & over) | jnp.isnan(score)
    defends = (trials > 0) & (wins == trials) & untested
    learns = (trials == 0) & (episodes < FIRST)
    goes_on = ~over & (tried > 0)
    another = ~defends & ~learns & ~goes_on
    turn = jnp.where(defends, TRUSTED, jnp.where(learns, NEWEST, CHALLENGER))
    return Contest(
        trusted=when(takes_over, contest.challenger, when(comes_back, contest.former, contest.trusted)),
        score=score,
        trials=trials.astype(jnp.int32),
        wins=wins.astype(jnp.int32),
        former=when(takes_over, contest.trusted, contest.former),
        former_trials=former_trials.astype(jnp.int32),
        former_wins=former_wins.astype(jnp.int32),
        challenger=when(another, newest, contest.challenger),
        challenger_score=jnp.where(goes_on, mean, 0.0),
        challenger_wins=jnp.where(goes_on, tried, 0).astype(jnp.int32),
        turn=turn.astype(jnp.int32),
        episodes=episodes.astype(jnp.int32),
        drawn=contest.drawn,
    )


def _as_good(record: tuple[Int[Array, ""], Int[Array, ""]], other: tuple[Int[Array, ""], Int[Array, ""]]):
    """(w + 1) / (n + 2) >= the other's; anything is as good as what was never tried."""
    (w, n), (v, m) = record, other
    return (m == 0) | ((w + 1) * (m + 2) >= (v + 1) * (n + 2))


def when(condition: Bool[Array, ""], new: T, old: T) -> T:
    """`new` where the condition holds, else `old`: array by array."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)
