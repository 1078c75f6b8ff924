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

NO_GOAL = 50  # episodes, none of which counts as a goal
DWARFED = 10.0  # times all that kappa U can add up to: no exploration outweighs one such reward


class Doubts:
    """What was seen of an environment's rewards, and what was said about it."""

    def __init__(self) -> None:
        self._told = False  # the environment says itself whether the goal is reached
        self._dense = False  # a step that was not the last had a reward other than 0
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
        most = None if agent.any_units else agent.exploration_range
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
