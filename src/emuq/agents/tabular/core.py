"""Algorithm 1 with tables, as pure functions: one learner, three ways to explore.

The three are points of one space (`Parameters`), so that a comparison between them changes nothing else:

    exploration values   Q learns r, U learns r^e, actions maximise Q + kappa U
    additive rewards     Q learns r + kappa r^e, actions maximise Q     (kappa is the paper's xi)
    epsilon-greedy       Q learns r, actions maximise Q, or are random with probability epsilon kappa

The learner is Q-learning, for Q and for U alike:
T(s, a) += rate (reward + discount max_a' T(s', a') - T(s, a)).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from emuq.agents.ties import argmax_by_uniform
from emuq.exploration import ExplorationReward
from emuq.planning.targets import balance

Number = jax.Array | np.ndarray | float | bool


class Parameters(NamedTuple):
    """Numbers, so that a batch of runs may differ in any of them."""

    rate: Number = 0.1  # 0 stands for 1 / n(s, a), which averages
    discount: Number = 0.99
    initial: Number = 0.0  # Q(s, a) before any visit
    by_value: Number = False  # kappa weighs U in the choice of action
    by_reward: Number = False  # kappa weighs r^e in Q's reward
    epsilon: Number = 0.0  # kappa weighs the probability of a random action
    random_ties: Number = True  # among equal actions, any one; otherwise the first


class State(NamedTuple):
    """Tables are kept in single precision and computed with in double.

    Two compilations of one formula may differ in the last bit, which is enough to turn a tie between actions
    around; rounded, they agree, and a compiled run stays equal to a Gymnasium one.
    """

    q: jax.Array  # float32 [states, actions]
    u: jax.Array  # float32 [states, actions]
    visits: jax.Array  # int32 [states, actions]
    key: jax.Array
    steps: jax.Array  # int32


def init(
    parameters: Parameters, reward: ExplorationReward, num_states: int, num_actions: int, key: jax.Array
) -> State:
    shape = (num_states, num_actions)
    return State(
        q=jnp.full(shape, parameters.initial, jnp.float32),
        u=jnp.full(shape, reward.initial, jnp.float32),
        visits=jnp.zeros(shape, jnp.int32),
        key=key,
        steps=jnp.int32(0),
    )


def greedy(parameters: Parameters, state: State, s: jax.Array, kappa: Number) -> jax.Array:
    """argmax_a Q(s, a) + kappa U(s, a) (eq. 15); kappa = inf maximises U alone. Ties are drawn."""
    return _choose(parameters, state, s, kappa, _draws(state, s))


def act(parameters: Parameters, state: State, s: jax.Array, kappa: Number) -> jax.Array:
    """The greedy action, or a random one with probability epsilon kappa."""
    draws = _draws(state, s)
    num_actions = state.q.shape[1]
    chance = jnp.where(jnp.asarray(parameters.epsilon) > 0, jnp.asarray(parameters.epsilon) * kappa, 0.0)
    random = jnp.minimum((draws[-1] * num_actions).astype(jnp.int32), num_actions - 1)
    return jnp.where(draws[-2] < chance, random, _choose(parameters, state, s, kappa, draws))


def _draws(state: State, s: jax.Array) -> jax.Array:
    # A function of the seed, the step and the state, so that acting is pure: while nothing is learned, the
    # same state gives the same action, and test episodes leave the stream of the learning ones alone.
    key = jax.random.fold_in(jax.random.fold_in(state.key, state.steps), s)
    return jax.random.uniform(key, (state.q.shape[1] + 2,), jnp.float32)


def _choose(parameters: Parameters, state: State, s, kappa, draws) -> jax.Array:
    q, u = state.q[s].astype(float), state.u[s].astype(float)
    score = jnp.where(parameters.by_value, balance(q, u, jnp.asarray(kappa)), q).astype(jnp.float32)
    draws = jnp.where(parameters.random_ties, draws[: score.shape[0]], 0.0)
    return argmax_by_uniform(score, draws).astype(jnp.int32)


def observe(
    parameters: Parameters,
    reward: ExplorationReward,
    state: State,
    s: jax.Array,
    a: Number,
    r: Number,
    s_next: jax.Array,
    terminated: Number,
    kappa: Number,
    learning: Number = True,
) -> State:
    """One step of Q-learning for Q and one for U, from one transition. O(actions)."""
    visits = state.visits.at[s, a].add(jnp.asarray(learning, jnp.int32))
    bonus = reward.reward(visits, s, a, s_next, terminated)
    added = jnp.where(parameters.by_reward, kappa * bonus, 0.0)
    rate = jnp.where(jnp.asarray(parameters.rate) > 0, parameters.rate, 1.0 / jnp.maximum(visits[s, a], 1))
    rate = jnp.where(learning, rate, 0.0)
    discount = jnp.where(terminated, 0.0, parameters.discount)

    def learn(table: jax.Array, reward: Number) -> jax.Array:
        old, ahead = table[s, a].astype(float), jnp.max(table[s_next]).astype(float)
        return table.at[s, a].set((old + rate * (reward + discount * ahead - old)).astype(jnp.float32))

    return State(learn(state.q, r + added), learn(state.u, bonus), visits, state.key, state.steps + 1)
