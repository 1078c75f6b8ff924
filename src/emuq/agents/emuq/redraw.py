"""Fresh features for data already there.

    m_new = beta S_new Phi_new'(Phi_old m_old),      S_new = (alpha I + beta Phi_new'Phi_new)^-1

A draw of the features may be an unlucky one: what it cannot tell apart is never explored, however long an
agent tries. All that an agent knows is in its transitions, so that another draw costs one pass over them;
regressing the old values onto it keeps what has been planned. Of several draws to exploit with, the one whose
Q is nearest to the returns that were seen is the best bet: others promise too much.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from emuq.agents.emuq import held as holding
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.state import Basis, State, draw_basis, init
from emuq.linear import posterior
from emuq.linear.frequencies import Lengthscale
from emuq.planning import transitions
from emuq.planning.targets import num_chunks

if TYPE_CHECKING:
    from emuq.agents.emuq.held import Held
    from emuq.agents.spaces import Actions
    from emuq.history import History

MANY = 16384  # transitions from which on fewer features are drawn to exploit, so that it takes no longer
ENOUGH = 6  # frequencies for each dimension of the state, to exploit on the finer of two scales at first
GROWTH = 1.5  # of the data, before other features are tried although something is held that never missed


def due(options: Options, held: Held, kappa: float, history: History) -> bool:
    """As an episode begins that explores, or the first that exploits after those, or one after a miss, or a
    trial. To exploit, never during a trial; while something is held that never missed, once data have grown.
    """
    if not options.fresh or not history:
        return False
    if kappa > 0:
        return True
    if holding.faultless(held):
        return holding.begins_trial(held) and history[-1].steps >= GROWTH * int(held.drawn)
    if int(held.trial_count):
        return False
    return holding.begins_trial(held) or history[-1].kappa > 0 or not history[-1].goal


def idle(options: Options, held: Held, kappa: float) -> bool:
    """Whether a trial is to begin on features that are not fresh, though what is held never missed."""
    return options.fresh and kappa == 0 and holding.faultless(held) and holding.begins_trial(held)


def stale(options: Options, kappa: float, steps: int) -> bool:
    """Whether an episode that explores has gone on for long enough, on features that may be blind."""
    return options.fresh and options.refresh is not None and kappa > 0 and steps >= options.refresh


def bases(
    seed: int, history: History, kappa: float, steps: int, options: Options, state_dim: int, actions: Actions
) -> list[Basis]:
    """Features for one episode: the same whenever they are asked for, so that a resumed run goes on alike.

    `steps` is how many of it have been made, 0 as it begins.

    Exploring begins fine and zooms out; Q alone is learned best on coarse ones, smoother in the action. How
    coarse depends on the domain: so fine as the features allow, and each miss is answered by the other of
    two scales.
    """
    stream = (2, len(history), steps) if steps else (2, len(history))
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=stream))
    doublings, smoother, number = min(len(history), options.zoom), 1.0, 1
    if kappa == 0:
        misses = sum(episode.kappa == 0 and not episode.goal for episode in history)
        finer = (misses + (options.features >= 2 * ENOUGH**state_dim)) % 2
        doublings, smoother = max(options.zoom - finer, 0), options.smoother
        number = max(1, min(options.draws, options.draws * MANY // history[-1].steps))
    wider = {
        "state_lengthscale": _times(options.state_lengthscale, 2.0**doublings),
        "action_lengthscale": _times(options.action_lengthscale, smoother),
    }
    drawn = replace(options, **wider)
    return [draw_basis(rng, drawn, state_dim, actions) for _ in range(number)]


def _times(lengthscale: Lengthscale, factor: float) -> Lengthscale:
    scale = np.asarray(lengthscale) * factor
    return tuple(scale.tolist()) if scale.ndim else float(scale)


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


def redraw(state: State, new: Basis, options: Options) -> State:
    """The same data and values on new features; a plan is due. O(N M^2)."""
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
    fresh = init(new, options, state.key)
    blocked = fresh.blocked._replace(weights=options.noise_precision * covariance @ moments)
    return fresh._replace(
        blocked=blocked,
        gram=gram,
        covariance=covariance,
        counted=state.data.count,
        data=state.data,
        q_bounds=state.q_bounds,
        start=state.start,
        held=state.held,
    )
