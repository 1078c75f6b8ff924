"""What an agent learns from a transition, as pure functions of its state (Algorithm 2, lines 7 to 12).

    begin     an episode begins
    observe   a transition: `update` of S, m_Q and m_U, and `store` among the data
    fold      S takes in the updates that wait
    finish    an episode is over

An observation costs two matrix-vector products: S phi, for the update of the posterior, and T z, for the
exploration reward in closed form. The rank-1 terms of S wait until `fold` takes many of them in at once.

States and actions are scaled to [0, 1] here; a discrete action is a one-hot vector. Exploration
rewards are divided by V_max = 1 / alpha, so that kappa = 1 is the paper's 1 / V_max.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from emuq.agents.emuq.options import Options
from emuq.agents.emuq.state import State
from emuq.linear import expectation, posterior
from emuq.linear.expectation import angles, expected_variance, quadratic_form, rounded
from emuq.linear.features import Part, combine, scores, state_part
from emuq.planning import transitions
from emuq.planning.targets import balance, in_units, widen

ROUNDED = 1e-5  # an exploration reward so near to 0 is 0: single precision knows it no better


def begin(state: State, observation: Float[Array, " ds"]) -> State:
    """An episode begins here."""
    return state._replace(start=observation)


def observe(
    state: State,
    observation: Float[Array, " ds"],
    action: Float[Array, " da"],
    reward: Float[Array, ""],
    following: Float[Array, " ds"],
    terminal: Bool[Array, ""],
    kappa: Float[Array, ""],
    options: Options,
) -> State:
    """Store the transition and make one rank-1 update of S, m_Q and m_U. O(M^2), reading only."""
    transition = observation, action, reward, following, terminal
    data = transitions.append(state.data, *transition)
    return update(state, *transition, kappa, options)._replace(data=data)


def update(
    state: State,
    observation: Float[Array, " ds"],
    action: Float[Array, " da"],
    reward: Float[Array, ""],
    following: Float[Array, " ds"],
    terminal: Bool[Array, ""],
    kappa: Float[Array, ""],
    options: Options,
) -> State:
    """One rank-1 update of S, m_Q and m_U: all of `observe` but the data."""
    basis, rules = state.basis, options.rules
    following = _goes_on(state.start, following, terminal, options)
    phi = basis.features(observation, action)
    part = state_part(basis.features, following)
    q, u = (scores(basis.features, part, basis.candidates, w) for w in state.blocked.weights.T)
    best_u = jnp.argmax(balance(q, u, in_units(kappa, state.q_bounds)))
    best_q = jnp.argmax(q) if options.q_policy == "own" else best_u
    goes_on = 1.0 - terminal.astype(phi.dtype)
    q_bounds = widen(state.q_bounds, reward, terminal, rules.discount)
    target_q = reward + rules.discount * goes_on * jnp.clip(q[best_q], *q_bounds)
    # One product for phi and the nodes: every use of the rows then comes before the new one is written, and
    # XLA writes it in place instead of copying all of them.
    low = rounded(part, state.form.dtype)
    table = jnp.concatenate([phi.astype(low.cos.dtype)[None], _at_nodes(state, low)])
    projections = state.blocked.rows @ table.T
    r_e = _exploration_reward(state, low, projections[:, 1:], options)
    u_goes_on = goes_on if rules.u_stops else 1.0
    target_u = r_e + rules.u_discount * u_goes_on * jnp.clip(u[best_u], *rules.u_bounds)
    target = jnp.stack([target_q, target_u])
    blocked = posterior.update_blocked(state.blocked, phi, target, options.noise_precision, projections[:, 0])
    return state._replace(blocked=blocked, q_bounds=q_bounds)


def exploration_reward(state: State, following: Part, options: Options) -> Float[Array, ""]:
    """r^e(s') = E_a[V[Q(s', a)]] / V_max - 1 from the part of s', by this moment's posterior (eq. 14)."""
    low = rounded(following, state.form.dtype)
    return _exploration_reward(state, low, state.blocked.rows @ _at_nodes(state, low).T, options)


def _at_nodes(state: State, part: Part) -> Float[Array, "q m"]:
    """phi(s, a_q) at the quadrature nodes, in the precision of the state's part."""
    nodes = Part(*(x.astype(part.cos.dtype) for x in state.basis.nodes))
    return combine(state.basis.features, part, nodes)


def _exploration_reward(
    state: State, part: Part, projections: Float[Array, "b q"], options: Options
) -> Float[Array, ""]:
    basis = state.basis
    z = angles(basis.moments, part).astype(state.form.dtype)
    waiting = expectation.sampled_reduction(projections, basis.node_weights)
    expected = expected_variance(state.form, z).astype(waiting.dtype) - waiting
    reward = jnp.clip(expected * options.prior_precision / basis.features.norm, 0.0, 1.0) - 1.0
    # The first transition leads to a state of which nothing is known. Were its reward not 0 but what is
    # rounded, all actions would differ by that, and the next one be another on every machine.
    return jnp.where(reward > -ROUNDED, 0.0, reward)


def finish(state: State) -> State:
    """An episode is over: returns are seen along its transitions."""
    return state._replace(data=transitions.end(state.data))


def fold(state: State) -> State:
    """S_0 takes in the rows that wait, and T is made anew. O(b M^2), once in b steps."""
    blocked = posterior.fold(state.blocked)
    basis = state.basis
    form = quadratic_form(basis.features, basis.moments, blocked.covariance)
    return state._replace(blocked=blocked, form=form)


def _goes_on(start: Float[Array, " ds"], following, terminal, options: Options) -> Float[Array, " ds"]:
    if options.exploration_end != "reset":
        return following
    # Exploration goes on in the next episode, which starts where this one did (Deviation 7).
    return jnp.where(terminal, start, following)
