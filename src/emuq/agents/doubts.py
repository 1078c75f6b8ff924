"""Doubts about an environment: warnings of what would make learning pointless, each given once.

They are raised between episodes only, so that a program that treats warnings as errors loses nothing.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from emuq.agents.readings import Step
from emuq.errors import LearningWarning
from emuq.kappa import UntilGoal

if TYPE_CHECKING:
    from emuq.agents.base import Agent

ALL_GOALS = 10  # episodes, all of which count as goals
NO_GOAL = 50  # episodes, none of which does
DWARFED = 10.0  # times all that kappa U can add up to: no exploration outweighs one such reward


class Doubts:
    """What was seen of an environment's rewards, and what was said about it."""

    def __init__(self) -> None:
        self._told = False  # the environment says itself whether the goal is reached
        self._on_the_way = 0.0  # the largest reward of a step that was not the last, if any was not 0
        self._dense = False  # there was one that is not 0
        self._weighed: str | None = None  # what is to be said of a reward that U cannot outweigh
        self._said: set[str] = set()

    def step(self, agent: Agent, step: Step) -> None:
        """One more step has been seen."""
        self._told = self._told or step.told
        agent._visit(step.observation)
        if step.reward == 0:
            return
        if not (step.terminated or step.truncated):
            self._dense = True
            self._on_the_way = max(self._on_the_way, step.reward)
        most = agent.exploration_range
        if most is not None and agent.kappa > 0 and abs(step.reward) > DWARFED * agent.kappa * most:
            self._weighed = (
                f"a step's reward is {step.reward:g}, and kappa U weighs at most {agent.kappa * most:g}: "
                "exploration does not count beside it; scale rewards to about 1, or turn kappa up"
            )

    def episode(self, agent: Agent) -> None:
        """Between two episodes: warn of what is certain by now."""
        if self._weighed:
            self._say("weighed", self._weighed)
        if of_bounds := agent._doubt_of_bounds():
            self._say("bounds", of_bounds)
        history = agent.history
        if self._told:
            return
        if len(history) >= ALL_GOALS and self._on_the_way > 0 and all(row.goal for row in history):
            self._say(
                "all goals",
                f"all {len(history)} episodes so far count as goals, since each terminates with a positive "
                "reward, which other steps have as well: if not all of them are successes, have the "
                'environment say which are in info["is_success"], or wrap it in emuq.GoalOnly',
            )
        waits = isinstance(agent.controller, UntilGoal) and history.first_goal is None
        if waits and len(history) >= NO_GOAL and self._dense:
            self._say(
                "no goal",
                f"none of {len(history)} episodes counts as a goal, so that UntilGoal keeps kappa at "
                f"{agent.kappa:g}; where rewards come on the way there may be no goal to wait for: set kappa "
                'to emuq.kappa.Decay(c=0.1) or the like, or have info["is_success"] say what a goal is',
            )

    def _say(self, reason: str, text: str) -> None:
        if reason not in self._said:
            self._said.add(reason)
            warnings.warn(text, LearningWarning, stacklevel=4)
