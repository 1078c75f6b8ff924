"""Folding in the background.

    S_0 <- S_0 - V_1'V_1,    V = [V_1; V_2]   (the older and the newer half of the rows held back)

with T made anew takes about a millisecond, several times a step. So a thread of its own does it for the older
half while the newer one fills up, and the result is taken when it has: always at the same step, however long
the thread took, so that a run is the same whenever and wherever it is made.
"""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from emuq.agents.emuq.state import Basis
from emuq.linear.expectation import quadratic_form
from emuq.linear.posterior import Blocked
from emuq.precision import double


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="emuq-fold")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        after_in_child=_thread.cache_clear
    )  # a forked process has none of its parent's threads


@jax.jit
def fold(covariance: Float[Array, "m m"], rows: Float[Array, "h m"], basis: Basis):
    """S_0 with these rows in it, and its T."""
    covariance = covariance - rows.T @ rows
    return covariance, quadratic_form(basis.features, basis.moments, covariance)


@jax.jit
def older(rows: Float[Array, "b m"]) -> Float[Array, "h m"]:
    """The first half, in an array of its own: the rows are given to each step to change."""
    return jnp.copy(rows[: len(rows) // 2])


@partial(jax.jit, donate_argnums=0)
def move_up(rows: Float[Array, "b m"]) -> tuple[Float[Array, "b m"], Float[Array, "h m"]]:
    """The newer half in the place of the older one, which is folded; and a copy of it."""
    newer = rows[len(rows) // 2 :]
    return jnp.concatenate([newer, jnp.zeros_like(newer)]), jnp.copy(newer)


class Folding:
    """At most one fold under way."""

    def __init__(self) -> None:
        self._future: Future | None = None

    def turn(
        self, rows: Array, blocked: Blocked, form: Array, basis: Basis, full: bool
    ) -> tuple[Array, Blocked, Array]:
        """Half of the rows are new: begin to fold them in. All are in use: the older half is in S_0 now."""
        if full:
            covariance, form = self._result(blocked.covariance, rows, basis)
            blocked = blocked._replace(covariance=covariance)
            rows, waiting = move_up(rows)
        else:
            waiting = older(rows)
        self._future = _thread().submit(_fold, blocked.covariance, waiting, basis)
        return rows, blocked, form

    def wait(self) -> None:
        """Until it reads no array any more that its owner may give away."""
        if self._future is not None:
            wait([self._future])

    def __getstate__(self) -> dict[str, None]:
        """A copy of an agent folds for itself."""
        return {"_future": None}

    def drop(self) -> None:
        """What was under way is of no use: S is another."""
        self.wait()
        self._future = None

    def _result(self, covariance: Array, rows: Array, basis: Basis) -> tuple[Array, Array]:
        """S_0 and T with the older half of `rows`: by the thread, or now where it was never begun."""
        future, self._future = self._future, None
        return future.result() if future else _fold(covariance, older(rows), basis)


def _fold(covariance: Array, rows: Array, basis: Basis) -> tuple[Array, Array]:
    with double():  # a thread begins in single precision
        return fold(covariance, rows, basis)
