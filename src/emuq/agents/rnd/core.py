"""Random network distillation over a linear learner, as pure functions (Burda et al., 2019).

A predictor g is trained to copy a fixed random network f at the states that were reached; where it fails,
the state is new. Its error, relative to the largest among what is remembered, is the exploration reward:

    e(s') = |f(s') - g(s')|^2,    r^e = min(e / e_largest, 1) - 1  in [-1, 0]

One learner, two ways to use it:

    values   Q learns r, U learns r^e, actions maximise Q + kappa U
    bonus    Q learns r + kappa r^e, actions maximise Q

Both values are linear in EMU-Q's features and learn by Q-learning on minibatches of remembered
transitions, whose exploration rewards are computed anew each time. U is not episodic, as its authors
have it: a terminal state is followed by the start of an episode.
"""

from __future__ import annotations

import itertools
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from emuq.agents.actions import Actions
from emuq.agents.ties import argmax_by_bits
from emuq.linear.features import Features, Part, action_part, combine, random_fourier, scores, state_part
from emuq.linear.hashing import random_bits
from emuq.planning.targets import balance


class Options(NamedTuple):
    """One setting for every domain. Lengthscales, as EMU-Q's default, are for inputs in [0, 1]."""

    form: Literal["values", "bonus"] = "values"
    features: int = 500
    state_lengthscale: float = 0.5
    action_lengthscale: float = 1.0
    mixture: float = 1.2
    rate: float = 1.0  # of Q and U, shared among the minibatch
    discount: float = 0.99
    minibatch: int = 8
    capacity: int = 1 << 16  # transitions remembered
    hidden: int = 64  # units in each of two layers, of f and of g
    outputs: int = 16
    predictor_rate: float = 1e-3  # of Adam
    memory: float = 0.99  # of the running maximum of errors


class Basis(NamedTuple):
    """What is drawn once: the feature map, the candidate actions and their parts, the random network."""

    features: Features
    candidates: Part
    actions: Float[Array, "k da"]
    target: Any


class State(NamedTuple):
    """All that changes."""

    q_weights: Float[Array, " m"]
    u_weights: Float[Array, " m"]
    predictor: Any
    optimiser: Any
    largest: Float[Array, ""]  # the running maximum of errors
    start: Float[Array, " ds"]  # where the last episode began
    memory: Float[Array, "n w"]  # rows [s, a, r, s', terminated]: one array, or XLA copies it at every write
    stored: Int[Array, ""]  # transitions ever remembered
    lot: Array  # the agent's own seed of draws
    steps: Array


def init(options: Options, seed: int, state_dim: int, actions: Actions) -> tuple[Basis, State]:
    """Features and the random network drawn from the seed; zero weights, which are optimistic as r^e <= 0."""
    rng = np.random.default_rng([seed, 6])
    features = random_fourier(
        np.uint32(rng.integers(2**32)),
        options.features,
        state_dim,
        actions.dim,
        state_lengthscale=options.state_lengthscale,
        action_lengthscale=options.action_lengthscale,
        mixture=options.mixture,
    )
    features = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), features)
    units = jnp.asarray(actions.candidates, jnp.float32)
    sizes = (state_dim, options.hidden, options.hidden, options.outputs)
    predictor = _network(rng, sizes)
    state = State(
        jnp.zeros(options.features, jnp.float32),
        jnp.zeros(options.features, jnp.float32),
        predictor,
        optax.adam(options.predictor_rate).init(predictor),
        jnp.zeros((), jnp.float32),
        jnp.zeros(state_dim, jnp.float32),
        jnp.zeros((options.capacity, 2 * state_dim + actions.dim + 2), jnp.float32),
        jnp.zeros((), jnp.int32),
        jnp.asarray(rng.integers(2**32), jnp.uint32),
        jnp.zeros((), jnp.uint32),
    )
    return Basis(features, action_part(features, units), units, _network(rng, sizes)), state


def _network(rng: np.random.Generator, sizes: tuple[int, ...]) -> tuple[tuple[Array, Array], ...]:
    """He's weights, and biases wide enough that the kinks lie all over the box of states."""
    return tuple(
        (
            jnp.asarray(rng.standard_normal((i, o)) * np.sqrt(2 / i), jnp.float32),
            jnp.asarray(rng.standard_normal(o), jnp.float32),
        )
        for i, o in itertools.pairwise(sizes)
    )


def _forward(network: Any, s: Float[Array, "*n ds"]) -> Float[Array, "*n o"]:
    x = 2 * s - 1
    for n, (weights, bias) in enumerate(network):
        x = (jax.nn.relu(x) if n else x) @ weights + bias
    return x


