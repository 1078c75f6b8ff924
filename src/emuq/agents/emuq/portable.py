"""A policy as one small file of arrays, for `examples/act_with_numpy.py` to act on without emuq.

looking ahead   argmax_a r(s, a) + W(f(s, a)), one step: the file has no search
none            argmax_a phi(s, a) . w, where an agent has not looked ahead
exact           the best action of each known state, and the first action elsewhere
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from emuq.agents.emuq.exact import ExactRuntime
from emuq.agents.emuq.state import State
from emuq.agents.emuq.table import Table
from emuq.planning.support import Lookahead
from emuq.precision import double

if TYPE_CHECKING:
    from emuq.agents.emuq.agent import EMUQ


def export(agent: EMUQ, path: str | os.PathLike) -> None:
    """What kappa = 0 does."""
    general: dict[str, Any] = {
        "actions": np.array(agent._choices),
        "angles": np.array(sorted(agent._flat.angles), np.int64),
        "low": agent._scaling.low,
        "width": agent._scaling.width,
        "clip": agent._scaling.clip,
    }
    if isinstance(agent._runtime, ExactRuntime):
        found = _of_table(agent.whole_state(), len(general["actions"]))
    else:
        with double():
            state, looks = agent._runtime.known()
            found = _of_lookahead(state.lookahead) if looks else _of_weights(state)
    np.savez(path, **general, **found)


def _of_table(table: Table, actions: int) -> dict[str, Any]:
    number = int(table.counts[0])
    best = table.q.reshape(-1, actions)[:number].argmax(axis=1)
    return {"states": table.states[:number], "best": best}


def _of_lookahead(policy: Lookahead) -> dict[str, Any]:
    model, edges = policy.model, policy.edges
    arrays = {
        "inputs": model.inputs,
        "model": model.coefficients,
        "line": model.line,
        "mean": model.mean,
        "scale": model.scale,
        "change": model.change,
        "reward": model.reward,
        "units": policy.actions,
        "support": policy.support,
        "coefficients": policy.coefficients,
        "base": policy.base,
        "bounds": policy.bounds,
        "edges": edges.places,
        "edge_worth": edges.worth,
        "by_network": model.chosen,
    }
    for part, layers in model.network._asdict().items():
        arrays |= {f"{part}_{i}": layer for i, layer in enumerate(layers)}
    return {name: np.asarray(array, float) for name, array in arrays.items()}


def _of_weights(state: State) -> dict[str, Any]:
    basis = state.basis
    arrays = {
        "state_frequencies": basis.features.state_frequencies,
        "q_weights": state.blocked.weights[:, 0],
        "cos": basis.candidates.cos,
        "sin": basis.candidates.sin,
    }
    return {name: np.asarray(array, float) for name, array in arrays.items()}
