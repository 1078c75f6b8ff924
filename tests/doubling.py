"""States in double precision, to compare what is rounded: steps and plans are as precise as their arrays."""

from __future__ import annotations

import jax.numpy as jnp

import emuq
from emuq.agents.emuq.state import State
from emuq.linear.expectation import quadratic_form
from emuq.precision import double


def doubled(state: State) -> State:
    """The same state with S_0, the rows that wait and T in double precision; T is made anew from S_0."""
    blocked, basis = state.blocked, state.basis
    covariance, rows = (x.astype(jnp.float64) for x in (blocked.covariance, blocked.rows))
    form = quadratic_form(basis.features, basis.moments, covariance)
    return state._replace(blocked=blocked._replace(covariance=covariance, rows=rows), form=form)


def in_double(agent: emuq.EMUQ) -> emuq.EMUQ:
    """The agent, which from now on steps and plans in double precision."""
    with double():
        agent._runtime.replace(doubled(agent.whole_state()))
    return agent
