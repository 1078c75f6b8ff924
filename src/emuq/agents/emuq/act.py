"""Acting on Q + kappa U, and which policy of Q an exploiting episode acts on.

a = argmax_a Q(s, a) + kappa U(s, a)                                (equation 13)
a = argmax_a Q(s, a) + kappa (U(s, a) - c e(a) range_a U(s, a))     with a price c of effort (`effort`)

The effort e(a) is 0 at rest and 1 with all actuators at their limits, so that one that adds little to U stays
near rest. Only acting has this price: U itself is the value of exploring at its best.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from emuq.agents.emuq import held as holding
from emuq.agents.emuq.held import Held, Policy
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.state import State
from emuq.linear.features import scores, state_part
from emuq.planning.targets import balance


def act(state: State, observation: Float[Array, " ds"], kappa: Float[Array, ""]) -> Int[Array, ""]:
    """argmax over the candidates of Q + kappa U (equation 13), as an index; O(K M).

    While learning at kappa = 0, an episode may try a policy before it is trusted (see `held`).
    """
    acting = holding.reduced(state.held)
    return _either(state, acting.policy, acting.turn != holding.LIVE, observation, kappa)


def greedy(state: State, observation: Float[Array, " ds"], kappa: Float[Array, ""]) -> Int[Array, ""]:
    """As `act`, on the policy that is trusted most: what a user is given."""
    return _either(state, state.held.policy, state.held.trials > 0, observation, kappa)


def follow(
    state: State, kept: Policy | None, observation: Float[Array, " ds"], kappa: Float[Array, ""]
) -> Int[Array, ""]:
    """As `act`, for a caller who knows what it acts on: a policy that is kept, or None, the newest weights.

    A program with both in it would copy the arrays of both at every step.
    """
    total = _newest(state, observation, kappa) if kept is None else _votes(state, kept, observation)
    return _best(state, total)


def live(state: State) -> Policy:
    """The newest weights of Q."""
    return Policy(
        state.basis.features, state.basis.candidates, state.blocked.weights[:, 0], jnp.zeros(1, bool)
    )


def settled(
    state: State, length: Int[Array, ""], goal: Bool[Array, ""], exploited: Bool[Array, ""], options: Options
) -> Held:
    """What is held after an episode.

    Its worth is measured by what the held policy expected of the start: the newest weights, which every plan
    changes, would judge one episode by other standards than the next.
    """
    newest, kept = live(state), state.held.policy
    proven = state.held.trials > 0
    q = jax.lax.cond(proven, lambda: _scores(kept, state.start), lambda: _scores(newest, state.start))
    expected = jnp.clip(jnp.max(q), *state.q_bounds)
    value = jnp.where(goal, options.discount ** length.astype(q.dtype), 0.0) - expected
    of_its_size = holding.committee([newest] * options.members)
    return holding.when(exploited, holding.settle(state.held, of_its_size, value, goal), state.held)


def retry(state: State, policy: Policy, options: Options) -> State:
    """A trial that is about to begin is of this policy, restless while no episode has ended badly."""
    calm = jnp.any(state.data.terminal & (state.data.rewards <= 0)) | (not options.restless)
    policy = policy._replace(restless=jnp.broadcast_to(~calm, policy.restless.shape))
    return state._replace(held=holding.retry(state.held, policy, state.data.count))


def trusted(state: State, observation: Float[Array, "n ds"], action: Float[Array, "n da"]):
    """Q of what `greedy` acts on."""

    def q(policy: Policy) -> Float[Array, " n"]:
        return policy.features(observation, action) @ policy.weights

    return jax.lax.cond(state.held.trials > 0, lambda: q(state.held.policy), lambda: q(live(state)))


def _scores(policy: Policy, observation: Float[Array, " ds"]) -> Float[Array, " k"]:
    return scores(
        policy.features, state_part(policy.features, observation), policy.candidates, policy.weights
    )


def _votes(state: State, policy: Policy, observation: Float[Array, " ds"]) -> Float[Array, " k"]:
    return _scores(holding.voted(policy, state.key, observation), observation)


def _newest(state: State, observation, kappa) -> Float[Array, " k"]:
    """Q + kappa (U - what the action costs): Q is never priced."""
    policy, u_weights = live(state), state.blocked.weights[:, 1]
    if state.basis.prices is None:  # both values are linear in their weights: one product serves for the sum
        weights = balance(policy.weights, u_weights, kappa)
        return _scores(policy._replace(weights=weights), observation)
    q, u = (_scores(policy._replace(weights=w), observation) for w in (policy.weights, u_weights))
    return balance(q, u - state.basis.prices * jnp.ptp(u), kappa)


def _either(state: State, kept: Policy, is_kept: Bool[Array, ""], observation, kappa) -> Int[Array, ""]:
    """argmax of Q + kappa U on the newest weights, or at kappa = 0 of Q on a policy that is kept."""
    return _best(
        state,
        jax.lax.cond(
            is_kept & (kappa == 0),
            lambda: _votes(state, kept, observation),
            lambda: _newest(state, observation, kappa),
        ),
    )


def _best(state: State, total: Float[Array, " k"]) -> Int[Array, ""]:
    tied = total >= jnp.max(total)

    def draw() -> Int[Array, ""]:
        # A key for each transition, so that any loop over the same data acts the same.
        lottery = jax.random.uniform(jax.random.fold_in(state.key, state.data.count), total.shape)
        return jnp.argmax(jnp.where(tied, lottery, -1.0))

    return jax.lax.cond(jnp.sum(tied) > 1, draw, lambda: jnp.argmax(tied))  # ties are rare, lots are dear
