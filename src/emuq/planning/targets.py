"""Bellman targets for Q and U over stored transitions (equations 3 and 11).

    t_Q = r + gamma Q(s', pi_Q(s')),        t_U = r^e(s') + gamma U(s', pi(s'))

with pi(s) = argmax Q + kappa U, and pi_Q the same or argmax Q. Q stops at a terminal transition. U does not:
its next state there is whatever the caller stored. Bootstrapped values are clipped to what rewards allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from emuq.linear.expectation import Moments, angles, expected_variance, rounded
from emuq.linear.features import Features, Part, combine, scores, state_part
from emuq.linear.posterior import Scalar
from emuq.planning import transitions
from emuq.planning.transitions import Transitions

# Policy improvements a plan: with 1 goals are found no sooner, and more cost more.
IMPROVEMENTS = 2
# Largest change of a weight at which sweeps stop: far below what single precision does to values, 0.1% of
# their range.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Rules:
    """What planning holds fixed: static under `jit`, but for numbers that differ in the runs of a batch."""

    discount: Scalar = 0.99  # of Q
    exploration_discount: Scalar | None = None  # of U, where it is another
    improvements: int = IMPROVEMENTS
    sweeps: int = 60  # at most, for each improvement
    tolerance: float = TOLERANCE
    u_bounds: tuple[Scalar, Scalar] = (-100.0, 0.0)
    q_policy: str = "own"  # Q bootstraps on argmax Q ("own") or on argmax Q + kappa U ("balanced", the paper)
    u_stops: bool = False  # U ends at a terminal transition too (its next state there is not used)
    chunk: int = 256
    single: bool = True  # products of the data's features are made in single precision, and summed in double
    table: int = 8192  # transitions up to which features are kept in memory between sweeps

    @property
    def u_discount(self) -> Scalar:
        return self.discount if self.exploration_discount is None else self.exploration_discount


class Backup(NamedTuple):
    """A chunk of transitions under the greedy policies: t = rewards + gamma goes_on * next values.

    Features may be in single precision: reading them, and their products, is what planning costs.
    """

    phi: Float[Array, "n m"]
    next_q: Float[Array, "n m"] | None  # None: as `next_u`, Q being bootstrapped on the balanced policy
    next_u: Float[Array, "n m"]
    goes_on: Float[Array, "n 2"]  # the factors on the next values of Q and U: 0 where one stops
    rewards: Float[Array, "n 2"]  # r and r^e

    def next_values(self, weights: Float[Array, "2 m"]) -> Float[Array, "n 2"]:
        """Q(s', pi_Q(s')) and U(s', pi(s')), 0 where they stop."""
        low = weights.astype(self.next_u.dtype)
        if self.next_q is None:
            values = self.next_u @ low.T
        else:
            values = jnp.stack([self.next_q @ low[0], self.next_u @ low[1]], axis=-1)
        return values.astype(weights.dtype) * self.goes_on

    def targets(
        self, weights: Float[Array, "2 m"], discounts: Float[Array, " 2"], low: Array, high: Array
    ) -> Float[Array, "n 2"]:
        """t_Q and t_U, from next values clipped to [low, high]."""
        return self.rewards + discounts * jnp.clip(self.next_values(weights), low, high)

    def moments(self, targets: Float[Array, "n 2"]) -> Float[Array, "2 m"]:
        """t'Phi."""
        return (targets.T.astype(self.phi.dtype) @ self.phi).astype(targets.dtype)


def balance(q: Float[Array, "*n"], u: Float[Array, "*n"], kappa: Float[Array, ""]) -> Float[Array, "*n"]:
    """Q + kappa U (equation 13); kappa = inf is U alone, kappa = 0 is Q alone."""
    finite = jnp.where(jnp.isinf(kappa), 0.0, kappa)
    return jnp.where(jnp.isinf(kappa), u, q + finite * u)


