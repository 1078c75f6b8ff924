"""Acting on Q + kappa U, and what an agent tells about its values.

a = argmax_a Q(s, a) + kappa U(s, a)                                (equation 13)
a = argmax_a Q(s, a) + kappa (U(s, a) - c e(a) range_a U(s, a))     with a price c of effort (`effort`)

The effort e(a) is 0 at rest and 1 with all actuators at their limits, so that one that adds little to U
stays near rest. Only acting has this price: U itself is the value of exploring at its best. At kappa = 0 an
agent looks ahead: Q is then that of the policy which it trusts, or of the newest plan (`trust`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from emuq.agents.emuq import trust
from emuq.agents.emuq.state import State
from emuq.agents.ties import argmax_by_uniform
from emuq.linear import posterior
from emuq.linear.features import scores, state_part
from emuq.planning import support
from emuq.planning.support import Lookahead
from emuq.planning.targets import balance, in_units


def act(
    state: State, observation: Float[Array, " ds"], kappa: Float[Array, ""], looks: bool
) -> Int[Array, ""]:
    """argmax over the candidate actions of Q + kappa U (equation 13), as an index; O(K M).

    At kappa = 0 an agent that `looks` ahead acts on the policy whose episode it is, which may be on trial.
    """
    return _either(state, trust.player(state.trust, state.lookahead), observation, kappa, looks)


def act_greedily(
    state: State, observation: Float[Array, " ds"], kappa: Float[Array, ""], looks: bool
) -> Int[Array, ""]:
    """As `act`, but at kappa = 0 the trusted policy acts if there is one: what a user is given."""
    return _either(state, trust.best(state.trust, state.lookahead), observation, kappa, looks)


def act_on(
    state: State, policy: Lookahead | None, observation: Float[Array, " ds"], kappa: Float[Array, ""]
) -> Int[Array, ""]:
    """As `act`, for a caller who knows which policy acts: this one, or None, the newest weights.

    A program with both in it would copy the arrays of both at every step.
    """
    if policy is None:
        return _best(state, _newest(state, observation, kappa))
    return _best(state, support.action_values(policy, observation))


def values(state: State, observation: Float[Array, "n ds"], action: Float[Array, "n da"], looks: bool):
    """Q (whose argmax is what kappa = 0 does), U and the variance phi'S phi, for each row."""
    phi = state.basis.features(observation, action)
    low = phi.astype(state.form.dtype)
    waiting = jnp.sum((low @ state.blocked.rows.T) ** 2, axis=-1)
    variance = (posterior.variance(state.blocked.covariance, low) - waiting).astype(phi.dtype)
    if looks:
        best = trust.best(state.trust, state.lookahead)
        q = support.values(best, observation, action).astype(phi.dtype)
    else:
        q = phi @ state.blocked.weights[:, 0]
    return q, phi @ state.blocked.weights[:, 1], variance


def _newest(state: State, observation, kappa) -> Float[Array, " k"]:
    """Q + kappa (U - what the action costs): Q is never priced."""
    basis, kappa = state.basis, in_units(kappa, state.q_bounds)
    part = state_part(basis.features, observation)
    q_weights, u_weights = state.blocked.weights.T
    if basis.prices is None:  # both values are linear in their weights: one product serves for the sum
        weights = balance(q_weights, u_weights, kappa)
        return scores(basis.features, part, basis.candidates, weights)
    q, u = (scores(basis.features, part, basis.candidates, w) for w in (q_weights, u_weights))
    return balance(q, u - basis.prices * jnp.ptp(u), kappa)


def _either(state: State, policy: Lookahead, observation, kappa, looks: bool) -> Int[Array, ""]:
    """argmax of Q + kappa U on the newest weights, or at kappa = 0 of a policy's Q, if the agent `looks`."""
    return _best(
        state,
        jax.lax.cond(
            (kappa == 0) & looks,
            lambda: support.action_values(policy, observation).astype(observation.dtype),
            lambda: _newest(state, observation, kappa),
        ),
    )


def _best(state: State, total: Float[Array, " k"]) -> Int[Array, ""]:
    """argmax; among equals a random one, drawn from the agent's key and the number of transitions."""

    # A key for each transition, so that any loop over the same data acts the same.
    def draw() -> Int[Array, ""]:
        key = jax.random.fold_in(state.key, state.data.count)
        return argmax_by_uniform(total, jax.random.uniform(key, total.shape))

    # Drawing takes long, and ties are rare.
    return jax.lax.cond(jnp.sum(total >= jnp.max(total)) > 1, draw, lambda: jnp.argmax(total))
