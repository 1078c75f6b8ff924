"""Holding on to weights that work.

A plan's greedy policy may reach the goal in every test, and the next plan's in none: least squares
gives no guarantee of improvement. So weights of Q are tried before they are trusted. While kappa = 0,
each episode acts on one of

    live     the newest weights, as plans change them (nothing has been proven yet)
    trial    a copy of the newest weights, kept still for the episode
    held     the best weights proven so far

Held and trial weights take turns, and what their episodes were worth decides: first whether they reached the
goal, then by how much gamma^length exceeds what Q expected of the start (starts differ, and luck is no
merit). With w of n episodes won, weights succeed with probability (w + 1) / (n + 2), by a uniform prior. A
trial ends at its first miss. It replaces weights that have missed once it is as good a bet as they are, and
weights that never have only by a clear lead over several episodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int

LIVE, TRIAL, HELD = 0, 1, 2
MEMORY = 10  # episodes that make a record: a score is averaged over them, and a trial is over after so many
PROOF, LEAD = (
    3,
    0.2,
)  # episodes, and what they must be worth more in all, to replace weights that never missed


class Held(NamedTuple):
    """`weights` are proven when `trials` > 0; `turn` says whose episode this is."""

    weights: Float[Array, " m"]
    score: Float[Array, ""]
    trials: Int[Array, ""]
    wins: Int[Array, ""]  # of them, those that reached the goal
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
        wins=none(),
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
    trials, wins = held.trials + kept, held.wins + (kept & goal)
    score = held.score + jnp.where(kept, (value - held.score) / jnp.clip(trials, 1, MEMORY), 0.0)
    # The trial.
    count = held.trial_count + tried
    mean = held.trial_score + jnp.where(tried, (value - held.trial_score) / jnp.maximum(count, 1), 0.0)
    as_good = (count + 1) * (trials + 2) >= (wins + 1) * (count + 2)
    ahead = (count >= PROOF) & (count * (mean - score) >= LEAD)
    better = jnp.where(wins == trials, ahead, as_good)
    won = tried & goal & (~proven | better)
    over = tried & (~goal | won | (count >= MEMORY))
    # Held weights that miss as often as not have no turn: new ones are tried at once.
    trials, wins = jnp.where(won, count, trials), jnp.where(won, count, wins)
    rest = (trials > 0) & (2 * wins > trials) & tried
    live_on = (trials == 0) & jnp.where(tried, over, ~goal)
    going = ~over & (count > 0)
    fresh = ~rest & ~live_on & ~going
    turn = jnp.where(rest, HELD, jnp.where(live_on, LIVE, TRIAL))
    return Held(
        weights=jnp.where(won, held.trial, held.weights),
        score=jnp.where(won, mean, score),
        trials=trials.astype(jnp.int32),
        wins=wins.astype(jnp.int32),
        trial=jnp.where(fresh, live, held.trial),
        trial_score=jnp.where(going, mean, 0.0),
        trial_count=jnp.where(going, count, 0).astype(jnp.int32),
        turn=turn.astype(jnp.int32),
    )


def when(condition: Bool[Array, ""], new: Held, old: Held) -> Held:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)
