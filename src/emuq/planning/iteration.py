"""Policy iteration over all stored transitions (Algorithm 2, lines 15 to 18).

    m_Q <- beta S Phi'(r + gamma clip(Phi_next m_Q)),    m_U <- beta S Phi'(r^e + gamma clip(Phi_next m_U))

Off-policy least squares has no contraction guarantee: measured spectral radii of gamma beta S Phi'Phi_next
lie on both sides of 1. Clipped at every sweep, values stay within what rewards allow however far it goes.

Up to `rules.table` transitions the features of a policy are kept in memory, and a sweep reads them: O(N M).
Beyond, they are visited once a policy, in chunks, for A = beta S Phi'Phi_next; a sweep m <- b + gamma A m
then costs M^2, whatever N, is clipped only where a policy begins, and ends when steps begin to grow. Memory
is O(N d + M^2) in either case, and more data never recompile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from emuq.linear.features import Features, Part
from emuq.planning.targets import Backup, Rules, backup, num_chunks
from emuq.planning.transitions import Transitions

SMALL = 1024  # transitions up to which a table is small
FEW = 16  # terminal rows of a chunk up to which they are set right apart
GROWTH = 2.0  # unclipped sweeps end once a step is so many times the smallest: steps waver before they settle


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
    rewards: Float[Array, "2 m"]
    targets: Float[Array, "2 m"]


def policy_iteration(
    features: Features,
    candidates: Part,
    solver: Float[Array, "m m"],
    data: Transitions,
    exploration: Float[Array, " n"],
    q_weights: Float[Array, " m"],
    u_weights: Float[Array, " m"],
    kappa: Float[Array, ""],
    q_bounds: Float[Array, " 2"],
    rules: Rules,
) -> Plan:
    """Greedy policies on all stored next states, then their evaluation, several times. `solver` is beta S."""
    dtype = q_weights.dtype
    begin = Plan(q_weights, u_weights, jnp.zeros(2, dtype), jnp.zeros(2, jnp.int32), jnp.zeros(2, bool))

    def improve_with(evaluate: Callable) -> Plan:
        def improve(_, plan: Plan) -> Plan:
            def rows(i) -> Backup:
                q, u = plan.q_weights, plan.u_weights
                return backup(features, candidates, data, exploration, i, q, u, kappa, rules)

            return evaluate(rows, plan, solver, num_chunks(data, rules.chunk), q_bounds, rules)

        return jax.lax.fori_loop(0, rules.improvements, improve, begin)

    # A large table costs its size even when it is nearly empty: few transitions get a small one.
    largest = min(rules.table, data.capacity)
    rooms = sorted({min(SMALL, largest), largest} - {0})
    ways = [partial(improve_with, partial(tabled, room)) for room in rooms]
    if largest < data.capacity:
        ways.append(partial(improve_with, streamed))
    return jax.lax.switch(jnp.searchsorted(jnp.array(rooms), data.count), ways) if rooms else ways[0]()


def tabled(
    room: int,
    rows: Callable[[Array], Backup],
    plan: Plan,
    solver: Float[Array, "m m"],
    chunks: Int[Array, ""],
    q_bounds: Float[Array, " 2"],
    rules: Rules,
) -> Plan:
    """Evaluate with the features of at most `room` rows in memory, clipped at every sweep. O(N M) a sweep."""
    m, dtype, size = plan.q_weights.shape[0], plan.q_weights.dtype, rules.chunk
    room = -(-room // size)

    def fill(i, tables: Backup) -> Backup:
        return jax.tree.map(lambda table, new: table.at[i].set(new), tables, rows(i))

    shapes = jax.eval_shape(rows, 0)
    empty = jax.tree.map(lambda x: jnp.zeros((room, *x.shape), x.dtype), shapes)
    tables = jax.lax.fori_loop(0, chunks, fill, empty)

    low, high = _bounds(q_bounds, rules)
    discounts = jnp.array([rules.discount, rules.u_discount], dtype)

    def sweep(weights: Array) -> Array:
        def add(i, total):
            chunk: Backup = jax.tree.map(lambda table: table[i], tables)
            return total + chunk.moments(chunk.targets(weights, discounts, low, high))

        return jax.lax.fori_loop(0, chunks, add, jnp.zeros((2, m), dtype)) @ solver  # S is symmetric

    start = jnp.stack([plan.q_weights, plan.u_weights])
    return _plan(*settle(sweep, start, rules, growth=jnp.inf))


def streamed(
    rows: Callable[[Array], Backup],
    plan: Plan,
    solver: Float[Array, "m m"],
    chunks: Int[Array, ""],
    q_bounds: Float[Array, " 2"],
    rules: Rules,
) -> Plan:
    """Evaluate with sums over the data, clipped once. O(N M^2) a policy, O(M^2) a sweep."""
    m, dtype = plan.q_weights.shape[0], plan.q_weights.dtype
    discounts = jnp.array([rules.discount, rules.u_discount], dtype)

    low, high = _bounds(q_bounds, rules)
    weights = jnp.stack([plan.q_weights, plan.u_weights])

    def add(i, sums: Sums) -> Sums:
        chunk = rows(i)
        next_q, next_u = _products(chunk)
        return Sums(
            sums.next_q + next_q.astype(dtype),
            sums.next_u + next_u.astype(dtype),
            sums.rewards + chunk.moments(chunk.rewards),
            sums.targets + chunk.moments(chunk.targets(weights, discounts, low, high)),
        )

    zero = Sums(*(jnp.zeros(shape, dtype) for shape in ((m, m), (m, m), (2, m), (2, m))))
    sums = jax.lax.fori_loop(0, chunks, add, zero)
    start, constant = sums.targets @ solver, sums.rewards @ solver  # S is symmetric

    def evaluate(k: int, products: Float[Array, "m m"]):
        """Q's weights (k = 0) or U's: they share no array here, and need not wait for each other."""
        matrix = discounts[k] * (solver @ products)
        return settle(lambda w: constant[k : k + 1] + w @ matrix.T, start[k : k + 1], rules, growth=GROWTH)

    none = start[:1], jnp.zeros(1, dtype), jnp.zeros(1, jnp.int32), jnp.ones(1, bool)
    quiet = jnp.all((start[0] == 0) & (constant[0] == 0))  # no reward yet: Q is 0
    q = jax.lax.cond(quiet, lambda: none, lambda: evaluate(0, sums.next_q))
    return _plan(*map(jnp.concatenate, zip(q, evaluate(1, sums.next_u), strict=True)))


def _products(chunk: Backup) -> tuple[Float[Array, "m m"], Float[Array, "m m"]]:
    """Phi'Phi_next for Q and for U. Where they share Phi_next they differ in a few terminal rows only."""
    phi, next_u = chunk.phi, chunk.next_u
    on = chunk.goes_on.astype(phi.dtype)
    for_u = phi.T @ (next_u * on[:, 1:])
    if chunk.next_q is not None:
        return phi.T @ (chunk.next_q * on[:, :1]), for_u
    differ = on[:, 0] != on[:, 1]
    at = jnp.nonzero(differ, size=FEW, fill_value=0)[0]
    factors = (on[at, 0] - on[at, 1]) * (jnp.arange(FEW) < jnp.sum(differ))

    def few() -> Float[Array, "m m"]:
        return for_u + phi[at].T @ (next_u[at] * factors[:, None])

    return jax.lax.cond(jnp.sum(differ) <= FEW, few, lambda: phi.T @ (next_u * on[:, :1])), for_u


