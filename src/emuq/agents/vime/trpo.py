"""Trust-region policy optimisation with a Gaussian policy (Schulman et al., 2015, 2016).

    maximise  E[pi(a | s) / pi_old(a | s) A]   subject to  E KL[pi_old || pi] <= step

by one natural-gradient step (conjugate gradients on the Fisher matrix) and a backtracking line search.
Advantages A are GAE(lambda) over a value function that is linear in [s, s^2, t, t^2, t^3, 1], fitted in
closed form: with so little data a network would be one more thing to tune.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.scipy.sparse.linalg import cg
from jaxtyping import Array, Bool, Float, Int


class Policy(NamedTuple):
    """a ~ N(W2 tanh(W1 s + b1) + b2, exp(log_sd)^2)."""

    w1: Float[Array, "ds h"]
    b1: Float[Array, " h"]
    w2: Float[Array, "h da"]
    b2: Float[Array, " da"]
    log_sd: Float[Array, " da"]


class Trust(NamedTuple):
    """The published values."""

    step: float = 0.01
    iterations: int = 10  # of conjugate gradients
    damping: float = 1e-5
    backtrack: float = 0.8
    tries: int = 15


def init(rng: np.random.Generator, state_dim: int, action_dim: int, hidden: int) -> Policy:
    """Actions near 0 with standard deviation 1, in units of half the action box."""
    return Policy(
        jnp.asarray(rng.standard_normal((state_dim, hidden)) / np.sqrt(state_dim)),
        jnp.zeros(hidden),
        jnp.asarray(0.1 * rng.standard_normal((hidden, action_dim)) / np.sqrt(hidden)),
        jnp.zeros(action_dim),
        jnp.zeros(action_dim),
    )


def mean(policy: Policy, s: Float[Array, "*n ds"]) -> Float[Array, "*n da"]:
    return jnp.tanh(s @ policy.w1 + policy.b1) @ policy.w2 + policy.b2


def log_probability(policy: Policy, s: Array, a: Array) -> Float[Array, "*n"]:
    """log pi(a | s), up to a constant."""
    z = (a - mean(policy, s)) / jnp.exp(policy.log_sd)
    return -0.5 * jnp.square(z).sum(-1) - policy.log_sd.sum()


def divergence(old: Policy, new: Policy, s: Array) -> Float[Array, ""]:
    """The mean of KL[pi_old(. | s) || pi_new(. | s)] over states."""
    gap = jnp.square(mean(old, s) - mean(new, s)) + jnp.exp(2 * old.log_sd)
    each = new.log_sd - old.log_sd + gap / (2 * jnp.exp(2 * new.log_sd)) - 0.5
    return each.sum(-1).mean()


def improve(trust: Trust, policy: Policy, s: Array, a: Array, advantage: Array) -> Policy:
    """One TRPO step; the old policy where no try both improves the objective and keeps to the region."""
    flat, unravel = ravel_pytree(policy)
    before = log_probability(policy, s, a)

    def objective(theta: Array) -> Array:
        return jnp.mean(jnp.exp(log_probability(unravel(theta), s, a) - before) * advantage)

    def constraint(theta: Array) -> Array:
        return divergence(policy, unravel(theta), s)

    def fisher(v: Array) -> Array:
        return jax.jvp(jax.grad(constraint), (flat,), (v,))[1] + trust.damping * v

    start, gradient = jax.value_and_grad(objective)(flat)
    direction, _ = cg(fisher, gradient, tol=0.0, maxiter=trust.iterations)
    curvature = jnp.maximum(direction @ fisher(direction), 1e-30)
    full = jnp.sqrt(2 * trust.step / curvature) * direction

    def good(i: Array) -> Array:
        theta = flat + trust.backtrack**i * full
        return (objective(theta) > start) & (constraint(theta) <= trust.step)

    i = jax.lax.while_loop(lambda i: (i < trust.tries) & ~good(i), lambda i: i + 1, jnp.zeros((), int))
    return unravel(jnp.where(i < trust.tries, flat + trust.backtrack**i * full, flat))


def value_features(s: Float[Array, "n ds"], t: Int[Array, " n"]) -> Float[Array, "n f"]:
    time = (t / 100)[:, None]
    return jnp.concatenate([s, s**2, time, time**2, time**3, jnp.ones_like(time)], -1)


def fit_values(features: Float[Array, "n f"], returns: Float[Array, " n"]) -> Float[Array, " f"]:
    """Ridge regression of returns."""
    gram = features.T @ features + 1e-5 * len(returns) * jnp.eye(features.shape[1])
    return jnp.linalg.solve(gram, features.T @ returns)


def advantages(
    rewards: Float[Array, " n"],
    values: Float[Array, " n"],
    next_values: Float[Array, " n"],
    terminated: Bool[Array, " n"],
    over: Bool[Array, " n"],
    discount: float,
    trace: float,
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """GAE(trace), and discounted returns. Both stop where an episode is over; a cut one bootstraps."""
    ahead = jnp.where(terminated, 0.0, next_values)
    errors = rewards + discount * ahead - values

    def back(carry, x):
        advantage, future = carry
        error, reward, bootstrap, end = x
        advantage = error + discount * trace * jnp.where(end, 0.0, advantage)
        future = reward + discount * jnp.where(end, bootstrap, future)
        return (advantage, future), (advantage, future)

    last = (jnp.zeros(()), ahead[-1])
    _, (advantage, returns) = jax.lax.scan(back, last, (errors, rewards, ahead, over), reverse=True)
    return advantage, returns
