"""Bellman targets and policy iteration over stored transitions (equations 3, 11; Algorithm 2, 15-18).

    m_Q = beta S Phi'(r + gamma Phi_next m_Q),      m_U = beta S Phi'(r^e + gamma Phi_next m_U)

For a fixed policy both are linear: with A = beta S Phi'Phi_next, one product over the data, a sweep
m <- b + gamma A m costs M^2, whatever the number of transitions. Data are visited in chunks of fixed
size, so that memory is O(N d + M^2) and more data never recompile.

Q stops at a terminal transition. U does not: its next state there is whatever the caller stored.
Off-policy least squares has no contraction guarantee, therefore bootstrapped values are clipped to
what rewards allow, and sweeps stop when their steps begin to grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp

from emuq import transitions
from emuq.expectation import Moments, angles, expected_variance
from emuq.features import Features, Part, combine, scores, state_part
from emuq.transitions import Transitions

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int


GROWTH = 2.0  # sweeps stop once a step is so many times the smallest: steps waver before they settle


@dataclass(frozen=True)
class Rules:
    """What planning holds fixed: all of it static under `jit`."""

    discount: float = 0.99
    improvements: int = 2  # policy improvements a plan while exploring
    exploiting_improvements: int = 4  # and while exploiting: Q alone has to be right then
    sweeps: int = 60  # at most, for each improvement
    tolerance: float = 1e-4  # largest change of a weight at which sweeps stop
    u_bounds: tuple[float, float] = (-100.0, 0.0)
    q_policy: str = "own"  # Q bootstraps on argmax Q ("own") or on argmax Q + kappa U ("balanced", the paper)
    pessimism: float = 0.0  # Q's next values are lowered by so many standard deviations
    u_stops: bool = False  # U ends at a terminal transition too (its next state there is not used)
    reset_cost: int = 0  # steps without discovery that a reset is worth: U's price of ending an episode
    chunk: int = 256


class Plan(NamedTuple):
    """New weights, and how the last evaluation of Q and of U ended."""

    q_weights: Float[Array, " m"]
    u_weights: Float[Array, " m"]
    change: Float[Array, " 2"]  # last change of a weight, Q and U
    sweeps: Int[Array, " 2"]
    converged: Bool[Array, " 2"]


class Sums(NamedTuple):
    """Sums over the data for one policy: Phi'Phi_next for Q and U, Phi'r, Phi'(clipped targets)."""

    next_q: Float[Array, "m m"]
    next_u: Float[Array, "m m"]
    rewards: Float[Array, "m 2"]
    targets: Float[Array, "m 2"]


def balance(q: Float[Array, "*n"], u: Float[Array, "*n"], kappa: Float[Array, ""]) -> Float[Array, "*n"]:
    """Q + kappa U (equation 13); kappa = inf is U alone, kappa = 0 is Q alone."""
    finite = jnp.where(jnp.isinf(kappa), 0.0, kappa)
    return jnp.where(jnp.isinf(kappa), u, q + finite * u)


def widen(
    bounds: Float[Array, " 2"], reward: Float[Array, ""], terminal: Bool[Array, ""], discount: float
) -> Float[Array, " 2"]:
    """Bounds of Q that allow for one more reward: for ever, r / (1 - gamma), unless it ends the episode."""
    extreme = jnp.where(terminal, reward, reward / (1 - discount))
    return jnp.stack([jnp.minimum(bounds[0], extreme), jnp.maximum(bounds[1], extreme)])


def restart(
    exploration: Float[Array, "*n"], terminal: Bool[Array, "*n"], rules: Rules
) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
    """U's reward and the factor on its next value: a terminal transition first waits c steps for a reset.

    Each of them earns r^e = -1:  -(1 - gamma^c) / (1 - gamma) + gamma^c (r^e + gamma U(reset state)).
    """
    fade = rules.discount**rules.reset_cost
    waiting = fade * exploration - (1 - fade) / (1 - rules.discount)
    factor = jnp.where(terminal, 0.0 if rules.u_stops else fade, 1.0)
    return jnp.where(terminal, waiting, exploration), factor


def num_chunks(data: Transitions, size: int) -> Int[Array, ""]:
    return (data.count + size - 1) // size


def exploration_rewards(
    features: Features,
    moments: Moments,
    form: Float[Array, "n n"],
    max_variance: float,
    data: Transitions,
    size: int,
) -> Float[Array, " n"]:
    """r^e(s') = E_a[V[Q(s', a)]] / V_max - 1 for every stored transition (equation 14). O(N M^2)."""

    def one(i, rewards):
        rows, _ = transitions.chunk(data, i, size)
        z = angles(features, moments, rows.next_states.astype(form.dtype))
        variance = expected_variance(form, z) / max_variance
        return jax.lax.dynamic_update_slice(rewards, jnp.clip(variance, 0.0, 1.0) - 1.0, (i * size,))

    return jax.lax.fori_loop(0, num_chunks(data, size), one, jnp.zeros(data.capacity, form.dtype))


