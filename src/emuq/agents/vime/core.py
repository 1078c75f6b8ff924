"""VIME as pure functions: one update a batch of steps (Houthooft et al., 2016).

    r' = r + kappa eta KL / (mean of the last 10 batches' median KL)

The information gains of a batch are measured with the network as it was while the batch was gathered;
then the network is fitted to the pool, then the policy is improved on r'. A transition goes into the pool
with its own next state: the published pool takes the next row's, across the ends of episodes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from emuq.agents.vime import model, trpo
from emuq.agents.vime.model import Network, Prior
from emuq.agents.vime.trpo import Policy, Trust

MEDIANS = 10  # batches whose medians scale the information gain
LEAST = 500  # transitions before the network is first fitted


class Options(NamedTuple):
    """Options, with the published values."""

    batch: int = 5000  # steps between updates
    eta: float = 1e-4  # weight of the information gain, times kappa
    hidden: int = 32  # units of the policy and of the network
    initial_sd: float = 0.5  # of the network's weights
    rate: float = 1e-3  # of Adam
    updates: int = 500  # of the network, a batch of steps
    minibatch: int = 10
    pool: int = 100_000
    discount: float = 0.995
    trace: float = 0.95  # GAE's lambda
    prior: Prior = Prior()
    trust: Trust = Trust()


class Batch(NamedTuple):
    """Steps in their order: NumPy's arrays while they are filled, JAX's inside `update`.

    States lie in [-1, 1]; `raw` are the policy's draws, `actions` what was done.
    """

    states: Any  # [n, ds]
    raw: Any  # [n, da]
    actions: Any  # [n, da]
    rewards: Any  # [n]
    following: Any  # [n, ds]
    terminated: Any  # bool [n]
    over: Any  # bool [n]: terminated or cut
    times: Any  # int [n]: steps since the episode began


class State(NamedTuple):
    """All that is learned."""

    network: Network
    optimiser: Any
    inputs: Float[Array, "p dsa"]  # the pool, a ring
    targets: Float[Array, "p ds"]
    stored: Int[Array, ""]  # transitions ever put into the pool
    policy: Policy
    value_weights: Float[Array, " f"]
    medians: Float[Array, " 10"]
    updates: Int[Array, ""]


class Draws(NamedTuple):
    """An update's random numbers. Drawn by NumPy: compiling JAX's generator took most of the compile time."""

    gain: tuple[np.ndarray, ...]  # [batch, samples, outputs] for each layer
    fit: tuple[np.ndarray, ...]  # [updates, samples, minibatch, outputs] for each layer
    rows: np.ndarray  # [updates, minibatch], uniform in [0, 1)


def draws(options: Options, seed: int, number: int, state_dim: int) -> Draws:
    """The numbers of update `number`."""
    rng, samples = np.random.default_rng([seed, 7, number]), options.prior.samples
    outputs = (options.hidden, state_dim)

    def noise(*shape: int) -> tuple[np.ndarray, ...]:
        return tuple(rng.standard_normal((*shape, n), np.float32) for n in outputs)

    return Draws(
        noise(options.batch, samples),
        noise(options.updates, samples, options.minibatch),
        rng.random((options.updates, options.minibatch)),
    )


def init(options: Options, seed: int, state_dim: int, action_dim: int) -> State:
    """A wide network and a policy of small means, drawn from the seed."""
    rng = np.random.default_rng([seed, 8])
    sizes = (state_dim + action_dim, options.hidden, state_dim)
    network = model.init(rng, sizes, options.initial_sd)
    return State(
        network,
        optax.adam(options.rate).init(network),
        jnp.zeros((options.pool, state_dim + action_dim), jnp.float32),
        jnp.zeros((options.pool, state_dim), jnp.float32),
        jnp.zeros((), jnp.int32),
        trpo.init(rng, state_dim, action_dim, options.hidden),
        jnp.zeros(2 * state_dim + 4),
        jnp.zeros(MEDIANS),
        jnp.zeros((), jnp.int32),
    )


class Info(NamedTuple):
    """What an update did: the batch's median information gain, and how far the policy went."""

    median: Float[Array, ""]
    divergence: Float[Array, ""]


