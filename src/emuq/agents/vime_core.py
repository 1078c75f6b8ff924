"""VIME as pure functions: one update a batch of steps (Houthooft et al., 2016).

    r' = r + kappa eta KL / (mean of the last 10 batches' median KL)

The information gains of a batch are measured with the network as it was while the batch was gathered;
then the network is fitted to the pool, then the policy is improved on r'. A transition goes into the pool
with its own next state: the published pool takes the next row's, across the ends of episodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from emuq.agents import vime_model as model
from emuq.agents import vime_trpo as trpo
from emuq.agents.vime_model import Network, Prior
from emuq.agents.vime_trpo import Policy, Trust

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int

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
    key: Array


def init(options: Options, seed: int, state_dim: int, action_dim: int) -> State:
    key, net_key, policy_key = jax.random.split(jax.random.key(seed), 3)
    sizes = (state_dim + action_dim, options.hidden, state_dim)
    network = model.init(net_key, sizes, options.initial_sd)
    return State(
        network,
        optax.adam(options.rate).init(network),
        jnp.zeros((options.pool, state_dim + action_dim), jnp.float32),
        jnp.zeros((options.pool, state_dim), jnp.float32),
        jnp.zeros((), jnp.int32),
        trpo.init(policy_key, state_dim, action_dim, options.hidden),
        jnp.zeros(2 * state_dim + 4),
        jnp.zeros(MEDIANS),
        jnp.zeros((), jnp.int32),
        key,
    )


class Info(NamedTuple):
    """What an update did: the batch's median information gain, and how far the policy went."""

    median: Float[Array, ""]
    divergence: Float[Array, ""]


def update(options: Options, state: State, batch: Batch, kappa: Float[Array, ""]) -> tuple[State, Info]:
    """Information gains, network, policy, values, in this order."""
    gain_key, fit_key = jax.random.split(jax.random.fold_in(state.key, state.updates))
    state = _store(options, state, batch)
    moments = _moments(options, state)
    gains = gain(options, state, moments, batch, gain_key)
    medians = state.medians.at[state.updates % MEDIANS].set(jnp.median(gains))
    known = jnp.arange(MEDIANS) <= state.updates
    scale = jnp.sum(jnp.where(known, medians, 0.0)) / jnp.sum(known)
    rewards = batch.rewards + kappa * options.eta * gains / jnp.maximum(scale, 1e-30)
    network, optimiser = fit(options, state, moments, fit_key)

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
    options: Options, state: State, moments: tuple[Array, Array], batch: Batch, key: Array
) -> Float[Array, " n"]:
    """The information gain of every transition of a batch, by the network as it is."""
    x, y = _normal(moments, jnp.concatenate([batch.states, batch.actions], -1), batch.following)
    noise = model.noise(state.network, key, len(x), options.prior.samples)

    def one(row):
        return model.information_gain(options.prior, state.network, *row)

    return jax.lax.map(one, (x, y, noise), batch_size=250)


def fit(options: Options, state: State, moments: tuple[Array, Array], key: Array) -> tuple[Network, Any]:
    """`updates` steps of Adam on minibatches of the pool."""
    adam = optax.adam(options.rate)
    total = jnp.minimum(state.stored, options.pool)
    rows_key, noise_key = jax.random.split(key)
    rows = jax.random.randint(rows_key, (options.updates, options.minibatch), 0, total)
    xs, ys = _normal(moments, state.inputs[rows], state.targets[rows])

    def once(carry, batch):
        network, optimiser = carry
        x, y, draws = batch
        gradient = jax.grad(lambda net: model.loss(options.prior, net, x, y, total, draws))(network)
        change, optimiser = adam.update(gradient, optimiser, network)
        return (optax.apply_updates(network, change), optimiser), None

    start = (state.network, state.optimiser)
    noise = model.noise(state.network, noise_key, options.updates, options.prior.samples, options.minibatch)
    (network, optimiser), _ = jax.lax.scan(once, start, (xs, ys, noise))
    enough = total >= LEAST
    return jax.tree.map(lambda new, old: jnp.where(enough, new, old), (network, optimiser), start)
