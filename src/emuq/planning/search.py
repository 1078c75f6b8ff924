"""Looking several steps ahead: the best of sampled sequences of actions, by the model of the dynamics.

    Q_h(s, a) = max over sequences that begin with a of
                mean over t = 1 .. h of [sum_{i < t} gamma^i r(z_i, a_i) + gamma^(t - 1) W(z_t)]

z_0 is s and z_(i+1) = f(z_i, a_i); r, f and W are those of `support`. h = 1 is r(s, a) + W(f(s, a)), one step
ahead. Each t is an estimate of its own: the first ones lean on W, which is coarse, the later ones on the
model, whose errors add up. Their mean is better than either.

Sequences are of the actions that are compared anyway: each one held all the time, each one before the policy
of one step ahead, and random changes of the best of these. How far to look (h, `reach`) is how far the model
before this one foretold what came after it was made (`foretelling.judged`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from emuq.linear.hashing import Word, random_bits
from emuq.planning import dynamics, support
from emuq.planning.foretelling import DEPTH
from emuq.planning.support import Lookahead

WIDTH = 24  # sequences of a round,
ROUNDS = 2  # and rounds after the first one, each of changes of the best
PARENTS = 8  # that are changed
FIRST = 16  # actions to begin with, at most: the best ones one step ahead


def action_values(policy: Lookahead, observation: Float[Array, " ds"], word: Word) -> Float[Array, " k"]:
    """Q_h(s, a) of every action that is compared, -inf of one that no sequence began with.

    `word` draws the changes: the same one draws the same.
    """
    z = dynamics.standardised(policy.model, observation)
    k = len(policy.actions)
    greedy, q = rollout(policy, z)
    first = jax.lax.top_k(q, min(k, FIRST))[1]
    sequences = jnp.concatenate([first_then(greedy, first), held(first)])
    worth = evaluate(policy, z, sequences)
    best = jnp.full(k, -jnp.inf, worth.dtype).at[sequences[:, 0]].max(worth)
    bits = random_bits(word, jnp.uint32(ROUNDS), 3 * WIDTH * ROUNDS).reshape(ROUNDS, 3, WIDTH)
    number = min(PARENTS, len(sequences))

    def improve(carry: tuple[Array, Array, Array], bits: Array) -> tuple[tuple[Array, Array, Array], None]:
        sequences, worth, best = carry
        parents = sequences[jax.lax.top_k(worth, number)[1]]
        children = changed(parents[jnp.arange(WIDTH) % number], bits, k)
        found = evaluate(policy, z, children)
        best = best.at[children[:, 0]].max(found)
        sequences, worth = jnp.concatenate([sequences, children]), jnp.concatenate([worth, found])
        kept = jax.lax.top_k(worth, len(carry[0]))[1]
        return (sequences[kept], worth[kept], best), None

    return jax.lax.scan(improve, (sequences, worth, best), bits)[0][2]


def rollout(policy: Lookahead, z: Float[Array, " ds"]) -> tuple[Int[Array, " h"], Float[Array, " k"]]:
    """The actions of the policy that looks one step ahead, and its Q at z."""
    k = len(policy.actions)

    def step(z: Array, _: None) -> tuple[Array, tuple[Array, Array]]:
        following, pay = dynamics.predict(policy.model, jnp.broadcast_to(z, (k, len(z))), policy.actions)
        q = pay + support.worth(policy, following)[0]
        best = jnp.argmax(q)
        return following[best], (best, q)

    best, q = jax.lax.scan(step, z, None, length=DEPTH)[1]
    return best, q[0]


def first_then(greedy: Int[Array, " h"], first: Int[Array, " f"]) -> Int[Array, "f h"]:
    """Each of these actions, and then those of the policy."""
    return jnp.broadcast_to(greedy, (len(first), DEPTH)).at[:, 0].set(first)


def held(first: Int[Array, " f"]) -> Int[Array, "f h"]:
    """Each of these actions all the time."""
    return jnp.broadcast_to(first[:, None], (len(first), DEPTH))


def changed(sequences: Int[Array, "n h"], bits: Array, k: int) -> Int[Array, "n h"]:
    """Each with one stretch of another action: from any step on, for as long as chance says."""
    begin = bits[0] % DEPTH  # 32 bits are many times as many: no step is drawn noticeably more often
    end = begin + 1 + bits[1] % DEPTH
    step = jnp.arange(DEPTH)
    inside = (step >= begin[:, None]) & (step < end[:, None])
    return jnp.where(inside, (bits[2] % k).astype(sequences.dtype)[:, None], sequences)


def evaluate(policy: Lookahead, z: Float[Array, " ds"], sequences: Int[Array, "n h"]) -> Float[Array, " n"]:
    """The mean over t of what each sequence is worth with W after t steps."""
    number = len(sequences)

    def step(t: Int[Array, ""], carry: tuple[Array, ...]) -> tuple[Array, ...]:
        z, alive, paid, weight, total = carry
        following, pay = dynamics.predict(policy.model, z, policy.actions[sequences[:, t]])
        worth, over = support.worth(policy, following)
        total = total + paid + weight * alive * (pay + worth)
        paid = paid + weight * alive * (pay + over * worth)
        return following, alive * ~over, paid, weight * policy.discount, total

    low = jnp.float32
    start = jnp.broadcast_to(z, (number, len(z))), jnp.ones(number, low), jnp.zeros(number, low)
    carry = *start, jnp.ones((), low), jnp.zeros(number, low)
    reach = jnp.clip(policy.reach, 1, DEPTH)
    return jax.lax.fori_loop(0, reach, step, carry)[-1] / reach
