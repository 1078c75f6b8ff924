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

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from emuq.agents.emuq import ranges, schedule
from emuq.agents.emuq.background import Background
from emuq.agents.emuq.instep import InStep
from emuq.agents.emuq.runtime import Runtime
from emuq.precision import double

if TYPE_CHECKING:
    from emuq.agents.emuq.agent import EMUQ


class Alongside(InStep):
    """The same course, and what is under way beside the loop."""

    beside: ClassVar[bool] = True

    def __init__(self, agent: EMUQ, runtime: Runtime, record: Any = None) -> None:
        super().__init__(agent)
        self._runtime, self.background = runtime, Background(runtime, record)
        runtime.beside = True

    def repeat(self) -> None:
        """A run that is made again: what was taken over between the last step and this one is taken over."""
        if self.background.rests():
            self.settle()

    def step(self, row: np.ndarray) -> Any:
        index = self._runtime.step(row)
        self.background.add(row)
        return index

    def after(self, kappa: float) -> None:
        """The rest of a step, once its action is known: one of the things above."""
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
            with double():
                self._take(rests=True)

    @property
    def moments(self) -> list[tuple[int, bool]]:
        return self.background.moments

    @moments.setter
    def moments(self, moments: list[tuple[int, bool]]) -> None:
        self.background.moments = moments

    def _begin(self, kappa: float) -> bool:
        """Whether something was due, which has begun."""
        agent, background = self._agent, self.background
        options, count, course = agent.settings, self._runtime.count, self.course
        if self._may_plan() and schedule.plans(options, kappa):
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
        return lambda: ranges.fitting(scaling, ranges.seen(raw, count))

    def _take(self, *, rests: bool = False) -> None:
        kind, began = self.background.take(rests=rests)
        if kind == "ranges":
            self.plan()
        elif kind == "look":
            self.course = self.course._replace(looked=began)
        else:
            drawn = began if kind == "draw" else self.course.drawn
            self.course = self.course._replace(planned=began, drawn=drawn)
