"""EMU-Q as pure functions over one immutable state (Algorithm 2 and Section 5).

    init -> State;   act(state, s) -> a;   observe(state, ...) -> State;   fold, plan -> State

Within an episode an observation costs two matrix-vector products: S phi, for the update of the
posterior, and T z, for the exploration reward in closed form. `fold` and `plan` are called by the loop
when they are due, so that a step never pays for them.

States and actions are scaled to [0, 1] here; a discrete action is a one-hot vector. Exploration
rewards are divided by V_max = 1 / alpha, so that kappa = 1 is the paper's 1 / V_max.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from emuq.agents.emuq.act import act, follow, greedy, live, retry, settled, trusted
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.refit import refit
from emuq.agents.emuq.state import Basis, Moving, State, draw_basis, init, join, read, split, streams, unread
from emuq.linear import expectation, posterior
from emuq.linear.expectation import angles, expected_variance, quadratic_form, rounded
from emuq.linear.features import Part, combine, scores, state_part
from emuq.linear.posterior import Blocked
from emuq.planning import transitions
from emuq.planning.iteration import policy_iteration
from emuq.planning.targets import Care, balance, exploration_rewards, restart, widen
from emuq.planning.transitions import Transitions

__all__ = [
    "Basis", "Moving", "State", "act", "begin", "draw_basis", "exploration_reward", "finish", "fold",
    "follow", "greedy", "init", "join", "learn", "live", "observe", "plan", "read", "retry",
    "settled", "split", "stored", "streams", "unread", "values",
]  # fmt: skip


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
    data = stored(state.data, state.start, *transition, options)
    return learn(state, *transition, kappa, options)._replace(data=data)


def stored(
    data: Transitions, start: Float[Array, " ds"], observation, action, reward, following, terminal, options
) -> Transitions:
    """The transition among the data."""
    following = _goes_on(start, following, terminal, options)
    return transitions.append(data, observation, action, reward, following, terminal)


def learn(
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
    best_u = jnp.argmax(balance(q, u, kappa))
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
    intrinsic, u_goes_on = restart(r_e, terminal, rules)
    target_u = intrinsic + rules.u_discount * u_goes_on * jnp.clip(u[best_u], *rules.u_bounds)
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
    held = expectation.sampled_reduction(projections, basis.node_weights)
    expected = expected_variance(state.form, z).astype(held.dtype) - held
    return jnp.clip(expected * options.prior_precision / basis.features.norm, 0.0, 1.0) - 1.0


def finish(
    state: State, length: Int[Array, ""], goal: Bool[Array, ""], exploited: Bool[Array, ""], options: Options
) -> State:
    """An episode is over; if all of it exploited, it tells how good its policy is."""
    state = state._replace(data=transitions.end(state.data))
    if not options.hold:
        return state
    return state._replace(held=settled(state, length, goal, exploited, options))


def fold(state: State) -> State:
    """Fold the rows held back into S, and make T anew. O(b M^2), once in b steps."""
    blocked = posterior.fold(state.blocked)
    basis = state.basis
    form = quadratic_form(basis.features, basis.moments, blocked.covariance)
    return state._replace(blocked=blocked, form=form)


def plan(state: State, kappa: Float[Array, ""], options: Options) -> State:
    """Refit S from all data, recompute every r^e, then policy iteration for Q and U (lines 15-18)."""
    basis, data, rules = state.basis, state.data, options.rules
    gram, covariance = refit(state, options)
    low = state.form.dtype
    form = quadratic_form(basis.features, basis.moments, covariance).astype(low)
    max_variance = basis.features.norm / options.prior_precision
    rewards = exploration_rewards(basis.features, basis.moments, form, max_variance, data, rules.chunk)
    q, u = state.blocked.weights[:, 0], state.blocked.weights[:, 1]
    # U is the value of exploring: while kappa is 0 it is kept for the moment kappa is turned up again.
    exploiting, kappa = kappa == 0, jnp.where(kappa > 0, kappa, 1.0)
    care = None
    if options.returns or options.caution:
        seen = transitions.returns(data, options.discount) if options.returns else -jnp.inf
        care = Care(
            jnp.where(exploiting, seen, jnp.full(data.capacity, -jnp.inf)),
            jnp.where(exploiting, options.caution * max_variance**0.5, 0.0),
        )
    new = policy_iteration(
        basis.features,
        basis.candidates,
        options.noise_precision * covariance,
        data,
        rewards,
        q,
        u,
        kappa,
        state.q_bounds,
        rules,
        exploiting,
        care,
    )
    blocked = Blocked(
        covariance.astype(low),
        jnp.stack([new.q_weights, new.u_weights], axis=-1),
        jnp.zeros_like(state.blocked.rows),
        jnp.zeros_like(state.blocked.used),
    )
    return state._replace(
        blocked=blocked,
        form=form,
        gram=gram,
        covariance=covariance,
        counted=data.count,
        converged=new.converged,
    )


def values(state: State, observation: Float[Array, "n ds"], action: Float[Array, "n da"]):
    """Q (whose argmax is what kappa = 0 does), U and the variance phi'S phi, for each row."""
    phi = state.basis.features(observation, action)
    low = phi.astype(state.form.dtype)
    held = jnp.sum((low @ state.blocked.rows.T) ** 2, axis=-1)
    variance = (posterior.variance(state.blocked.covariance, low) - held).astype(phi.dtype)
    return trusted(state, observation, action), phi @ state.blocked.weights[:, 1], variance


def _goes_on(start: Float[Array, " ds"], following, terminal, options: Options) -> Float[Array, " ds"]:
    if options.exploration_end != "reset":
        return following
    # Exploration goes on in the next episode, which starts where this one did (Deviation 7).
    return jnp.where(terminal, start, following)
