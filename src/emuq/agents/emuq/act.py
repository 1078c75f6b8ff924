"""Acting on Q + kappa U, and what an agent tells about its values.

a = argmax_a Q(s, a) + kappa U(s, a)                                (equation 13)
a = argmax_a Q(s, a) + kappa (U(s, a) - c e(a) range_a U(s, a))     with a price c of effort (`effort`)

The effort e(a) is 0 at rest and 1 with all actuators at their limits, so that one that adds little to U
stays near rest. Only acting has this price: U itself is the value of exploring at its best. At kappa = 0 an
agent acts on the newest weights or on a policy of the `contest`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from emuq.agents.emuq import contest
from emuq.agents.emuq.contest import GreedyPolicy
from emuq.agents.emuq.state import State
from emuq.agents.ties import argmax_by_uniform
from emuq.linear import posterior
from emuq.linear.features import scores, state_part
from emuq.planning.targets import balance


def act(state: State, observation: Float[Array, " ds"], kappa: Float[Array, ""]) -> Int[Array, ""]:
    """argmax over the candidate actions of Q + kappa U (equation 13), as an index; O(K M).

    At kappa = 0 the policy acts whose turn it is, which may be one that is not trusted yet.
    """
    playing = state.contest
    return _either(state, contest.player(playing), playing.turn != contest.NEWEST, observation, kappa)


def act_greedily(state: State, observation: Float[Array, " ds"], kappa: Float[Array, ""]) -> Int[Array, ""]:
    """As `act`, but at kappa = 0 the trusted policy acts if there is one: what a user is given."""
    return _either(state, state.contest.trusted, state.contest.trials > 0, observation, kappa)


def act_on(
    state: State, policy: GreedyPolicy | None, observation: Float[Array, " ds"], kappa: Float[Array, ""]
) -> Int[Array, ""]:
    """As `act`, for a caller who knows which policy acts: this one, or None, the newest weights.

    A program with both in it would copy the arrays of both at every step.
    """
    total = _newest(state, observation, kappa) if policy is None else _votes(state, policy, observation)
    return _best(state, total)


def newest(state: State) -> GreedyPolicy:
    """The newest weights of Q, as a policy."""
    basis, weights = state.basis, state.blocked.weights[:, 0]
    return GreedyPolicy(basis.features, basis.candidates, weights, jnp.zeros(1, bool))


def action_values(policy: GreedyPolicy, observation: Float[Array, " ds"]) -> Float[Array, " k"]:
    """Q(s, a) of each candidate action."""
    part = state_part(policy.features, observation)
    return scores(policy.features, part, policy.candidates, policy.weights)


def values(state: State, observation: Float[Array, "n ds"], action: Float[Array, "n da"]):
    """Q (whose argmax is what kappa = 0 does), U and the variance phi'S phi, for each row."""

    def q(policy: GreedyPolicy) -> Float[Array, " n"]:
        return policy.features(observation, action) @ policy.weights

    phi = state.basis.features(observation, action)
    low = phi.astype(state.form.dtype)
    waiting = jnp.sum((low @ state.blocked.rows.T) ** 2, axis=-1)
    variance = (posterior.variance(state.blocked.covariance, low) - waiting).astype(phi.dtype)
    is_trusted, trusted = state.contest.trials > 0, state.contest.trusted
    q_values = jax.lax.cond(is_trusted, lambda: q(trusted), lambda: q(newest(state)))
    return q_values, phi @ state.blocked.weights[:, 1], variance


def _votes(state: State, policy: GreedyPolicy, observation: Float[Array, " ds"]) -> Float[Array, " k"]:
    return action_values(contest.vote(policy, state.key, observation), observation)


def _newest(state: State, observation, kappa) -> Float[Array, " k"]:
    """Q + kappa (U - what the action costs): Q is never priced."""
    policy, u_weights = newest(state), state.blocked.weights[:, 1]
    if state.basis.prices is None:  # both values are linear in their weights: one product serves for the sum
        weights = balance(policy.weights, u_weights, kappa)
        return action_values(policy._replace(weights=weights), observation)
    q, u = (action_values(policy._replace(weights=w), observation) for w in (policy.weights, u_weights))
    return balance(q, u - state.basis.prices * jnp.ptp(u), kappa)


def _either(state: State, policy: GreedyPolicy, acts: Bool[Array, ""], observation, kappa) -> Int[Array, ""]:
    """argmax of Q + kappa U on the newest weights, or at kappa = 0 of Q on a policy, if it `acts`."""
    return _best(
        state,
        jax.lax.cond(
            acts & (kappa == 0),
            lambda: _votes(state, policy, observation),
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