def errors(basis: Basis, predictor: Any, s: Float[Array, "*n ds"]) -> Float[Array, "*n"]:
    """e(s): large where the predictor was not trained."""
    return jnp.mean(jnp.square(_forward(predictor, s) - _forward(basis.target, s)), -1)


def exploration_rewards(basis: Basis, state: State, s: Float[Array, "*n ds"]) -> Float[Array, "*n"]:
    """r^e of reaching s: 0 for the newest, -1 for what is known."""
    return jnp.minimum(errors(basis, state.predictor, s) / jnp.maximum(state.largest, 1e-30), 1.0) - 1.0


def values(basis: Basis, weights: Float[Array, " m"], s: Float[Array, "*n ds"]) -> Float[Array, "*n k"]:
    return scores(basis.features, state_part(basis.features, s), basis.candidates, weights)


def greedy(options: Options, basis: Basis, state: State, s: Float[Array, " ds"], kappa) -> Int[Array, ""]:
    """argmax_a Q + kappa U over the candidates, or of Q alone; ties are drawn. O(K M)."""
    weights = state.q_weights
    if options.form == "values":
        weights = balance(weights, state.u_weights, jnp.asarray(kappa, jnp.float32))
    value = values(basis, weights, s)
    return argmax_by_bits(value, random_bits(state.lot, 2 * state.steps, len(value)))


def unpack(rows: Float[Array, "*n w"], dim: int) -> tuple[Array, ...]:
    """s, a, r, s', terminated of rows of the memory."""
    width = rows.shape[-1]
    s, a, reward, following, end = jnp.split(
        rows, [dim, width - dim - 2, width - dim - 1, width - 1], axis=-1
    )
    return s, a, reward[..., 0], following, end[..., 0] > 0


def remember(state: State, s: Array, action: Array, reward: Array, following: Array, end: Array) -> State:
    """A transition joins the memory; the oldest leaves it when it is full."""
    parts = (
        jnp.atleast_1d(jnp.asarray(part)).astype(jnp.float32) for part in (s, action, reward, following, end)
    )
    place = state.stored % len(state.memory)
    memory = jax.lax.dynamic_update_index_in_dim(state.memory, jnp.concatenate(list(parts)), place, 0)
    return state._replace(memory=memory, stored=state.stored + 1, steps=state.steps + 1)


def learn(options: Options, basis: Basis, state: State, kappa) -> State:
    """One minibatch for Q, U and the predictor. O(B K M)."""
    capacity = len(state.memory)
    drawn = random_bits(state.lot, 2 * state.steps + 1, options.minibatch)
    rows = (drawn % jnp.minimum(state.stored, capacity).astype(jnp.uint32)).astype(jnp.int32)
    # The newest transition is always among them: what was just seen must not stay new.
    batch = state.memory[rows.at[0].set((state.stored - 1) % capacity)]
    s, a, reward, following, end = unpack(batch, len(state.start))

    def error(net: Any) -> tuple[Array, Array]:
        each = errors(basis, net, following)
        return jnp.mean(each), each

    gradient, error_of = jax.grad(error, has_aux=True)(state.predictor)
    change, optimiser = optax.adam(options.predictor_rate).update(gradient, state.optimiser)
    largest = jnp.maximum(jnp.max(error_of), options.memory * state.largest)
    explore = error_of / jnp.maximum(largest, 1e-30) - 1.0

    part = state_part(basis.features, following)
    phi = combine(basis.features, state_part(basis.features, s), action_part(basis.features, a))

    def step(weights: Array, reward: Array, after_end: Array | float) -> Array:
        ahead = jnp.max(scores(basis.features, part, basis.candidates, weights), -1)
        target = reward + options.discount * jnp.where(end, after_end, ahead)
        return weights + options.rate / options.minibatch * ((target - phi @ weights) @ phi)

    q_weights, u_weights = state.q_weights, state.u_weights
    if options.form == "bonus":
        q_weights = step(q_weights, reward + jnp.asarray(kappa, jnp.float32) * explore, 0.0)
    else:
        q_weights = step(q_weights, reward, 0.0)
        u_weights = step(u_weights, explore, jnp.max(values(basis, u_weights, state.start)))
    return state._replace(
        q_weights=q_weights, u_weights=u_weights, largest=largest,
        predictor=optax.apply_updates(state.predictor, change), optimiser=optimiser,
    )  # fmt: skip
