"""A model of the environment: where an action leads, and what it pays, by Bayesian regression.

    (z' - z, r)(x) = B x + k(x, X) (K + nu I)^-1 (Y - B X),        x = (z, a),    z = (s - m) / scale

A straight line B, and what it leaves over by a Gaussian process: k is the Matern 5/2 kernel, X are a few
hundred transitions that stand for all, and nu is small, unless half of them foretell the rest better with a
large one: such a number is noise.

One step of a machine moves its state a little, and smoothly: a few hundred transitions are enough to predict
it to a percent or better, while a value has edges that take thousands. So values are looked up where the
model says that an action leads (`support`), instead of being regressed on actions.

States are measured in standard deviations of the data, changes and rewards likewise: units do not matter.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from emuq.linear.posterior import Scalar
from emuq.planning import network, transitions
from emuq.planning.kernels import matern
from emuq.planning.network import Network
from emuq.planning.selection import spread
from emuq.planning.transitions import Transitions

ROWS = 2048  # transitions that are looked at, at most: evenly spaced in time, so that cost is bounded
KNOWN = 800  # transitions that the kernel is put on
LENGTHSCALE = 4.0  # of the kernel, in standard deviations of a state, and in ranges of an action
EXACT, NOISY = 1e-4, 1.0  # nu of what can be predicted (with less, single precision fails), and of noise
RIDGE = 1e-4  # of the straight line
LEAST = 1e-6  # a scale is at least this: a dimension that never changes is no division by zero


class Model(NamedTuple):
    """What predicts a transition. All arrays are in single precision."""

    inputs: Float[Array, "n d"]  # X: (z, a), a in [0, 1]
    coefficients: Float[Array, "n o"]  # columns: the changes of z in units of `change`, then the reward
    line: Float[Array, "e o"]  # B, and in its last row the constant
    mean: Float[Array, " ds"]
    scale: Float[Array, " ds"]
    change: Float[Array, " ds"]
    reward: Float[Array, " 2"]  # mean and scale of rewards that did not end an episode
    network: Network  # that predicts instead,
    trained: Int[Array, ""]  # on so many transitions, 0: not yet,
    chosen: Bool[Array, " 2"]  # where it predicts better: changes, rewards


class Sample(NamedTuple):
    """The transitions that are looked at: the rows of arrays, and which of them are data."""

    states: Float[Array, "r ds"]
    actions: Float[Array, "r da"]
    rewards: Float[Array, " r"]
    following: Float[Array, "r ds"]
    terminal: Bool[Array, " r"]
    mask: Bool[Array, " r"]
    returns: Float[Array, " r"]  # discounted, that were seen to follow; -inf where none was yet


def empty(state_dim: int, action_dim: int) -> Model:
    """A model of no data: nothing moves, nothing pays."""
    low, d, o = jnp.float32, state_dim + action_dim, state_dim + 1
    kernel = jnp.zeros((KNOWN, d), low), jnp.zeros((KNOWN, o), low), jnp.zeros((d + 1, o), low)
    zeros = jnp.zeros(state_dim, low)
    scales = zeros, zeros + 1, zeros + 1, jnp.zeros(2, low)
    return Model(*kernel, *scales, *untrained(state_dim, action_dim))


def sample(data: Transitions, discount: Scalar) -> Sample:
    """All transitions, or `ROWS` of them at even distances."""
    number = min(ROWS, data.capacity)
    at = spread(number, data.count)
    rows = (x[at] for x in (data.states, data.actions, data.rewards, data.next_states, data.terminal))
    # W is what a state is worth to whoever arrives there: a step later than to whoever acts in it.
    least = transitions.value_bounds(data, discount)[0]
    seen = (discount * transitions.returns(data, discount, least)[at]).astype(jnp.float32)
    return Sample(*rows, mask=jnp.arange(number) < data.count, returns=seen)


def deviations(rows: Sample) -> Float[Array, "r ds"]:
    """The rows' states in standard deviations."""
    states = rows.states.astype(jnp.float64)
    mean, scale = moments(states, rows.mask.astype(jnp.float64))
    return ((states - mean) / scale).astype(jnp.float32)


def fit(rows: Sample, at: Int[Array, " n"], real: Bool[Array, " n"]) -> Model:
    """The model of these transitions, with the kernel on those `at` places that are `real`. O(n^3)."""
    mask = rows.mask.astype(jnp.float64)
    states, following = rows.states.astype(jnp.float64), rows.following.astype(jnp.float64)
    mean, scale = moments(states, mask)
    moved = (following - states) / scale
    _, change = moments(moved, mask)
    # A step that ends an episode is taken to pay what others do: what the end itself is worth is told apart.
    pay, spread = moments(rows.rewards.astype(jnp.float64)[:, None], mask * ~rows.terminal)
    rewards = jnp.where(rows.terminal[:, None], 0.0, (rows.rewards[:, None] - pay) / spread)
    x = jnp.concatenate([(states - mean) / scale, rows.actions.astype(jnp.float64)], axis=1)
    y = jnp.concatenate([moved / change, rewards], axis=1)
    line = straight(x, y, mask)
    x, left = x[at], jnp.where(real[:, None], y[at] - straight_line(line, x[at]), 0.0)
    gram = matern(x, x, LENGTHSCALE)
    coefficients = jnp.where(
        is_noisy(gram, left, real), *(solve(gram, left, real, nu) for nu in (NOISY, EXACT))
    )
    reward = jnp.concatenate([pay, spread])
    found = Model(
        x, coefficients, line, mean, scale, change, reward, *untrained(states.shape[1], rows.actions.shape[1])
    )
    return jax.tree.map(lambda x: x.astype(jnp.float32) if x.dtype == jnp.float64 else x, found)