def in_units(kappa: Float[Array, ""], q_bounds: Float[Array, " 2"]) -> Float[Array, ""]:
    """kappa for a U that weighs as much against Q as where the largest value is 1: rewards have any units."""
    return kappa * jnp.where(q_bounds[1] > 0, q_bounds[1], 1.0)


def widen(
    bounds: Float[Array, " 2"], reward: Float[Array, ""], terminal: Bool[Array, ""], discount: Scalar
) -> Float[Array, " 2"]:
    """Bounds of Q, -m and m, that allow for one more reward: for ever, r / (1 - gamma), unless it ends the
    episode.

    They begin at 0 and are in units of what was seen, so that a run is the same whatever these are.
    """
    extreme = jnp.abs(jnp.where(terminal, reward, reward / (1 - discount)))
    most = jnp.maximum(bounds[1], extreme)
    return jnp.stack([-most, most])


def num_chunks(data: Transitions, size: int) -> Int[Array, ""]:
    return (data.count + size - 1) // size


def exploration_rewards(
    features: Features,
    moments: Moments,
    form: Float[Array, "z z"],
    max_variance: Scalar,
    data: Transitions,
    size: int,
) -> Float[Array, " n"]:
    """r^e(s') = E_a[V[Q(s', a)]] / V_max - 1 for every stored transition (equation 14). O(N M^2)."""

    dtype = features.state_frequencies.dtype  # T may be single: rewards need not be finer than that

    def one(i, rewards):
        rows, _ = transitions.chunk(data, i, size)
        z = angles(moments, state_part(features, rows.next_states.astype(dtype), form.dtype))
        variance = expected_variance(form, z.astype(form.dtype)).astype(dtype) / max_variance
        return jax.lax.dynamic_update_slice(rewards, jnp.clip(variance, 0.0, 1.0) - 1.0, (i * size,))

    return jax.lax.fori_loop(0, num_chunks(data, size), one, jnp.zeros(data.capacity, dtype))


def backup(
    features: Features,
    candidates: Part,
    data: Transitions,
    exploration: Float[Array, " n"],
    index: Int[Array, ""],
    q_weights: Float[Array, " m"],
    u_weights: Float[Array, " m"],
    kappa: Float[Array, ""],
    rules: Rules,
) -> Backup:
    """What chunk `index` of the data contributes; rows that are not data are 0. O(n K M)."""
    dtype = q_weights.dtype
    low = jnp.float32 if rules.single else dtype
    rows, mask = transitions.chunk(data, index, rules.chunk)
    states, actions, following = (x.astype(dtype) for x in (rows.states, rows.actions, rows.next_states))
    intrinsic = jax.lax.dynamic_slice_in_dim(exploration, index * rules.chunk, rules.chunk)
    part = rounded(state_part(features, following, low), low)
    actions_part = rounded(candidates, low)

    def following_at(best: Int[Array, " n"]) -> Float[Array, "n m"]:
        return combine(features, part, Part(*(x[best] for x in actions_part)))

    def values(weights: Float[Array, " m"]) -> Float[Array, "n k"]:
        return scores(features, part, actions_part, weights.astype(low))

    if rules.q_policy == "own":
        q, u = values(q_weights), values(u_weights)
        next_q = following_at(jnp.argmax(q, axis=-1))
        next_u = following_at(jnp.argmax(balance(q, u, kappa), axis=-1))
    else:  # both values are linear in their weights
        balanced = values(balance(q_weights, u_weights, kappa))
        next_q, next_u = None, following_at(jnp.argmax(balanced, axis=-1))
    q_goes_on = 1.0 - rows.terminal.astype(dtype)
    u_goes_on = q_goes_on if rules.u_stops else jnp.ones_like(q_goes_on)
    goes_on = jnp.stack([q_goes_on, u_goes_on], axis=-1)
    rewards = jnp.stack([rows.rewards.astype(dtype), intrinsic], axis=-1)
    phi = features(states, actions, low) * mask[:, None]
    return Backup(phi, next_q, next_u, goes_on, rewards * mask[:, None])
