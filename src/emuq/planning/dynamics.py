"""A model of the environment: where an action leads, and what it pays, by Bayesian regression.

    z' = z + Phi(z, a) W_s,    r = Phi(z, a) W_r,    W = (lambda I + Phi'Phi)^-1 Phi'y,    z = (s - m) / scale

One step of a machine moves its state a little, and smoothly: a few hundred transitions are enough to predict
it to a percent or better, while a value has edges that take thousands. So values are looked up where the
model says that an action leads (`support`), instead of being regressed on actions.

States are measured in standard deviations of the data, changes and rewards likewise: units do not matter.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from emuq.planning import transitions
from emuq.planning.transitions import Transitions

ROWS = 2048  # transitions that a model is fitted to, at most: evenly spaced in time, so that cost is bounded
STATE_SCALE = 3.0  # the features' lengthscale over states, in standard deviations
MIXTURE = 0.7  # each frequency has a scale of its own, within exp(+-MIXTURE) of that
RIDGE = 1e-4  # lambda: noise is small, since most environments are simulated
LEAST = 1e-6  # a scale is at least this: a dimension that never changes is no division by zero


class Model(NamedTuple):
    """What predicts a transition. All arrays are in single precision."""

    frequencies: Float[Array, "j d"]  # of (z, a), a in [0, 1]
    weights: Float[Array, "m o"]  # columns: the changes of z in units of `change`, then the reward
    mean: Float[Array, " ds"]
    scale: Float[Array, " ds"]
    change: Float[Array, " ds"]
    reward: Float[Array, " 2"]  # mean and scale of rewards that did not end an episode


class Sample(NamedTuple):
    """The transitions that a model is fitted to: the rows of arrays, and which of them are data."""

    states: Float[Array, "r ds"]
    actions: Float[Array, "r da"]
    rewards: Float[Array, " r"]
    following: Float[Array, "r ds"]
    terminal: Bool[Array, " r"]
    mask: Bool[Array, " r"]
    returns: Float[Array, " r"]  # discounted, that were seen to follow; -inf where none was yet


def draw_frequencies(
    rng: np.random.Generator, number: int, state_dim: int, action_dim: int
) -> Float[Array, "j d"]:
    """Frequencies of an RBF kernel over standardised states and over actions in [0, 1]."""
    scales = np.exp(rng.uniform(-MIXTURE, MIXTURE, (number, 1))) / STATE_SCALE
    state = rng.standard_normal((number, state_dim)) * scales
    return jnp.asarray(np.concatenate([state, rng.standard_normal((number, action_dim))], 1), jnp.float32)


def empty(frequencies: Float[Array, "j d"], state_dim: int) -> Model:
    """A model of no data: nothing moves, nothing pays."""
    zeros = jnp.zeros(state_dim, jnp.float32)
    weights = jnp.zeros((2 * frequencies.shape[0], state_dim + 1), jnp.float32)
    return Model(frequencies, weights, zeros, zeros + 1, zeros + 1, jnp.zeros(2, jnp.float32))


def sample(data: Transitions, discount: float) -> Sample:
    """All transitions, or `ROWS` of them at even distances."""
    number = min(ROWS, data.capacity)
    at = spread(number, data.count)
    rows = (x[at] for x in (data.states, data.actions, data.rewards, data.next_states, data.terminal))
    # W is what a state is worth to whoever arrives there: a step later than to whoever acts in it.
    seen = (discount * transitions.returns(data, discount)[at]).astype(jnp.float32)
    return Sample(*rows, mask=jnp.arange(number) < data.count, returns=seen)


def spread(number: int, count: Int[Array, ""]) -> Int[Array, " n"]:
    """`number` of `count` places, evenly: 0, 1, 2, ... where there are not more, and then places beyond."""
    places = jnp.arange(number)
    far = (places.astype(jnp.float64) * (count / number)).astype(places.dtype)
    return jnp.where(count > number, far, places)


def fit(frequencies: Float[Array, "j d"], rows: Sample) -> Model:
    """The model of these transitions. O(R M^2)."""
    mask = rows.mask.astype(jnp.float64)
    states, following = rows.states.astype(jnp.float64), rows.following.astype(jnp.float64)
    mean, scale = moments(states, mask)
    z, moved = (states - mean) / scale, (following - states) / scale
    _, change = moments(moved, mask)
    goes_on = mask * ~rows.terminal
    pay, spread = moments(rows.rewards.astype(jnp.float64)[:, None], goes_on)
    phi = features(frequencies, z, rows.actions).astype(jnp.float64)
    # A step that ends an episode is taken to pay what others do: what the end itself is worth is told apart.
    rewards = jnp.where(rows.terminal[:, None], 0.0, (rows.rewards[:, None] - pay) / spread)
    weights = regress(phi, jnp.concatenate([moved / change, rewards], axis=1), mask)
    low = (x.astype(jnp.float32) for x in (weights, mean, scale, change, jnp.concatenate([pay, spread])))
    return Model(frequencies, *low)


def moments(
    x: Float[Array, "r d"], mask: Float[Array, " r"]
) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
    """Mean and standard deviation of the rows that count."""
    number = jnp.maximum(jnp.sum(mask), 1.0)
    mean = mask @ x / number
    return mean, jnp.maximum(jnp.sqrt(mask @ (x - mean) ** 2 / number), LEAST)


def regress(
    phi: Float[Array, "r m"], y: Float[Array, "r o"], mask: Float[Array, " r"]
) -> Float[Array, "m o"]:
    """(lambda I + Phi'Phi)^-1 Phi'y over the rows that count, in double precision. O(R M^2)."""
    rows = phi * mask[:, None]
    factor = jnp.linalg.cholesky(RIDGE * jnp.eye(phi.shape[1]) + rows.T @ rows)
    return jax.scipy.linalg.cho_solve((factor, True), rows.T @ y)


def features(
    frequencies: Float[Array, "j d"], z: Float[Array, "*n ds"], actions: Float[Array, "*n da"]
) -> Float[Array, "*n m"]:
    """[cos, sin] of every frequency, of norm 1."""
    low = jnp.float32
    angle = jnp.concatenate([z.astype(low), actions.astype(low)], axis=-1) @ frequencies.T
    norm = np.float32(frequencies.shape[0] ** -0.5)
    return norm * jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], axis=-1)


def predict(
    model: Model, z: Float[Array, "*n ds"], actions: Float[Array, "*n da"]
) -> tuple[Float[Array, "*n ds"], Float[Array, "*n"]]:
    """z' and r of these actions at these states (standardised)."""
    found = features(model.frequencies, z, actions) @ model.weights
    return z + found[..., :-1] * model.change, model.reward[0] + found[..., -1] * model.reward[1]


def standardised(model: Model, states: Float[Array, "*n ds"]) -> Float[Array, "*n ds"]:
    """z = (s - mean) / scale."""
    return (states.astype(jnp.float32) - model.mean) / model.scale


def error(model: Model, rows: Sample) -> Float[Array, ""]:
    """The root mean square error of predicted changes, in standard deviations of a change."""
    z = standardised(model, rows.states)
    wrong = (predict(model, z, rows.actions)[0] - standardised(model, rows.following)) / model.change
    squares = jnp.mean(wrong**2, axis=-1)
    return jnp.sqrt(jnp.sum(jnp.where(rows.mask, squares, 0.0)) / jnp.maximum(jnp.sum(rows.mask), 1))
