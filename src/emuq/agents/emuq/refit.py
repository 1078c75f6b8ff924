"""S made anew from the data, as a plan begins: S = (alpha I + beta Phi'Phi)^-1 in double precision."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from emuq.agents.emuq.options import Options
from emuq.agents.emuq.state import State
from emuq.linear import posterior
from emuq.planning import transitions
from emuq.planning.targets import num_chunks

FEW = 64  # new transitions that a plan adds to S without a factorisation


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
    fresh = mask & (i * size + jnp.arange(size) >= state.counted)
    dtype = state.gram.dtype
    return state.basis.features(rows.states.astype(dtype), rows.actions.astype(dtype)) * fresh[:, None]
