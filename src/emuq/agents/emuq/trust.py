"""Which policy exploits: the newest plan, or one that was seen to succeed.

    success_t  =  the episode reached the goal, or returned as much as the best episode so far

A plan's policy may do well from every start but one. More data mend that in the long run, while the next plan
may have a flaw elsewhere. So a policy that succeeds is trusted until it does not. Once there are twice the
data that there were when it was taken, the newest plan is tried for an episode, and is trusted in its place
if it succeeds. While no policy is trusted the newest plan acts, also one that is made in the middle of an
episode: what goes wrong teaches most.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from emuq.planning.support import Lookahead

T = TypeVar("T")

NOTHING = -1e30  # a return below all others, and finite as all that a file may hold


class Trust(NamedTuple):
    """A policy, whether it is trusted, and whether the newest plan is tried beside it."""

    policy: Lookahead
    held: Bool[Array, ""]
    trial: Bool[Array, ""]
    since: Int[Array, ""]  # transitions when it was taken, or when a trial failed
    record: Float[Array, ""]  # the best return of an exploiting episode


def nobody(newest: Lookahead) -> Trust:
    """No policy is trusted. `newest` gives the shapes alone."""
    policy = jax.tree.map(jnp.copy, newest)
    held, trial = jnp.zeros((), bool), jnp.zeros((), bool)  # two arrays: a state's are donated, once each
    return Trust(policy, held, trial, jnp.zeros((), jnp.int32), jnp.full((), NOTHING))


def player(trust: Trust, newest: Lookahead) -> Lookahead:
    """The policy that acts in this episode."""
    return when(trust.held & ~trust.trial, trust.policy, newest)


def best(trust: Trust, newest: Lookahead) -> Lookahead:
    """The trusted policy, or the newest plan while there is none: what a user is given."""
    return when(trust.held, trust.policy, newest)


def judge(
    trust: Trust, newest: Lookahead, goal: Bool[Array, ""], total: Float[Array, ""], count: Int[Array, ""]
) -> Trust:
    """After an exploiting episode with this return, at the goal or not; `count` transitions in all."""
    success = goal | (total >= trust.record)
    new = success & (~trust.held | trust.trial)
    again = success & trust.held & ~trust.trial & (count >= 2 * trust.since)
    return Trust(
        policy=when(new, newest, trust.policy),
        held=new | (trust.held & (success | trust.trial)),
        trial=again,
        since=jnp.where(new | trust.trial, count, trust.since).astype(jnp.int32),
        record=jnp.maximum(trust.record, total),
    )


def when(condition: Bool[Array, ""], new: T, old: T) -> T:
    """`new` where the condition holds, else `old`: array by array."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)
