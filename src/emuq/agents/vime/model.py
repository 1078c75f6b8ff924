"""A Bayesian neural network of the dynamics, and what a transition teaches it (Houthooft et al., 2016).

Weights are independent Gaussians, w ~ N(mu, sigma^2) with sigma = log(1 + exp(rho)); a network that
maps a normalised (s, a) to a normalised s' is fitted by minimising

    L = KL[q(w) || N(0, prior_sd^2)] / N - E_q log N(s' | f(s, a; w), likelihood_sd^2)

with the local reparametrisation: a layer's outputs are sampled, not its weights. The information gain of
one transition is the KL divergence between the posteriors after and before one Newton step of length
lambda on its log-likelihood alone, to second order:

    KL ~ lambda^2 / 2  g' H^-1 g,    H^-1 = sigma^2 for mu,  sigma^2 / (2 sigma'(rho)^2) for rho
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


class Layer(NamedTuple):
    """Mean and rho of a layer's weights; the last row is the bias."""

    mean: Float[Array, "i o"]
    rho: Float[Array, "i o"]


Network = tuple[Layer, ...]
Noise = tuple[Any, ...]


class Prior(NamedTuple):
    """The published values."""

    prior_sd: float = 0.5
    likelihood_sd: float = 5.0
    samples: int = 10
    newton_step: float = 0.01  # lambda


def init(rng: np.random.Generator, sizes: tuple[int, ...], sd: float) -> Network:
    """Means drawn from N(0, 1 / inputs), every weight's standard deviation `sd`."""
    rho = float(np.log(np.expm1(sd)))
    return tuple(
        Layer(jnp.asarray(rng.standard_normal((i + 1, o)) / np.sqrt(i + 1)), jnp.full((i + 1, o), rho, float))
        for i, o in itertools.pairwise(sizes)
    )


def sample(network: Network, x: Float[Array, "*n i"], noise: Noise) -> Float[Array, "*m n o"]:
    """Outputs for weights drawn anew for every row of `noise`: normal numbers, for each layer's outputs."""
    for n, layer in enumerate(network):
        x = jnp.concatenate([jax.nn.relu(x) if n else x, jnp.ones((*x.shape[:-1], 1))], -1)
        variance = jnp.square(x) @ jnp.square(jax.nn.softplus(layer.rho))
        x = x @ layer.mean + jnp.sqrt(variance) * noise[n]
    return x


def log_likelihood(prior: Prior, network: Network, x: Array, y: Array, noise: Noise) -> Float[Array, "*n"]:
    """E_q log N(y | f(x; w), likelihood_sd^2), up to a constant, averaged over the noise's first axis."""
    errors = jnp.square(sample(network, x, noise) - y).sum(-1)
    return -0.5 * errors.mean(0) / prior.likelihood_sd**2


def divergence(prior: Prior, network: Network) -> Float[Array, ""]:
    """KL[q(w) || N(0, prior_sd^2)], in closed form."""

    def layer(part: Layer) -> Array:
        ratio = jax.nn.softplus(part.rho) / prior.prior_sd
        return 0.5 * jnp.sum(ratio**2 + jnp.square(part.mean / prior.prior_sd) - 1) - jnp.sum(jnp.log(ratio))

    return sum((layer(part) for part in network), jnp.zeros(()))


def loss(
    prior: Prior, network: Network, x: Array, y: Array, count: Int[Array, ""], noise: Noise
) -> Float[Array, ""]:
    """L of a minibatch, for `count` transitions in all."""
    return divergence(prior, network) / count - log_likelihood(prior, network, x, y, noise).mean()


def information_gain(prior: Prior, network: Network, x: Array, y: Array, noise: Noise) -> Float[Array, ""]:
    """lambda^2 / 2 g' H^-1 g for one transition. O(samples x weights)."""
    gradient = jax.grad(lambda net: log_likelihood(prior, net, x, y, noise))(network)
    total = jnp.zeros(())
    for g, part in zip(gradient, network, strict=True):
        variance = jnp.square(jax.nn.softplus(part.rho))
        total += jnp.sum(jnp.square(g.mean) * variance)
        total += jnp.sum(jnp.square(g.rho) * variance / (2 * jnp.square(jax.nn.sigmoid(part.rho))))
    return 0.5 * prior.newton_step**2 * total
