"""All that an agent knows as a tree of arrays, which a file keeps, and an agent that goes on from there.

Besides the state itself there are the counts that it has no place for: how much of it is in use, and at how
many transitions the agent last planned, looked ahead and drew features.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from emuq.agents.emuq import programs, ranges, schedule
from emuq.agents.emuq.exact import ExactRuntime

if TYPE_CHECKING:
    from emuq.agents.emuq.agent import EMUQ

COURSE = ("planned", "looked", "drawn")  # fields of `schedule.Course`; the others follow from the rest


def tree_of(agent: EMUQ) -> dict[str, Any]:
    """The tree. The agent's options have the room that it asks for, so that a file is loaded into as much."""
    state, runtime = agent.whole_state(), agent._runtime
    if isinstance(runtime, ExactRuntime):
        agent.options["exact"] = runtime.capacity
        return {"exact": state}
    agent.options["capacity"] = runtime.capacity
    counts = {"count": runtime.count, "used": runtime.used}
    counts |= {name: getattr(agent._order.course, name) for name in COURSE}
    raw = {} if agent._raw is None else {"raw": ranges.sized(agent._raw, runtime.capacity)}
    return {"core": state, **raw, **{name: np.int64(value) for name, value in counts.items()}}


def restore(agent: EMUQ, tree: dict[str, Any]) -> None:
    """Go on from a tree, in an agent that was made alike."""
    runtime = agent._runtime
    if isinstance(runtime, ExactRuntime):
        runtime.replace(tree["exact"])
        agent._order.resume(planned=int(tree["exact"].counts[3]))
        return
    if agent._raw is not None:
        raw = ranges.Raw(*(np.array(rows) for rows in tree["raw"]))
        agent._raw, agent._scaling = raw, agent._scaling._replace(low=raw.low, width=raw.width)
        runtime.rescale(tree["core"], programs.scales(agent._scaling, agent._actions))
    runtime.replace(tree["core"])
    runtime.count, runtime.used = int(tree["count"]), int(tree["used"])
    runtime.looked = int(tree["looked"]) > 0
    data = tree["core"].data
    rewards, ended = (np.asarray(rows)[: runtime.count] for rows in (data.rewards, data.terminal))
    counts = {name: int(tree[name]) for name in COURSE}
    agent._order.resume(rewarded=bool(np.any(schedule.is_worth_a_look(rewards, ended))), **counts)
