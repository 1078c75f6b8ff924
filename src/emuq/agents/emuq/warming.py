"""Everything an agent may ever call is compiled before its first step: each program is called once.

A twin does it, which knows nothing but the spaces and the options, and is thrown away: programs are compiled
for shapes and options, so that what the twin has called is there for every agent that is made alike. Nothing
depends on values: a first reward, another kappa or a long run compile nothing.

When the data have filled half of their room, the programs for twice the room are compiled in a thread of
their own, long before they are needed.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from emuq.agents.emuq import programs, ranges, schedule
from emuq.agents.emuq.background import Background, yield_to_others
from emuq.agents.emuq.beginning import smooth_runtime
from emuq.agents.emuq.runtime import Runtime
from emuq.kappa import Automatic, Outcome
from emuq.planning import transitions
from emuq.precision import double

if TYPE_CHECKING:
    from emuq.agents.emuq.agent import EMUQ

ENABLED = True  # an agent that makes a few steps of a test need not compile what it never calls

_warm: set[Any] = set()  # what has been compiled in this process, by what it depends on
_one = threading.Lock()


def key(agent: EMUQ, capacity: int) -> Any:
    """What programs depend on."""
    actions = agent._actions
    shapes = actions.candidates.shape, actions.nodes.shape, actions.discrete, actions.efforts is None
    ways = agent._raw is None, agent._order.beside
    return agent.settings, agent._scaling.dim, shapes, capacity, ways


def warm_up(agent: EMUQ) -> None:
    """Compile for the room that there is, and for the next where half of it is taken."""
    runtime = agent._runtime
    if isinstance(runtime, Runtime):  # a table compiles nothing
        warm(agent, runtime.capacity)
        if 2 * runtime.count >= runtime.capacity:
            warm(agent, 2 * runtime.capacity)


def warm(agent: EMUQ, capacity: int) -> None:
    """Compile what is not compiled yet, for this much room."""
    name = key(agent, capacity)
    if not ENABLED or name in _warm:  # before the lock: more room may be in the making
        return
    with _one:
        if name not in _warm:
            automatic = Automatic()
            automatic.update(automatic.init(), Outcome(0.0, False, has_goal=False))
            with double():
                _call_all(agent, capacity)
            _warm.add(name)


def _call_all(agent: EMUQ, capacity: int) -> None:
    """Every method of a runtime, as an agent calls them."""
    options, actions, scaling = agent.settings, agent._actions, agent._scaling
    twin = smooth_runtime(agent, capacity)
    twin.beside = agent._order.beside
    observation = scaling.inverse(np.full(scaling.dim, 0.5))
    action = actions.candidates[0] if actions.discrete else np.asarray(actions.low, float)
    background = Background(twin)

    def step() -> None:
        row = twin.row(observation, action, 0.0, observation, False, 1.0)
        np.asarray(twin.step(row))
        background.add(row)

    def episode() -> None:
        np.asarray(twin.begin(observation, 1.0))
        step()
        twin.values(np.full((1, scaling.dim), 0.5), actions.candidates[:1])
        np.asarray(twin.act_greedily(np.full(scaling.dim, 0.5), 0.0))
        twin.finish()

    episode()
    twin.plan(1.0)
    for _ in range(schedule.BLOCK):
        step()
        if schedule.fold_is_due(twin.used):
            twin.fold()
    twin.plan_anew(1.0, 1)
    if options.lookahead:
        twin.look()
        episode()
    if agent._raw is not None:
        old = agent._scaling
        new = old._replace(low=old.low - old.width, width=3 * old.width)
        state = ranges.rescaled(twin.whole_state(), ranges.empty(capacity, old), old, new, options)
        twin.rescale(state, programs.scales(new, actions))
        twin.plan(1.0)
    if agent._order.beside:
        for episodes in (None, 1):
            background.plan(1.0, episodes)
            for _ in range(schedule.BLOCK // 2 + 1):
                step()
            background.take(rests=False)
            background.plan(1.0, None)
            step()
            twin.upload()  # while it is lent
            background.take(rests=False)
        if options.lookahead:
            background.look()
            background.take(rests=False)
    transitions.grown(twin.whole_state().data)


# More room --------------------------------------------------------------------------------------------------


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="emuq-room", initializer=yield_to_others)


if hasattr(os, "register_at_fork"):  # a forked process has none of its parent's threads
    os.register_at_fork(after_in_child=_thread.cache_clear)


def prepare(agent: EMUQ, runtime: Runtime) -> None:
    """Half of the room is taken: begin to compile for twice the room, beside the steps.

    When all of it is (see `Runtime.fills`), it is about to double, and half of that is taken at once.
    """
    if ENABLED:
        _thread().submit(warm, agent, 4 * runtime.count)
