"""Fresh features for data already there.

    m_new = beta S_new Phi_new'(Phi_old m_old),      S_new = (alpha I + beta Phi_new'Phi_new)^-1

A draw of the features may be an unlucky one: what it cannot tell apart is never explored, however long an
agent tries. All that an agent knows is in its transitions, so that another draw costs one pass over them;
regressing the old values onto it keeps what has been planned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from emuq import posterior, transitions
from emuq.agents.emuq_options import Options
from emuq.agents.emuq_state import Basis, State, draw_basis, init
from emuq.bellman import num_chunks

if TYPE_CHECKING:
    from jaxtyping import Array, Float

    from emuq.agents.actions import Actions
    from emuq.agents.held import Held
    from emuq.history import History


def due(options: Options, held: Held, kappa: float, history: History) -> bool:
    """As an episode begins that explores, or the first that exploits after those; never once Q is held."""
    if not options.fresh or not history or int(held.trials):
        return False
    return kappa > 0 or history[-1].kappa > 0


def basis(
    seed: int, episode: int, exploiting: bool, options: Options, state_dim: int, actions: Actions
) -> Basis:
    """The features of one episode: the same whenever it is asked for, so that a resumed run goes on alike.

    Exploring begins fine and zooms out; Q alone is learned best on coarse ones.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2, episode)))
    steps = options.zoom if exploiting else min(episode, options.zoom)
    scale = np.asarray(options.state_lengthscale) * 2.0**steps
    wider = tuple(scale.tolist()) if scale.ndim else float(scale)
    return draw_basis(rng, replace(options, state_lengthscale=wider), state_dim, actions)


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
    )