def untrained(state_dim: int, action_dim: int) -> tuple[Network, Int[Array, ""], Bool[Array, " 2"]]:
    """A network that knows nothing, and is chosen for nothing."""
    return network.fresh(state_dim, action_dim), jnp.zeros((), jnp.int32), jnp.zeros(2, bool)


def with_network(model: Model, old: Model, data: Transitions, wanted: Bool[Array, ""]) -> Model:
    """The model with the old one's network, trained on if it is `wanted`: so long for each new transition."""
    scales = network.Scales(model.mean, model.scale, model.change, model.reward)
    steps = jnp.minimum(network.EACH * (data.count - old.trained), network.STEPS)
    trained = network.train(old.network, scales, data, jnp.where(wanted, steps, 0))
    return model._replace(
        network=trained, trained=jnp.where(wanted, data.count, old.trained).astype(jnp.int32)
    )


def solve(
    gram: Float[Array, "n n"], left: Float[Array, "n o"], real: Bool[Array, " n"], nugget: float
) -> Float[Array, "n o"]:
    """(K + nu I)^-1 (Y - B X) over the rows that are `real`, 0 in the others."""
    both = real[:, None] & real[None, :]
    known = jnp.where(both, gram, 0.0) + jnp.diag(jnp.where(real, nugget, 1.0))
    factor = jnp.linalg.cholesky(known), True
    return jax.scipy.linalg.cho_solve(factor, jnp.where(real[:, None], left, 0.0))


def is_noisy(
    gram: Float[Array, "n n"], left: Float[Array, "n o"], real: Bool[Array, " n"]
) -> Bool[Array, " o"]:
    """Which columns one half of the rows foretells to the other better if they are taken for noise.

    By the median of the errors: a wall, where everything changes at once, is met seldom and is no noise.
    """
    half = len(real) // 2
    place = jnp.arange(len(real)) // 2 % 2  # rows come in pairs, one far from others and one of a crowd
    order = jnp.argsort(place, stable=True)
    gram, left, real = gram[order][:, order], left[order], real[order]
    known, others = real[:half], real[half:, None]

    def error(nugget: float) -> Float[Array, " o"]:
        told = gram[half:, :half] @ solve(gram[:half, :half], left[:half], known, nugget)
        return jnp.nanmedian(jnp.where(others, jnp.abs(left[half:] - told), jnp.nan), axis=0)

    return error(NOISY) < error(EXACT)  # not where there are no others: NaN is not less


def moments(
    x: Float[Array, "r d"], mask: Float[Array, " r"]
) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
    """Mean and standard deviation of the rows that count."""
    number = jnp.maximum(jnp.sum(mask), 1.0)
    mean = mask @ x / number
    return mean, jnp.maximum(jnp.sqrt(mask @ (x - mean) ** 2 / number), LEAST)


def straight(x: Float[Array, "r d"], y: Float[Array, "r o"], mask: Float[Array, " r"]) -> Float[Array, "e o"]:
    """The straight line nearest to the rows that count, by least squares."""
    rows = jnp.concatenate([x, jnp.ones((len(x), 1))], axis=1) * mask[:, None]
    return jnp.linalg.solve(RIDGE * jnp.eye(rows.shape[1]) + rows.T @ rows, rows.T @ y)


def straight_line(line: Float[Array, "e o"], x: Float[Array, "n d"]) -> Float[Array, "n o"]:
    """B x, with its constant."""
    return x @ line[:-1] + line[-1]


def predict(
    model: Model, z: Float[Array, "n ds"], actions: Float[Array, "n da"]
) -> tuple[Float[Array, "n ds"], Float[Array, " n"]]:
    """z' and r of these actions at these states (standardised)."""
    x = jnp.concatenate([z, actions], axis=-1, dtype=jnp.float32)

    def process() -> Float[Array, "n o"]:
        return straight_line(model.line, x) + matern(x, model.inputs, LENGTHSCALE) @ model.coefficients

    def net() -> Float[Array, "n o"]:
        return network.predict(model.network, x)

    def nothing() -> Float[Array, "n o"]:
        return jnp.zeros((len(x), model.line.shape[1]), x.dtype)

    by = model.chosen
    found = jax.lax.cond(jnp.all(by), nothing, process), jax.lax.cond(jnp.any(by), net, nothing)
    moved = jnp.where(by[0], found[1][:, :-1], found[0][:, :-1])
    pay = jnp.where(by[1], found[1][:, -1], found[0][:, -1])
    return z + moved * model.change, model.reward[0] + pay * model.reward[1]


def standardised(model: Model, states: Float[Array, "*n ds"]) -> Float[Array, "*n ds"]:
    """z = (s - mean) / scale."""
    return (states.astype(jnp.float32) - model.mean) / model.scale


def raw(model: Model, z: Float[Array, "*n ds"]) -> Float[Array, "*n ds"]:
    """s = mean + scale z."""
    return model.mean + model.scale * z


def error(model: Model, rows: Sample) -> Float[Array, ""]:
    """The root mean square error of predicted changes, in standard deviations of a change."""
    z = standardised(model, rows.states)
    wrong = (predict(model, z, rows.actions)[0] - standardised(model, rows.following)) / model.change
    squares = jnp.mean(wrong**2, axis=-1)
    return jnp.sqrt(jnp.sum(jnp.where(rows.mask, squares, 0.0)) / jnp.maximum(jnp.sum(rows.mask), 1))
