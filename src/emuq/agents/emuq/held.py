"""Holding on to weights that work.

A plan's greedy policy may reach the goal in every test, and the next plan's in none: least squares
gives no guarantee of improvement. So a policy is tried before it is trusted. While kappa = 0, each
episode acts on one of

    live     the newest weights, as plans change them (the first episodes)
    trial    a policy just planned, kept still for the episode
    held     the best policy proven so far

A policy is weights with the features they belong to, so that one can be kept while others are drawn. It may
be a committee: several draws of features, each planned on for itself, whose mean is Q. What one of them gets
wrong the others outvote; and where no episode has ended badly their votes vary from step to step, since all
that can go wrong there is a cycle.

The first episodes act on the newest weights: misses teach, and a policy planned before one has never seen
what is hard there, however lucky its own starts. Then a policy that wins is held, and tested: it acts for ten
episodes, or to its first miss. After that trials act. While it never missed, one is worth its risk only on
much more data than the last one's.

What episodes were worth decides: first whether they reached the goal, then by how much gamma^length exceeds
what the held policy expected of the start (starts differ, and luck is no merit). With w of n episodes won, a
policy succeeds with probability (w + 1) / (n + 2), by a uniform prior. A trial ends at its first miss. It
replaces a policy once it is as good a bet; one that never missed, after as many episodes therefore, only if
they were worth as much: it knows more data. What it replaced is remembered, and comes back if the new one
misses and is the worse bet for it.
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
from emuq.precision import double

T = TypeVar("T")

LIVE, TRIAL, HELD = 0, 1, 2
MEMORY = 10  # episodes that make a record: a score is averaged over them, a held policy tested
YOUTH = 6  # exploiting episodes before anything is held


class Policy(NamedTuple):
    """argmax_a phi(s, a).w over the candidates: all that it takes to act on Q."""

    features: Features
    candidates: Part
    weights: Float[Array, " m"]
    restless: Bool[Array, " c"]  # of each member, whether its vote varies


def committee(members: Sequence[Policy]) -> Policy:
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
    return Policy(joined, candidates, flat, jnp.concatenate([m.restless for m in members]))


def voted(policy: Policy, key: Array, observation: Float[Array, " ds"]) -> Policy:
    """Q = sum_i v_i Q_i with v ~ Dirichlet(1, ..., 1): a restless committee's votes at one step.

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


class Held(NamedTuple):
    """`policy` is proven when `trials` > 0; `turn` says whose episode this is."""

    policy: Policy
    score: Float[Array, ""]  # the mean worth of its episodes, NaN before the first
    trials: Int[Array, ""]
    wins: Int[Array, ""]  # of them, those that reached the goal
    former: Policy  # what it replaced, with its record
    former_trials: Int[Array, ""]
    former_wins: Int[Array, ""]
    trial: Policy
    trial_score: Float[Array, ""]
    trial_count: Int[Array, ""]
    turn: Int[Array, ""]
    age: Int[Array, ""]  # exploiting episodes
    drawn: Int[Array, ""]  # transitions that there were when features were last drawn


def nothing(live: Policy) -> Held:
    """Nothing has been proven."""

    def none() -> Array:  # an array of its own for each field: a state's arrays are donated, once each
        return jnp.zeros((), jnp.int32)

    def empty() -> Policy:
        return jax.tree.map(jnp.zeros_like, live)

    return Held(
        policy=empty(),
        score=jnp.zeros(()) + jnp.nan,
        trials=none(),
        wins=none(),
        former=empty(),
        former_trials=none(),
        former_wins=none(),
        trial=empty(),
        trial_score=jnp.zeros(()),
        trial_count=none(),
        turn=none() + LIVE,
        age=none(),
        drawn=none(),
    )


class Acting(NamedTuple):
    """What an episode needs of `Held`; `policy` is for turns that are not LIVE."""

    policy: Policy
    turn: Int[Array, ""]


@jax.jit
def reduced(held: Held) -> Acting:
    return Acting(when(held.turn == HELD, held.policy, held.trial), held.turn)