def policy_iteration(
    features: Features,
    candidates: Part,
    q_solver: Float[Array, "m m"],
    u_solver: Float[Array, "m m"],
    covariance: Float[Array, "m m"],
    data: Transitions,
    exploration: Float[Array, " n"],
    q_weights: Float[Array, " m"],
    u_weights: Float[Array, " m"],
    kappa: Float[Array, ""],
    q_bounds: Float[Array, " 2"],
    rules: Rules,
    exploiting: Bool[Array, ""] | bool = False,
) -> Plan:
    """`rules.improvements` times: greedy policy on all stored next states, then its evaluation. O(N M^2)."""

    def improve(_, plan: Plan) -> Plan:
        sums = policy_sums(
            features,
            candidates,
            covariance,
            data,
            exploration,
            plan.q_weights,
            plan.u_weights,
            kappa,
            q_bounds,
            rules,
        )
        q, u = (
            evaluate(
                # One backup with clipped targets; the sweeps that follow cannot leave the bounds by much.
                solver @ sums.targets[:, i],
                solver @ sums.rewards[:, i],
                rules.discount * solver @ following,
                rules,
            )
            for i, (solver, following) in enumerate(((q_solver, sums.next_q), (u_solver, sums.next_u)))
        )
        return Plan(q[0], u[0], *(jnp.stack(pair) for pair in zip(q[1:], u[1:], strict=True)))

    number = jnp.where(exploiting, rules.exploiting_improvements, rules.improvements)
    begin = Plan(
        q_weights, u_weights, jnp.zeros(2, q_weights.dtype), jnp.zeros(2, jnp.int32), jnp.zeros(2, bool)
    )
    return jax.lax.fori_loop(0, number, improve, begin)


def policy_sums(
    features: Features,
    candidates: Part,
    covariance: Float[Array, "m m"],
    data: Transitions,
    exploration: Float[Array, " n"],
    q_weights: Float[Array, " m"],
    u_weights: Float[Array, " m"],
    kappa: Float[Array, ""],
    q_bounds: Float[Array, " 2"],
    rules: Rules,
) -> Sums:
    """The greedy policy's sums over the data, chunk by chunk. O(N (M^2 + K M))."""
    m, dtype = features.num_features, q_weights.dtype

    def one(i, sums: Sums) -> Sums:
        rows, mask = transitions.chunk(data, i, rules.chunk)
        states, actions, following = (x.astype(dtype) for x in (rows.states, rows.actions, rows.next_states))
        extrinsic = rows.rewards.astype(dtype)
        intrinsic = jax.lax.dynamic_slice_in_dim(exploration, i * rules.chunk, rules.chunk)
        phi = features(states, actions) * mask[:, None]
        part = state_part(features, following)
        q, u = scores(features, part, candidates, q_weights), scores(features, part, candidates, u_weights)
        on_u = jnp.argmax(balance(q, u, kappa), axis=-1)
        on_q = jnp.argmax(q, axis=-1) if rules.q_policy == "own" else on_u
        goes_on = 1.0 - rows.terminal.astype(dtype)
        next_q = goes_on[:, None] * combine(features, part, Part(candidates.cos[on_q], candidates.sin[on_q]))
        intrinsic, u_goes_on = restart(intrinsic, rows.terminal, rules)
        next_u = u_goes_on[:, None] * combine(
            features, part, Part(candidates.cos[on_u], candidates.sin[on_u])
        )
        value_q = goes_on * _picked(q, on_q, q_bounds)
        value_u = u_goes_on * _picked(u, on_u, rules.u_bounds)
        if rules.pessimism:
            spread = jnp.sqrt(jnp.maximum(jnp.sum((next_q @ covariance) * next_q, axis=-1), 0.0))
            extrinsic = extrinsic - rules.discount * rules.pessimism * spread
        rewards = jnp.stack([extrinsic, intrinsic], axis=-1)
        targets = rewards + rules.discount * jnp.stack([value_q, value_u], axis=-1)
        return Sums(
            sums.next_q + phi.T @ next_q,
            sums.next_u + phi.T @ next_u,
            sums.rewards + phi.T @ rewards,
            sums.targets + phi.T @ targets,
        )

    zero = Sums(*(jnp.zeros(shape, dtype) for shape in ((m, m), (m, m), (m, 2), (m, 2))))
    return jax.lax.fori_loop(0, num_chunks(data, rules.chunk), one, zero)


def evaluate(
    start: Float[Array, " m"], constant: Float[Array, " m"], matrix: Float[Array, "m m"], rules: Rules
):
    """Sweep m <- b + A m until it settles, its steps grow, or `rules.sweeps` are done. O(M^2) a sweep.

    Measured spectral radii of A lie on both sides of 1 (0.99 to 1.08 after a thousand steps of three
    domains), so that sweeping on would often diverge: the next improvement starts from clipped values again.
    """

    def go_on(carry):
        _, change, least, count = carry
        return (count < rules.sweeps) & (change > rules.tolerance) & (change <= GROWTH * least)

    def sweep(carry):
        m, _, least, count = carry
        new = constant + matrix @ m
        change = jnp.max(jnp.abs(new - m))
        return new, change, jnp.minimum(least, change), count + 1

    infinity = jnp.asarray(jnp.inf, start.dtype)
    begin = (start, infinity, infinity, jnp.zeros((), jnp.int32))
    m, change, _, count = jax.lax.while_loop(go_on, sweep, begin)
    return m, change, count, change <= rules.tolerance


def _picked(values: Float[Array, "n k"], index: Int[Array, " n"], bounds) -> Float[Array, " n"]:
    return jnp.clip(jnp.take_along_axis(values, index[:, None], axis=-1)[:, 0], *bounds)
