"""The order of things in step with the data: an episode begins, a transition is learned from, it is over.

A transition (`InStep.advance`):

    observe    one rank-1 update of S, of Q's weights and of U's, by the transition (`learn.update`)
    act        the next action, by what is known now (`act.act_on`); both are one compiled call,
               `Runtime.step`
    fold       every 32 steps: S takes in the updates that wait (`Runtime.fold`)
    plan       once there are enough new data: S, all exploration rewards, Q and U from all transitions
               (`plan.plan`); the action above was chosen before it, so that the step after this one is the
               first to profit
    look       once rewards ask for it, and there are enough new data: what to exploit with, a model of the
               dynamics and the value of the states that were visited (`plan.look`)

The pure functions are in `learn`, `plan` and `act`, over the value in `state`; `schedule` says when;
`runtime` makes it fast. `Alongside` is the same but for plans and looks, which are made beside the loop.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from emuq.agents.actions import to_unit
from emuq.agents.emuq import programs, ranges, schedule, warming
from emuq.agents.emuq.runtime import Runtime
from emuq.agents.episodes import Transition, check_finite
from emuq.precision import double

if TYPE_CHECKING:
    from emuq.agents.emuq.agent import EMUQ


class InStep:
    """Where an agent is in its course, and what it does next.

    Attributes:
        course: What has happened so far.
    """

    beside: ClassVar[bool] = False  # plans are made in another thread

    def __init__(self, agent: EMUQ) -> None:
        self._agent = agent
        self.resume()

    def resume(self, **known: Any) -> None:
        """Go on from a course of which this is known, with as many transitions as there are."""
        agent = self._agent
        self.course = schedule.Course(**known)
        agent._runtime.rewarded = self.course.rewarded
        self._next_plan = schedule.plan_after(agent.settings, agent.num_transitions)

    # Episodes and transitions -------------------------------------------------------------------------------

    def start(self, observed: np.ndarray) -> Any:
        """An episode begins at this vector: its first action, as an index."""
        agent = self._agent
        self.course = schedule.begun(self.course, agent._runtime.count)
        with double():
            if agent._raw is not None:
                agent._raw = agent._raw._replace(start=ranges.bounded(observed))
                if (not self.beside or not agent._runtime.count) and self._scale_anew():
                    self.plan()
            self.repeat()
            return agent._runtime.begin(observed, agent.kappa)

    def advance(self, transition: Transition) -> Any:
        """Learn from a transition: the next action, as an index; then what is due."""
        agent, runtime, kappa = self._agent, self._agent._runtime, self._agent.kappa
        self.repeat()
        row = self._row(transition, kappa)
        self.course = schedule.stepped(self.course, transition.reward, transition.terminated)
        if isinstance(runtime, Runtime) and runtime.fills:
            warming.prepare(agent, runtime)
        runtime.rewarded = self.course.rewarded
        with double():
            index = self.step(row)
            if agent._raw is not None:
                seen = map(agent._flat, (transition.observation, transition.next_observation))
                agent._raw = ranges.add(agent._raw, agent.num_transitions - 1, *seen)
            self.after(kappa)
        return index

    def finish(self) -> None:
        """An episode is over: returns are seen along it."""
        agent = self._agent
        with double():
            agent._runtime.finish()
        if agent.settings.plan_interval is None and self.course.planned < agent.num_transitions:
            agent.plan()

    # What plans beside the loop do otherwise ----------------------------------------------------------------

    def repeat(self) -> None:
        """What was done here, between two steps, in a run that is made again."""

    def step(self, row: np.ndarray) -> Any:
        """A transition, up to the next action, as an index."""
        return self._agent._runtime.step(row)

    def after(self, kappa: float) -> None:
        """The rest of a step, once its action is known: plan or fold, and look."""
        agent, options, runtime = self._agent, self._agent.settings, self._agent._runtime
        count = runtime.count
        if self._may_plan() and schedule.plans(options, kappa):
            if schedule.draw_is_due(options, self.course, kappa, count):
                self._plan_on_new_features()
            else:
                agent.plan()
        elif schedule.fold_is_due(runtime.used):
            runtime.fold()
        if (
            isinstance(runtime, Runtime)
            and schedule.may_look(options, count)
            and schedule.look_is_due(self.course, count)
        ):
            agent.look()

    def settle(self) -> None:
        """Nothing is to be under way any more."""

    @property
    def moments(self) -> list[tuple[int, bool]]:
        """When plans were taken over."""
        return []

    @moments.setter
    def moments(self, moments: list[tuple[int, bool]]) -> None:
        """As a file has them."""

    # Plans and looks ----------------------------------------------------------------------------------------

    def plan(self) -> None:
        """Plan now, on all data so far."""
        agent = self._agent
        with double():
            self._scale_anew()
            agent._runtime.plan(agent.kappa)
        self.course = self.course._replace(planned=agent.num_transitions)

    def look(self) -> None:
        """Look ahead now, on all data so far."""
        runtime = self._agent._runtime
        assert isinstance(runtime, Runtime)  # a table knows its values
        with double():
            runtime.look()
        self.course = self.course._replace(looked=runtime.count)

    def _may_plan(self) -> bool:
        """Whether this is a count at which to plan; if so, the next such count is noted."""
        count = self._agent._runtime.count
        if self._next_plan is None or count < self._next_plan:
            return False
        self._next_plan = schedule.plan_after(self._agent.settings, count)
        return True

    def _plan_on_new_features(self) -> None:
        """New features, and a plan on them: for an episode that has begun, or goes on for long."""
        agent, runtime = self._agent, self._agent._runtime
        assert isinstance(runtime, Runtime)  # a table has no features
        self._scale_anew()
        runtime.plan_anew(agent.kappa, len(agent.history))
        self.course = self.course._replace(planned=runtime.count, drawn=runtime.count)

    def _scale_anew(self) -> bool:
        """Scale by the ranges seen so far, if they are learned and ask for it; a plan must follow."""
        agent, raw, runtime = self._agent, self._agent._raw, self._agent._runtime
        new = None if raw is None else ranges.fitting(agent._scaling, ranges.seen(raw, runtime.count))
        if raw is None or new is None:
            return False
        assert isinstance(runtime, Runtime)  # a table has no ranges
        state = ranges.rescaled(runtime.whole_state(), raw, agent._scaling, new, agent.settings)
        runtime.rescale(state, programs.scales(new, agent._actions))
        agent._scaling, agent._raw = new, raw._replace(low=new.low, width=new.width)
        return True

    # What comes in ------------------------------------------------------------------------------------------

    def _row(self, transition: Transition, kappa: float) -> np.ndarray:
        """The whole transition as one array: one transfer a step, checked at once."""
        agent, actions = self._agent, self._agent._actions
        action = to_unit(actions, transition.action) if actions.discrete else transition.action
        observation, following = map(agent._flat, (transition.observation, transition.next_observation))
        reward, terminated = transition.reward, transition.terminated
        row = agent._runtime.row(observation, action, reward, following, terminated, kappa)
        numbers = row[: 1 - programs.EXTRA]  # what comes after it may be infinite: kappa
        if not math.isfinite(numbers @ numbers):
            check_finite(transition, agent.num_transitions + 1)
            for array in (observation, following):
                agent._checked(array)
        return row
