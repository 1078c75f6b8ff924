"""Which policy exploits: the newest plan, or one that was seen to succeed.

    success  =  the episode reached the goal, or returned as much as the best episode so far
    proven   =  it succeeded with one policy throughout, in at most twice the steps of the success before

A plan's policy may do well from every start but one. More data mend that in the long run, while the next plan
may have a flaw elsewhere. So a policy that is proven plays until it is not successful. While there is none,
episodes follow the newest plans, also those that are made in the middle of them, since what goes wrong
teaches most; after a success the newest plan is kept for an episode, to be proven. Once there are twice the
data that there were at the last such trial there is another one, beside the proven policy.

A policy that takes too long to reach the goal is not waited for: the newest plans take over.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from emuq.planning.support import Lookahead

T = TypeVar("T")

NOTHING = -1e30  # a return below all others, and finite as all that a file may hold
FOREVER = 2**28  # steps: where there is no goal an episode that lasts is no failure
PATIENCE = 2  # times the steps of the success before, and a policy is late


class Trust(NamedTuple):
    """Two policies, and what is known about them."""

    proven: Lookahead
    playing: Lookahead  # in this episode: the proven one, or the newest plan as it began
    held: Bool[Array, ""]  # there is a proven one
    trial: Bool[Array, ""]  # it is not the one that plays
    live: Bool[Array, ""]  # no policy is kept for the episode: the newest plan plays
    since: Int[Array, ""]  # transitions at the last trial,
    began: Int[Array, ""]  # and when this episode began
    steps: Int[Array, ""]  # of the longest success of the proven policy, or of the last one without it
    record: Float[Array, ""]  # the best return of an exploiting episode


def nobody(newest: Lookahead) -> Trust:
    """No policy is trusted. `newest` gives the shapes alone."""

    # An array each: a state's are donated, once each.
    def zero() -> Int[Array, ""]:
        return jnp.zeros((), jnp.int32)

    def policy() -> Lookahead:
        return jax.tree.map(jnp.copy, newest)

    yes, no = jnp.ones((), bool), jnp.zeros((), bool)
    return Trust(policy(), policy(), no, jnp.copy(yes), yes, zero(), zero(), zero(), jnp.full((), NOTHING))


def begin(trust: Trust, newest: Lookahead, count: Int[Array, ""]) -> Trust:
    """An episode begins; there are `count` transitions."""
    trial = count >= next_trial(trust)
    playing = when(trial, newest, trust.proven)
    return trust._replace(playing=playing, trial=trial, began=count.astype(jnp.int32))


def next_trial(trust: Trust) -> Int[Array, ""]:
    """The number of transitions from which on the newest plan is tried."""
    return jnp.where(trust.held, 2 * trust.since, 0)


def player(trust: Trust, newest: Lookahead, count: Int[Array, ""]) -> Lookahead:
    """The policy that acts now."""
    return when(trust.live | late(trust, count), newest, trust.playing)


def late(trust: Trust, count: Int[Array, ""]) -> Bool[Array, ""]:
    """Whether this episode lasts for too long."""
    return count - trust.began >= PATIENCE * trust.steps


def best(trust: Trust, newest: Lookahead) -> Lookahead:
    """The proven policy, or the newest plan while there is none: what a user is given."""
    return when(trust.held, trust.proven, newest)


def judge(
    trust: Trust, newest: Lookahead, goal: Bool[Array, ""], total: Float[Array, ""], count: Int[Array, ""]
) -> Trust:
    """After an exploiting episode with this return, at the goal or not; `count` transitions in all."""
    success = goal | (total >= trust.record)
    won = success & jnp.where(trust.live, ~goal, ~late(trust, count - 1))
    held = won | (trust.held & trust.trial)
    length = jnp.where(goal, count - trust.began, FOREVER)
    longest = jnp.where(won & ~trust.trial, jnp.maximum(length, trust.steps), length)
    return trust._replace(
        proven=when(won & trust.trial, when(trust.live, newest, trust.playing), trust.proven),
        held=held,
        live=~success & ~held,
        since=jnp.where(trust.trial, count, trust.since).astype(jnp.int32),
        steps=jnp.where(success, longest, trust.steps).astype(jnp.int32),
        record=jnp.maximum(trust.record, total),
    )


def when(condition: Bool[Array, ""], new: T, old: T) -> T:
    """`new` where the condition holds, else `old`: array by array."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)
