"""Acting on Q + kappa U, and what an agent tells about its values.

a = argmax_a Q(s, a) + kappa U(s, a)                                (equation 13)
a = argmax_a Q(s, a) + kappa (U(s, a) - c e(a) range_a U(s, a))     with a price c of effort (`effort`)

The effort e(a) is 0 at rest and 1 with all actuators at their limits, so that one that adds little to U
stays near rest. Only acting has this price: U itself is the value of exploring at its best. U is linear in
features; Q is one of the two:

    looking ahead   r(s, a) + W(f(s, a)), of the newest look; at kappa = 0 what `planning.search` finds
    none            linear in these features, as in the paper: with `lookahead=0`, and before the first look
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from emuq.agents.emuq.state import State
from emuq.agents.ties import argmax_by_bits
from emuq.linear import posterior
from emuq.linear.features import scores, state_part
from emuq.linear.hashing import Word, random_bits
from emuq.planning import search, support
from emuq.planning.support import Lookahead
from emuq.planning.targets import balance, in_units


def act(
    state: State, observation: Float[Array, " ds"], kappa: Float[Array, ""], looks: bool
) -> Int[Array, ""]:
    """argmax over the candidate actions of Q + kappa U (equation 13), as an index; O(K M).

    Q is that of the newest look, if an agent `looks` ahead.
    """
    return act_on(state, state.lookahead if looks else None, observation, kappa)


def act_on(
    state: State, policy: Lookahead | None, observation: Float[Array, " ds"], kappa: Float[Array, ""]
) -> Int[Array, ""]:
    """As `act`, for a caller who has the policy whose Q it is; None: Q is linear in its weights."""
    basis, kappa = state.basis, in_units(kappa, state.q_bounds)
    part = state_part(basis.features, observation)
    q_weights, u_weights = state.blocked.weights.T
    if policy is None and basis.prices is None:  # both are linear in their weights: one product serves
        weights = balance(q_weights, u_weights, kappa)
        return _best(state, scores(basis.features, part, basis.candidates, weights))
    u = scores(basis.features, part, basis.candidates, u_weights)
    if policy is None:
        q = scores(basis.features, part, basis.candidates, q_weights)
    else:
        q = ahead(policy, observation, kappa, _word(state)).astype(u.dtype)
    if basis.prices is not None:  # Q is never priced
        u = u - basis.prices * jnp.ptp(u)
    return _best(state, balance(q, u, kappa))


def ahead(
    policy: Lookahead, observation: Float[Array, " ds"], kappa: Float[Array, ""], word: Word
) -> Float[Array, " k"]:
    """Q of each candidate action: one step ahead while exploring, else as far as the model is good for."""
    return jax.lax.cond(
        (policy.reach > 1) & (kappa == 0),
        lambda: search.action_values(policy, observation, word),
        lambda: support.action_values(policy, observation),
    )


def values(state: State, observation: Float[Array, "n ds"], action: Float[Array, "n da"], looks: bool):
    """Q (of one step ahead, where it looks ahead), U and the variance phi'S phi, for each row."""
    phi = state.basis.features(observation, action)
    low = phi.astype(state.form.dtype)
    waiting = jnp.sum((low @ state.blocked.rows.T) ** 2, axis=-1)
    variance = (posterior.variance(state.blocked.covariance, low) - waiting).astype(phi.dtype)
    if looks:
        q = support.values(state.lookahead, observation, action).astype(phi.dtype)
    else:
        q = phi @ state.blocked.weights[:, 0]
    return q, phi @ state.blocked.weights[:, 1], variance


def _best(state: State, total: Float[Array, " k"]) -> Int[Array, ""]:
    """argmax; among equals a random one, drawn from the agent's key and the number of transitions."""
    # By the number of transitions, so that any loop over the same data acts the same.
    bits = random_bits(_word(state), state.data.count.astype(jnp.uint32), total.shape[0])
    return argmax_by_bits(total, bits)


def _word(state: State) -> Word:
    return jax.random.key_data(state.key)[-1]
