"""The order of things where plans are made beside the loop (`EMUQ(env, planning="beside")`).

    observe, act    as in step with the data: the next action is by what is known now
    take            a plan that is made, at a step's end (`background`)
    begin           where nothing is under way: features and a plan on them, a plan, or a look that is due
    fold            as in step with the data, and new transitions join the data, a few at a time

A step does one of these, since each takes a millisecond or so.

Nothing waits for a plan while steps are made. Where nothing more is to be learned (`learn` returns, the
agent is saved) what is under way is taken over first, so that what is kept is all there is.

A range of observations that has to change is the exception: all stored states are scaled anew, and planned on
in step. Ranges that are given, or those of a bounded space, never change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from emuq.agents.emuq import ranges, schedule
from emuq.agents.emuq.background import Background
from emuq.agents.emuq.runtime import Runtime

if TYPE_CHECKING:
    from emuq.agents.emuq.agent import EMUQ


class Alongside:
    """What is due, what is under way, and what was taken over, of one agent."""

    def __init__(self, agent: EMUQ, runtime: Runtime, record: Any = None) -> None:
        self._agent, self._runtime = agent, runtime
        self.background = Background(runtime, record)
        runtime.beside = True

    def repeat(self) -> None:
        """A run that is made again: what was taken over between the last step and this one is taken over."""
        if self.background.rests():
            self.settle()

    def step(self, row: np.ndarray) -> Any:
        """A transition, up to the next action, as an index."""
        index = self._runtime.step(row)
        self.background.add(row)
        return index

    def after(self, kappa: float) -> None:
        """The rest of a step, once its action is known."""
        runtime = self._runtime
        if runtime.used == schedule.BLOCK:  # first: a look that is taken over would leave V full
            runtime.fold()
        elif self.background.is_due():
            self._take()
        elif self.background.kind is None and self._begin(kappa):
            pass
        elif runtime.waiting >= schedule.BLOCK:
            runtime.upload()

    def settle(self) -> None:
        """What is under way is taken over, once it is made."""
        if self.background.kind is not None:
            self._take(rests=True)

    def _begin(self, kappa: float) -> bool:
        """Whether something was due, which has begun."""
        agent, runtime, background = self._agent, self._runtime, self.background
        options, count, course = agent.settings, runtime.count, agent._course
        due = agent._next_plan is not None and count >= agent._next_plan
        if due:
            agent._next_plan = schedule.plan_after(options, count)
        if due and schedule.plans(options, kappa):
            anew = schedule.draw_is_due(options, course, kappa, count)
            background.plan(kappa, len(agent.history) if anew else None, self._check())
        elif options.lookahead and schedule.look_is_due(course, count):
            background.look()
        return background.kind is not None

    def _check(self) -> Any:
        """Whether ranges have to change, for the other thread to find out; None: they never do."""
        agent = self._agent
        raw, scaling, count = agent._raw, agent._scaling, agent.num_transitions
        if raw is None:
            return None
        return lambda: ranges.fitting(scaling, np.concatenate([raw.start[None], raw.next_states[:count]]))

    def _take(self, *, rests: bool = False) -> None:
        agent = self._agent
        kind, began = self.background.take(rests=rests)
        if kind == "ranges":
            agent._plan_now()
            return
        course = agent._course
        if kind == "look":
            agent._course = course._replace(looked=began)
        else:
            drawn = began if kind == "draw" else course.drawn
            agent._course = course._replace(planned=began, drawn=drawn)
