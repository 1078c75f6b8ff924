"""A policy as one small file of arrays, for `examples/act_with_numpy.py` to act on without emuq.

smooth   argmax_a sum_j c_j(s) cos v_ja + d_j(s) sin v_ja, as `linear.features.scores` has it
exact    the best action of each known state, and the first action elsewhere
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from emuq.agents.emuq import act
from emuq.agents.emuq.exact import ExactRuntime
from emuq.agents.emuq.table import Table

if TYPE_CHECKING:
    from emuq.agents.emuq.agent import EMUQ


def export(agent: EMUQ, path: str | os.PathLike) -> None:
    """What kappa = 0 does, without a restless committee's varying votes."""
    state: Any = agent.whole_state()
    actions = np.array(agent._choices)
    angles = np.array(sorted(agent._flat.angles), np.int64)
    if isinstance(agent._runtime, ExactRuntime):
        table: Table = state
        number = int(table.counts[0])
        best = table.q.reshape(-1, len(actions))[:number].argmax(axis=1)
        np.savez(path, actions=actions, angles=angles, states=table.states[:number], best=best)
        return
    trusted = int(state.contest.trials) > 0
    policy = state.contest.trusted if trusted else act.newest(state)
    np.savez(
        path,
        actions=actions,
        angles=angles,
        low=agent._scaling.low,
        width=agent._scaling.width,
        clip=agent._scaling.clip,
        frequencies=np.asarray(policy.features.state_frequencies),
        weights=np.asarray(policy.weights),
        cos=np.asarray(policy.candidates.cos),
        sin=np.asarray(policy.candidates.sin),
    )
