"""S_0 <- S_0 - V'V of the older half of V, and T of it, a part at a time while the newer half fills.

    part k     rows k of the new S_0, one after another, `PACE` steps apart
    join       the parts as one matrix, and its T
    use        once V is full: S_0 and T are replaced, and the newer half of V moves up

The whole takes a millisecond, and several where another thread plans: too long for one step of a control
loop. Until the last moment nothing reads what is made, so that S = S_0 - V'V is the same matrix at every
step; what is missing of it, as after a file was loaded, is caught up with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from emuq.agents.emuq.schedule import BLOCK
from emuq.agents.emuq.state import Basis
from emuq.linear.expectation import quadratic_form

# A program that runs beside the loop keeps to its own thread: the threads that XLA would share its work with
# are those that a step needs.
ALONE = {"xla_cpu_multi_thread_eigen": False}

PARTS = 4
HALF = BLOCK // 2
PACE = HALF // (PARTS + 2)


class Folding:
    """What is made so far of the next S_0."""

    def __init__(self) -> None:
        self._parts: list[Array] = []
        self._whole: tuple[Array, Array] | None = None

    def go_on(self, used: int, covariance: Array, rows: Array, basis: Basis) -> None:
        """Make what is due with so many rows of V in use."""
        due = PARTS + 1 if used == BLOCK else (used - HALF) // PACE
        size = height(len(covariance))
        while len(self._parts) < min(due, PARTS):
            first = min(len(self._parts) * size, len(covariance) - size)
            self._parts.append(part(covariance, rows, jnp.int32(first)))
        if due > PARTS and self._whole is None:
            self._whole = joined(self._parts, basis)

    def take(self) -> tuple[Array, Array]:
        """The new S_0 and its T; then it begins anew."""
        assert self._whole is not None
        found = self._whole
        self.__init__()
        return found


def height(features: int) -> int:
    """How many rows a part has; where they are more than there are, the last parts overlap."""
    return -(-features // PARTS)


@partial(jax.jit, compiler_options=ALONE)
def part(
    covariance: Float[Array, "m m"], rows: Float[Array, "b m"], first: Int[Array, ""]
) -> Float[Array, "p m"]:
    """Some rows of S_0 - V'V, from the first one on, with the older half of V."""
    size, older = height(len(covariance)), rows[: len(rows) // 2]
    columns = jax.lax.dynamic_slice_in_dim(older, first, size, axis=1)
    return jax.lax.dynamic_slice_in_dim(covariance, first, size) - columns.T @ older


@partial(jax.jit, compiler_options=ALONE)
def joined(
    parts: Sequence[Float[Array, "p m"]], basis: Basis
) -> tuple[Float[Array, "m m"], Float[Array, "n n"]]:
    """All parts as one matrix, and T of it."""
    size, features = parts[0].shape
    overlaps = (max(0, (i + 1) * size - features) for i in range(PARTS))
    covariance = jnp.concatenate([rows[over:] for rows, over in zip(parts, overlaps, strict=True)])
    return covariance, quadratic_form(basis.features, basis.moments, covariance)


def folded(
    covariance: Float[Array, "m m"], rows: Float[Array, "h m"], basis: Basis
) -> tuple[Float[Array, "m m"], Float[Array, "n n"]]:
    """The same at once: S_0 with these rows in it, and its T."""
    covariance = covariance - rows.T @ rows
    return covariance, quadratic_form(basis.features, basis.moments, covariance)


@partial(jax.jit, donate_argnums=0)
def moved_up(rows: Float[Array, "b m"]) -> Float[Array, "b m"]:
    """The newer half in the place of the older one."""
    newer = rows[len(rows) // 2 :]
    return jnp.concatenate([newer, jnp.zeros_like(newer)])