def kept(held: Held) -> Policy | None:
    """What this episode acts on, if it is not the newest weights."""
    with double():
        return None if int(held.turn) == LIVE else reduced(held).policy


def faultless(held: Held) -> bool:
    """Whether something is held that never missed."""
    return 0 < int(held.trials) == int(held.wins)


def begins_trial(held: Held) -> bool:
    """Whether the next episode is a trial's first."""
    return int(held.turn) == TRIAL and not int(held.trial_count)


def retry(held: Held, policy: Policy, count: Int[Array, ""]) -> Held:
    """The trial that is about to begin is of this policy, drawn when there were `count` transitions."""
    return held._replace(trial=when(held.trial_count == 0, policy, held.trial), drawn=count)


def rest(held: Held) -> Held:
    """The held policy's turn, instead of a trial."""
    return held._replace(turn=jnp.full_like(held.turn, HELD))


def settle(held: Held, live: Policy, value: Float[Array, ""], goal: Bool[Array, ""]) -> Held:
    """An exploiting episode is over: score its policy, promote or drop a trial, choose the next turn."""
    proven = held.trials > 0
    tried, kept = held.turn == TRIAL, held.turn == HELD
    trials, wins = held.trials + kept, held.wins + (kept & goal)
    average = held.score + (value - held.score) / jnp.clip(trials, 1, MEMORY)
    score = jnp.where(kept, jnp.where(jnp.isnan(held.score), value, average), held.score)
    # The trial.
    count = held.trial_count + tried
    mean = held.trial_score + jnp.where(tried, (value - held.trial_score) / jnp.maximum(count, 1), 0.0)
    as_good = _as_good((count, count), (wins, trials))
    won = tried & goal & (~proven | (as_good & ((wins < trials) | (mean >= score))))
    # What it replaced was the better bet after all.
    back = kept & ~goal & ~_as_good((wins, trials), (held.former_wins, held.former_trials))
    age = held.age + 1
    over = tried & (~goal | as_good)
    former_trials = jnp.where(won, trials, jnp.where(back, 0, held.former_trials))
    former_wins = jnp.where(won, wins, jnp.where(back, 0, held.former_wins))
    trials = jnp.where(won, count, jnp.where(back, held.former_trials, trials))
    wins = jnp.where(won, count, jnp.where(back, held.former_wins, wins))
    score = jnp.where(won | back, jnp.nan, score)  # what it expects is the measure from now on
    # Ten episodes find out most of what does not hold; what has missed is not tried again.
    rest = (trials > 0) & (wins == trials) & ((trials < MEMORY) | (tried & over) | jnp.isnan(score))
    live_on = (trials == 0) & (age < YOUTH)
    going = ~over & (count > 0)
    fresh = ~rest & ~live_on & ~going
    turn = jnp.where(rest, HELD, jnp.where(live_on, LIVE, TRIAL))
    return Held(
        policy=when(won, held.trial, when(back, held.former, held.policy)),
        score=score,
        trials=trials.astype(jnp.int32),
        wins=wins.astype(jnp.int32),
        former=when(won, held.policy, held.former),
        former_trials=former_trials.astype(jnp.int32),
        former_wins=former_wins.astype(jnp.int32),
        trial=when(fresh, live, held.trial),
        trial_score=jnp.where(going, mean, 0.0),
        trial_count=jnp.where(going, count, 0).astype(jnp.int32),
        turn=turn.astype(jnp.int32),
        age=age.astype(jnp.int32),
        drawn=held.drawn,
    )


def _as_good(record: tuple[Int[Array, ""], Int[Array, ""]], other: tuple[Int[Array, ""], Int[Array, ""]]):
    """(w + 1) / (n + 2) >= the other's; anything is as good as what was never tried."""
    (w, n), (v, m) = record, other
    return (m == 0) | ((w + 1) * (m + 2) >= (v + 1) * (n + 2))


def when(condition: Bool[Array, ""], new: T, old: T) -> T:
    """`new` where the condition holds, else `old`: array by array."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)
