"""Holding on to weights that work.

A plan's greedy policy may reach the goal in every test, and the next plan's in none: least squares
gives no guarantee of improvement. So weights of Q are tried before they are trusted. While kappa = 0,
each episode acts on one of

    live     the newest weights, as plans change them (nothing has been proven yet)
    trial    a copy of the newest weights, kept still for the episode
    held     the best weights proven so far

and an episode's value, gamma^length at the goal and less than 0 without it, decides which weights are held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int

LIVE, TRIAL, HELD = 0, 1, 2
MISS = -1.0  # the value of an episode that does not reach the goal
PROOF = 2  # trials that weights must win against the held ones
MEMORY = 10  # episodes over which the held weights' score is averaged


class Held(NamedTuple):
    """`weights` are proven when `trials` > 0; `turn` says whose episode this is."""

    weights: Float[Array, " m"]
    score: Float[Array, ""]
    trials: Int[Array, ""]
    trial: Float[Array, " m"]
    trial_score: Float[Array, ""]
    trial_count: Int[Array, ""]
    turn: Int[Array, ""]


def nothing(num_features: int) -> Held:
    """No weights have been proven."""

    def none() -> Array:  # an array of its own for each field: a state's arrays are donated, once each
        return jnp.zeros((), jnp.int32)

    empty = jnp.zeros((2, num_features))
    return Held(empty[0], jnp.full((), -jnp.inf), none(), empty[1], jnp.zeros(()), none(), none() + LIVE)


def acting(held: Held, live: Float[Array, " m"]) -> Float[Array, " m"]:
    """The weights of Q that this episode acts on."""
    return jnp.where(held.turn == TRIAL, held.trial, jnp.where(held.turn == HELD, held.weights, live))


def trusted(held: Held, live: Float[Array, " m"]) -> Float[Array, " m"]:
    """The weights of Q to exploit: the proven ones, or the newest while there are none."""
    return jnp.where(held.trials > 0, held.weights, live)


def settle(
    held: Held, live: Float[Array, " m"], length: Int[Array, ""], goal: Bool[Array, ""], discount: float
) -> Held:
    """An exploiting episode is over: score its weights, promote or drop a trial, choose the next turn."""
    value = jnp.where(goal, discount ** length.astype(live.dtype), MISS)
    proven = held.trials > 0
    # A trial: won when it does at least as well as the held weights did, often enough.
    count = held.trial_count + 1
    mean = held.trial_score + (value - held.trial_score) / count
    tried = held.turn == TRIAL
    lost = tried & (~goal | (proven & (mean < held.score)))
    won = tried & ~lost & (count >= jnp.where(proven, PROOF, 1))
    # The held weights: a running mean, so that a failure tells at once.
    trials = jnp.minimum(held.trials + 1, MEMORY)
    score = jnp.where(held.turn == HELD, held.score + (value - held.score) / trials, held.score)
    trials = jnp.where(held.turn == HELD, trials, held.trials)
    weights = jnp.where(won, held.trial, held.weights)
    score, trials = jnp.where(won, mean, score), jnp.where(won, count, trials)
    again = tried & ~lost & ~won
    fresh = (
        won | (held.turn == HELD) | ((held.turn == LIVE) & goal)
    )  # whose next turn tries the newest weights
    turn = jnp.where(again | fresh, TRIAL, jnp.where(trials > 0, HELD, LIVE)).astype(jnp.int32)
    return Held(
        weights,
        score,
        trials,
        jnp.where(fresh, live, held.trial),
        jnp.where(again, mean, 0.0),
        jnp.where(again, count, 0).astype(jnp.int32),
        turn,
    )


def when(condition: Bool[Array, ""], new: Held, old: Held) -> Held:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)
