"""Acting on Q + kappa U, and which policy of Q an exploiting episode acts on.

a = argmax_a Q(s, a) + kappa U(s, a)        (equation 13)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from emuq.agents import held as holding
from emuq.agents.emuq_options import Options
from emuq.agents.emuq_state import State
from emuq.agents.held import Held, Policy
from emuq.bellman import balance
from emuq.features import scores, state_part

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int


def act(state: State, observation: Float[Array, " ds"], kappa: Float[Array, ""]) -> Int[Array, ""]:
    """argmax over the candidates of Q + kappa U (equation 13), as an index; O(K M).

    While learning at kappa = 0, an episode may try a policy before it is trusted (see `held`).
    """
    return _greedy(state, holding.acting(state.held, live(state)), observation, kappa)


def greedy(state: State, observation: Float[Array, " ds"], kappa: Float[Array, ""]) -> Int[Array, ""]:
    """As `act`, on the policy that is trusted most: what a user is given."""
    return _greedy(state, holding.trusted(state.held, live(state)), observation, kappa)


def live(state: State) -> Policy:
    """The newest weights of Q."""
    return Policy(state.basis.features, state.basis.candidates, state.blocked.weights[:, 0])


def settled(
    state: State, length: Int[Array, ""], goal: Bool[Array, ""], exploited: Bool[Array, ""], options: Options
) -> Held:
    """What is held after an episode."""
    newest = live(state)
    q = _scores(newest, state.start)
    expected = jnp.clip(jnp.max(q), *state.q_bounds)
    value = jnp.where(goal, options.discount ** length.astype(q.dtype), 0.0) - expected
    return holding.when(exploited, holding.settle(state.held, newest, value, goal), state.held)


def retry(state: State) -> State:
    """A trial that is about to begin is of the newest policy."""
    return state._replace(held=holding.retry(state.held, live(state)))


def _scores(policy: Policy, observation: Float[Array, " ds"]) -> Float[Array, " k"]:
    return scores(
        policy.features, state_part(policy.features, observation), policy.candidates, policy.weights
    )


def _greedy(state: State, exploiting: Policy, observation, kappa) -> Int[Array, ""]:
    policy = holding.when(kappa > 0, live(state), exploiting)
    # Both values are linear in their weights, so that one product serves for Q + kappa U.
    weights = balance(policy.weights, state.blocked.weights[:, 1], kappa)
    total = _scores(policy._replace(weights=weights), observation)
    tied = total >= jnp.max(total)

    def draw() -> Int[Array, ""]:
        # A key for each transition, so that any loop over the same data acts the same.
        lottery = jax.random.uniform(jax.random.fold_in(state.key, state.data.count), total.shape)
        return jnp.argmax(jnp.where(tied, lottery, -1.0))

    return jax.lax.cond(jnp.sum(tied) > 1, draw, lambda: jnp.argmax(tied))  # ties are rare, lots are dear
