"""Planning: what is made from all data at once (Algorithm 2, lines 15 to 18).

    plan    S = (alpha I + beta Phi'Phi)^-1, r^e of every transition, then policy iteration for Q and for U
    look    a model of the dynamics, and with it the value of the states that were visited

and the first on new features, onto which the old values are regressed before (`plan_anew`). A draw of the
features may be an unlucky one: what it cannot tell apart is never explored, however long an agent tries. All
that an agent knows is in its transitions, so that another draw costs one pass over them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from emuq.agents.emuq import relevance
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.state import Basis, Choices, State, draw_basis, draw_word
from emuq.linear import posterior
from emuq.linear.expectation import quadratic_form
from emuq.linear.posterior import Blocked
from emuq.planning import support, transitions
from emuq.planning.iteration import policy_iteration
from emuq.planning.support import Lookahead
from emuq.planning.targets import exploration_rewards, in_units, num_chunks

FEW = 64  # new transitions that a plan adds to S without a factorisation


def plan(state: State, kappa: Float[Array, ""], options: Options) -> State:
    """Refit S from all data, recompute every r^e, then policy iteration for Q and U (lines 15-18)."""
    basis, low = state.basis, state.form.dtype
    rules = replace(options.rules, single=low == jnp.float32)  # products are as precise as a step's
    # Exploration goes on in the next episode, which starts where this one did (Deviation 7).
    data = transitions.restarted(state.data) if options.exploration_end == "reset" else state.data
    gram, covariance = refit(state, options)
    form = quadratic_form(basis.features, basis.moments, covariance).astype(low)
    max_variance = basis.features.norm / options.prior_precision
    rewards = exploration_rewards(basis.features, basis.moments, form, max_variance, data, rules.chunk)
    q, u = state.blocked.weights[:, 0], state.blocked.weights[:, 1]
    # U is the value of exploring: while kappa is 0 it is kept for the moment kappa is turned up again.
    kappa = in_units(jnp.where(kappa > 0, kappa, 1.0), state.q_bounds)
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


def plan_anew(
    state: State, choices: Choices, kappa: Float[Array, ""], episodes: Int[Array, ""], options: Options
) -> State:
    """A plan on new features, after so many episodes."""
    return plan(transfer(state, redrawn(state, choices, episodes, options), options), kappa, options)


def redrawn(state: State, choices: Choices, episodes: Int[Array, ""], options: Options) -> Basis:
    """Features to explore on, which begin fine and zoom out: by the agent's key, at this many transitions.

    They hardly vary along numbers of an observation that are noise.
    """
    wider = 2.0 ** jnp.minimum(episodes, options.zoom) * relevance.blur(state.data)
    seed = draw_word(state.key, state.data.count)
    return draw_basis(seed, options, state.data.states.shape[1], choices, wider)


def look(state: State, options: Options, ahead: Callable[..., Lookahead] = support.plan) -> State:
    """What to exploit with: a model of all data, and the value of the states that were visited.

    `ahead` may be that plan compiled: it depends on no other option and on no features.
    """
    return state._replace(lookahead=ahead(state.lookahead, state.data, options.discount, options.lookahead))


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


def transfer(state: State, new: Basis, options: Options) -> State:
    """m_new = beta S_new Phi_new'(Phi_old m_old): the same data and values on new features. O(N M^2).

    S_0 and what waits are those of the old features: a plan must follow.
    """
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
    blocked = state.blocked._replace(weights=options.noise_precision * covariance @ moments)
    return state._replace(
        basis=new,
        blocked=blocked,
        gram=gram,
        covariance=covariance,
        counted=state.data.count,
    )
