"""Holding on to weights that work.

A plan's greedy policy may reach the goal in every test, and the next plan's in none: least squares
gives no guarantee of improvement. So weights of Q are tried before they are trusted. While kappa = 0,
each episode acts on one of

    live     the newest weights, as plans change them (nothing has been proven yet)
    trial    a copy of the newest weights, kept still for the episode
    held     the best weights proven so far

and what an episode was worth decides which weights are held: first whether it reached the goal, then by
how much gamma^length exceeds what Q expected of its start (starts differ, and luck is no merit).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int

LIVE, TRIAL, HELD = 0, 1, 2
PROOF = 3  # trials in a row that weights must win before they replace others
MEMORY = 10  # clean episodes after which weights are established, and over which their score is averaged
SLACK, EDGE = (
    0.1,
    0.02,
)  # how much worse new weights may do than others, how much better than established ones


class Held(NamedTuple):
    """`weights` are proven when `trials` > 0; `turn` says whose episode this is."""

    weights: Float[Array, " m"]
    score: Float[Array, ""]
    trials: Int[Array, ""]
    missed: Bool[Array, ""]  # the held weights have missed the goal since they were proven
    trial: Float[Array, " m"]
    trial_score: Float[Array, ""]
    trial_count: Int[Array, ""]
    turn: Int[Array, ""]


def nothing(num_features: int) -> Held:
    """No weights have been proven."""

    def none() -> Array:  # an array of its own for each field: a state's arrays are donated, once each
        return jnp.zeros((), jnp.int32)

    return Held(
        weights=jnp.zeros(num_features),
        score=jnp.zeros(()),
        trials=none(),
        missed=jnp.zeros((), bool),
        trial=jnp.zeros(num_features),
        trial_score=jnp.zeros(()),
        trial_count=none(),
        turn=none() + LIVE,
    )


def acting(held: Held, live: Float[Array, " m"]) -> Float[Array, " m"]:
    """The weights of Q that this episode acts on."""
    return jnp.where(held.turn == TRIAL, held.trial, jnp.where(held.turn == HELD, held.weights, live))


def trusted(held: Held, live: Float[Array, " m"]) -> Float[Array, " m"]:
    """The weights of Q to exploit: the proven ones, or the newest while there are none."""
    return jnp.where(held.trials > 0, held.weights, live)


def settle(held: Held, live: Float[Array, " m"], value: Float[Array, ""], goal: Bool[Array, ""]) -> Held:
    """An exploiting episode is over: score its weights, promote or drop a trial, choose the next turn."""
    proven = held.trials > 0
    tried, kept = held.turn == TRIAL, held.turn == HELD
    # A trial is lost by a miss, or by doing worse than held weights that have never missed. Newer weights
    # know more: they need not be faster, except than established ones.
    count = held.trial_count + 1
    mean = held.trial_score + (value - held.trial_score) / count
    bar = held.score + jnp.where(held.trials >= MEMORY, EDGE, -SLACK)
    lost = tried & (~goal | (proven & ~held.missed & (mean < bar)))
    won = tried & ~lost & (count >= jnp.where(proven, PROOF, 1))
    again = tried & ~lost & ~won
    # The held weights: a running mean, and a note of any miss.
    trials = jnp.where(kept, jnp.minimum(held.trials + 1, MEMORY), held.trials)
    score = jnp.where(kept, held.score + (value - held.score) / trials, held.score)
    missed = held.missed | (kept & ~goal)
    weights = jnp.where(won, held.trial, held.weights)
    score, trials = jnp.where(won, mean, score), jnp.where(won, count, trials)
    missed = missed & ~won
    # New weights are tried after every episode of the held ones, and at once when those have missed.
    keep = won | (lost & proven & ~missed)
    live_on = ((held.turn == LIVE) & ~goal) | (lost & ~proven)
    fresh = ~again & ~keep & ~live_on
    turn = jnp.where(keep, HELD, jnp.where(live_on, LIVE, TRIAL)).astype(jnp.int32)
    return Held(
        weights,
        score,
        trials,
        missed,
        jnp.where(fresh, live, held.trial),
        jnp.where(again, mean, 0.0),
        jnp.where(again, count, 0).astype(jnp.int32),
        turn,
    )


def when(condition: Bool[Array, ""], new: Held, old: Held) -> Held:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)
