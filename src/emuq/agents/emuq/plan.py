"""Planning: what is made from all data at once (Algorithm 2, lines 15 to 18).

    S = (alpha I + beta Phi'Phi)^-1,   r^e of every transition,   then policy iteration for Q and for U

and the same on other features, onto which the old values are regressed first (`transfer`). A draw of the
features may be an unlucky one: what it cannot tell apart is never explored, however long an agent tries. All
that an agent knows is in its transitions, so that another draw costs one pass over them. Of several draws to
exploit with, the one whose Q is nearest to the returns that were seen is the best bet: others promise too
much (`misfit`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from emuq.agents.emuq import contest
from emuq.agents.emuq.contest import GreedyPolicy
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.state import Basis, State, init
from emuq.linear import posterior
from emuq.linear.expectation import quadratic_form
from emuq.linear.posterior import Blocked
from emuq.planning import transitions
from emuq.planning.iteration import policy_iteration
from emuq.planning.targets import Care, exploration_rewards, num_chunks

FEW = 64  # new transitions that a plan adds to S without a factorisation


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


def refit(state: State, options: Options) -> tuple[Float[Array, "m m"], Float[Array, "m m"]]:
    """Phi'Phi and S with the transitions since the last plan.

    A few new rows are added to the last plan's S by Woodbury's identity, many by a Cholesky factorisation
    of the Gram matrix; that one is also made at every chunk's end, so that rounding never builds up.
    """
    size, count = options.rules.chunk, state.data.count
    few = (count - state.counted <= FEW) & (count // size == state.counted // size)

    def woodbury():
        data, dtype = state.data, state.gram.dtype
        start = jnp.minimum(state.counted, data.capacity - FEW)
        rows = [
            jax.lax.dynamic_slice_in_dim(x, start, FEW).astype(dtype) for x in (data.states, data.actions)
        ]
        number = start + jnp.arange(FEW)
        phi = state.basis.features(*rows) * ((number >= state.counted) & (number < count))[:, None]
        covariance = posterior.update_covariance(state.covariance, phi, options.noise_precision)
        return state.gram + phi.T @ phi, covariance

    def cholesky():
        gram = jax.lax.fori_loop(
            state.counted // size,
            num_chunks(state.data, size),
            lambda i, g: g + (phi := _new_rows(state, i, size)).T @ phi,
            state.gram,
        )
        return gram, posterior.covariance(gram, options.prior_precision, options.noise_precision)

    return jax.lax.cond(few, woodbury, cholesky)


def _new_rows(state: State, i: Int[Array, ""], size: int) -> Float[Array, "n m"]:
    rows, mask = transitions.chunk(state.data, i, size)
    new = mask & (i * size + jnp.arange(size) >= state.counted)
    dtype = state.gram.dtype
    return state.basis.features(rows.states.astype(dtype), rows.actions.astype(dtype)) * new[:, None]


def misfit(state: State, options: Options) -> Float[Array, ""]:
    """The mean of (Q(s, a) - G)^2 over the data whose return G was seen. O(N M)."""
    size, features, weights = options.rules.chunk, state.basis.features, state.blocked.weights[:, 0]
    seen = transitions.returns(state.data, options.discount)

    def add(i, total: tuple[Float[Array, ""], Float[Array, ""]]):
        rows, mask = transitions.chunk(state.data, i, size)
        returns = jax.lax.dynamic_slice_in_dim(seen, i * size, size)
        known = mask & jnp.isfinite(returns)
        q = features(rows.states.astype(weights.dtype), rows.actions.astype(weights.dtype)) @ weights
        squares = jnp.where(known, (q - jnp.where(known, returns, 0.0)) ** 2, 0.0)
        return total[0] + jnp.sum(squares), total[1] + jnp.sum(known)

    total, number = jax.lax.fori_loop(0, num_chunks(state.data, size), add, (jnp.zeros(()), jnp.zeros(())))
    return total / jnp.maximum(number, 1)


def transfer(state: State, new: Basis, options: Options) -> State:
    """m_new = beta S_new Phi_new'(Phi_old m_old): the same data and values on new features. O(N M^2)."""
    size, m = options.rules.chunk, new.features.num_features
    old, weights = state.basis.features, state.blocked.weights

    def add(i, total: tuple[Float[Array, "m m"], Float[Array, "m 2"]]):
        rows, mask = transitions.chunk(state.data, i, size)
        states, actions = rows.states.astype(weights.dtype), rows.actions.astype(weights.dtype)
        phi = new.features(states, actions) * mask[:, None]
        return total[0] + phi.T @ phi, total[1] + phi.T @ (old(states, actions) @ weights)

    zero = jnp.zeros((m, m)), jnp.zeros((m, weights.shape[1]))
    gram, moments = jax.lax.fori_loop(0, num_chunks(state.data, size), add, zero)
    covariance = posterior.covariance(gram, options.prior_precision, options.noise_precision)
    empty = init(new, options, state.key)
    blocked = empty.blocked._replace(weights=options.noise_precision * covariance @ moments)
    return empty._replace(
        blocked=blocked,
        gram=gram,
        covariance=covariance,
        counted=state.data.count,
        data=state.data,
        q_bounds=state.q_bounds,
        start=state.start,
        contest=state.contest,
    )


def challenge(state: State, policy: GreedyPolicy, options: Options) -> State:
    """A challenge that is about to begin is this policy's, restless while no episode has failed."""
    terminal, rewards = state.data.terminal, state.data.rewards
    failed = terminal & ~transitions.reached_goal(terminal, rewards)
    calm = jnp.any(failed) | (not options.restless)
    policy = policy._replace(restless=jnp.broadcast_to(~calm, policy.restless.shape))
    return state._replace(contest=contest.challenge(state.contest, policy, state.data.count))