def update(options: Options, state: State, batch: Batch, draws: Draws, kappa) -> tuple[State, Info]:
    """Information gains, network, policy, values, in this order."""
    state = _store(options, state, batch)
    moments = _moments(options, state)
    gains = gain(options, state, moments, batch, draws.gain)
    medians = state.medians.at[state.updates % MEDIANS].set(jnp.median(gains))
    known = jnp.arange(MEDIANS) <= state.updates
    scale = jnp.sum(jnp.where(known, medians, 0.0)) / jnp.sum(known)
    rewards = batch.rewards + kappa * options.eta * gains / jnp.maximum(scale, 1e-30)
    network, optimiser = fit(options, state, moments, draws)

    features = trpo.value_features(batch.states, batch.times)
    later = trpo.value_features(batch.following, batch.times + 1)
    advantage, returns = trpo.advantages(
        rewards, features @ state.value_weights, later @ state.value_weights,
        batch.terminated, batch.over, options.discount, options.trace,
    )  # fmt: skip
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-12)
    policy = trpo.improve(options.trust, state.policy, batch.states, batch.raw, advantage)
    info = Info(jnp.median(gains), trpo.divergence(state.policy, policy, batch.states))
    state = state._replace(
        network=network, optimiser=optimiser, policy=policy, medians=medians,
        value_weights=trpo.fit_values(features, returns), updates=state.updates + 1,
    )  # fmt: skip
    return state, info


def _store(options: Options, state: State, batch: Batch) -> State:
    rows = (state.stored + jnp.arange(len(batch.rewards))) % options.pool
    inputs = jnp.concatenate([batch.states, batch.actions], -1).astype(jnp.float32)
    return state._replace(
        inputs=state.inputs.at[rows].set(inputs),
        targets=state.targets.at[rows].set(batch.following.astype(jnp.float32)),
        stored=state.stored + len(batch.rewards),
    )


def _moments(options: Options, state: State) -> tuple[Array, Array]:
    """Mean and standard deviation of the pool's inputs; a constant dimension keeps its scale."""
    used = (jnp.arange(options.pool) < state.stored)[:, None]
    total = jnp.minimum(state.stored, options.pool)
    mean = jnp.sum(jnp.where(used, state.inputs, 0.0), 0) / total
    sd = jnp.sqrt(jnp.sum(jnp.where(used, jnp.square(state.inputs - mean), 0.0), 0) / total)
    return mean, jnp.where(sd > 1e-6, sd, 1.0)


def _normal(moments: tuple[Array, Array], inputs: Array, targets: Array) -> tuple[Array, Array]:
    mean, sd = moments
    dim = targets.shape[-1]
    return (inputs - mean) / sd, (targets - mean[:dim]) / sd[:dim]


def gain(
    options: Options, state: State, moments: tuple[Array, Array], batch: Batch, noise: Any
) -> Float[Array, " n"]:
    """The information gain of every transition of a batch, by the network as it is."""
    x, y = _normal(moments, jnp.concatenate([batch.states, batch.actions], -1), batch.following)

    def one(row):
        return model.information_gain(options.prior, state.network, *row)

    return jax.lax.map(one, (x, y, noise), batch_size=250)


def fit(options: Options, state: State, moments: tuple[Array, Array], draws: Draws) -> tuple[Network, Any]:
    """`updates` steps of Adam on minibatches of the pool."""
    adam = optax.adam(options.rate)
    total = jnp.minimum(state.stored, options.pool)
    rows = (draws.rows * total).astype(jnp.int32)
    xs, ys = _normal(moments, state.inputs[rows], state.targets[rows])

    def once(carry, batch):
        network, optimiser = carry
        x, y, noise = batch
        gradient = jax.grad(lambda net: model.loss(options.prior, net, x, y, total, noise))(network)
        change, optimiser = adam.update(gradient, optimiser, network)
        return (optax.apply_updates(network, change), optimiser), None

    start = (state.network, state.optimiser)
    (network, optimiser), _ = jax.lax.scan(once, start, (xs, ys, draws.fit))
    enough = total >= LEAST
    return jax.tree.map(lambda new, old: jnp.where(enough, new, old), (network, optimiser), start)
