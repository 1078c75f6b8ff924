"""DORA as pure functions: counts that look ahead, over tile coding (Fox, Choshen & Loewenstein, 2018).

    E(s, a) <- E(s, a) + rate_E (gamma_E E(s', a') - E(s, a)),    a' the action taken next

Exploration values E start high and, since their reward is 0, fall with every visit. With gamma_E = 0 in
a table, E = (1 - rate_E)^n after n visits, so that

    C(s, a) = log E / log(1 - rate_E)

is a visit count; with gamma_E > 0 an action counts as visited only when what it leads to is. Two ways
to explore with them:

    lll     actions maximise Q - kappa T log(-log E)   (the determinised LLL-softmax)
    bonus   Q learns r + kappa beta / C, actions maximise Q

Q and E are sums of weights of the tiles that (s, a) falls into, one in each tiling; E through a link.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from emuq.agents.ties import argmax_by_bits
from emuq.linear.hashing import random_bits, scramble
from emuq.planning.targets import balance


class Options(NamedTuple):
    """Options, with the values of the published implementation but for the memory (see docs/baselines.md)."""

    variant: Literal["bonus", "lll"] = "bonus"
    tilings: int = 8
    tiles: int = 8  # along each dimension of a state in [0, 1]
    memory: int = 1 << 16  # weights: tiles share them, by a hash, where there are more tiles than weights
    rate: float = 0.1  # of Q, shared among the tilings
    discount: float = 0.99
    e_rate: float = 0.5  # of E, shared among the tilings
    e_discount: float = 0.99
    link: Literal["sigmoid", "linear"] = "sigmoid"  # E = 1/2 or 1 at first
    temperature: float = 0.5  # T
    bonus: float = 1.0  # beta


class State(NamedTuple):
    """All that an agent learns, a number of its own for ties, and the actions chosen so far."""

    q_weights: Float[Array, " m"]
    e_weights: Float[Array, " m"]
    lot: Array
    steps: Array


def init(options: Options, seed: int) -> State:
    """Small random weights for Q, zero for E: every action equally unknown."""
    rng = np.random.default_rng([seed, 4])
    q = 0.01 * rng.standard_normal(options.memory)
    lot = jnp.asarray(rng.integers(2**32), jnp.uint32)
    zeros = jnp.zeros(options.memory, jnp.float32)
    return State(jnp.asarray(q, jnp.float32), zeros, lot, jnp.zeros((), jnp.uint32))


def tiles(options: Options, s: Float[Array, " ds"], num_actions: int) -> Int[Array, "k t"]:
    """The weights that make up each action's value: one index a tiling. O(t (d_S + k))."""
    n, dim = options.tilings, s.shape[-1]
    fine = jnp.floor(s * (options.tiles * n)).astype(jnp.int32)
    tiling = jnp.arange(n, dtype=jnp.int32)[:, None]
    # Odd displacements, different in each dimension, so that no two tilings share a diagonal.
    shift = (tiling * (1 + 2 * jnp.arange(dim, dtype=jnp.int32))) % n
    cells = (fine + shift) // n
    action = jnp.arange(num_actions)[:, None]
    side = options.tiles + 1
    if n * side**dim * num_actions <= options.memory:
        place = tiling[:, 0]
        for i in range(dim):
            place = place * side + jnp.clip(cells[:, i], 0, side - 1)
        return (place[None] * num_actions + action).astype(jnp.int32)
    place = tiling[:, 0].astype(jnp.uint32)
    for i in range(dim):
        place = scramble(place ^ (cells[:, i].astype(jnp.uint32) + jnp.uint32(0x9E3779B9 + i)))
    mixed = scramble(place[None] + action.astype(jnp.uint32) * jnp.uint32(0x85EBCA6B))
    return (mixed % jnp.uint32(options.memory)).astype(jnp.int32)


def q_values(state: State, indices: Int[Array, "*k t"]) -> Float[Array, "*k"]:
    return state.q_weights[indices].sum(-1)


def log_e(options: Options, state: State, indices: Int[Array, "*k t"]) -> Float[Array, "*k"]:
    """log E, finite however often an action was taken."""
    total = state.e_weights[indices].sum(-1)
    if options.link == "sigmoid":
        return jax.nn.log_sigmoid(total)
    return jnp.log(jnp.clip(1 + total, 1e-30, 1.0))


def counts(options: Options, log_e: Float[Array, "*k"]) -> Float[Array, "*k"]:
    """C = log E / log(1 - rate_E): the number of visits, in a table with gamma_E = 0."""
    return log_e / np.log1p(-options.e_rate)


def greedy(options: Options, state: State, indices: Int[Array, "k t"], kappa) -> Int[Array, ""]:
    """The best action; ties are drawn, by numbers that depend on the seed and the step alone."""
    q = q_values(state, indices)
    if options.variant == "lll":
        unknown = -jnp.log(jnp.maximum(-log_e(options, state, indices), 1e-30)) * options.temperature
        q = balance(q, unknown, jnp.asarray(kappa, q.dtype))
    return argmax_by_bits(q, random_bits(state.lot, state.steps, len(q))).astype(jnp.int32)


def observe(
    options: Options,
    state: State,
    indices: Int[Array, " t"],
    reward: Float[Array, ""],
    following: Int[Array, "k t"],
    action: Int[Array, ""],
    terminated: Bool[Array, ""],
    kappa: Float[Array, ""],
) -> State:
    """Q-learning for Q and SARSA for E, from (s, a), r, s' and the next action. O(k t)."""
    q, known = q_values(state, indices), log_e(options, state, indices)
    e = jnp.exp(known)
    if options.variant == "bonus":
        reward = reward + kappa * options.bonus / jnp.maximum(counts(options, known), 1.0)
    ahead = jnp.where(terminated, 0.0, options.discount * jnp.max(q_values(state, following)))
    e_ahead = jnp.exp(log_e(options, state, following[action]))
    e_target = jnp.where(terminated, 0.0, options.e_discount * e_ahead)
    # The link's derivative at (s, a), whose weights move; the published code takes it at (s', a').
    slope = e * (1 - e) if options.link == "sigmoid" else 1.0
    q_step = options.rate / options.tilings * (reward + ahead - q)
    e_step = options.e_rate / options.tilings * (e_target - e) * slope
    return state._replace(
        q_weights=state.q_weights.at[indices].add(q_step.astype(jnp.float32)),
        e_weights=state.e_weights.at[indices].add(e_step.astype(jnp.float32)),
    )