def _bounds(q_bounds: Float[Array, " 2"], rules: Rules) -> tuple[Float[Array, " 2"], Float[Array, " 2"]]:
    """The least and the greatest value of Q and of U."""
    low, high = (jnp.asarray(bound, q_bounds.dtype) for bound in rules.u_bounds)
    return jnp.stack([q_bounds[0], low]), jnp.stack([q_bounds[1], high])


def settle(sweep: Callable[[Array], Array], start: Float[Array, "k m"], rules: Rules, growth: float):
    """Sweep until a step is below the tolerance, has grown `growth`-fold, or `rules.sweeps` are done.

    Rows (Q and U, where they share the features of the data) are swept together; each stops for itself.
    """

    def on(change, least, count):
        return (count < rules.sweeps) & (change > rules.tolerance) & (change <= growth * least)

    def step(carry):
        weights, change, least, count = carry
        going = on(change, least, count)
        new = sweep(weights)
        moved = jnp.max(jnp.abs(new - weights), axis=-1)
        return (
            jnp.where(going[:, None], new, weights),
            jnp.where(going, moved, change),
            jnp.where(going, jnp.minimum(least, moved), least),
            count + going,
        )

    infinity = jnp.full(len(start), jnp.inf, start.dtype)
    begin = (start, infinity, infinity, jnp.zeros(len(start), jnp.int32))
    weights, change, _, count = jax.lax.while_loop(lambda c: jnp.any(on(*c[1:])), step, begin)
    return weights, change, count, change <= rules.tolerance


def _plan(weights: Array, change: Array, count: Array, converged: Array) -> Plan:
    return Plan(weights[0], weights[1], change, count, converged)
