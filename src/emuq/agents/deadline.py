"""What to send when an agent is not done: a machine waits for nobody.

    command = the agent's, where it comes within `deadline` seconds of the observation
              the last command again, or the safe one, where it does not

With a deadline the agent learns in a thread of its own. While it is busy, steps go on with the command above;
their transitions wait, and are learned from in their order as soon as it can. How many answers came late is
counted in the history (`Episode.missed`). Where an episode ends there is no deadline: it waits for the agent.
"""

from __future__ import annotations

import math
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym
import numpy as np

from emuq.agents.episodes import Transition, UnderWay
from emuq.agents.readings import Step
from emuq.errors import InputError, quoted

if TYPE_CHECKING:
    from emuq.agents.base import Agent

Pair = tuple[Transition, Step]


class Deadline(NamedTuple):
    """Seconds to answer in, and what is sent otherwise; None: the last command again."""

    seconds: float
    safe: Any = None


def deadline_of(agent: Agent, seconds: Any, safe: Any) -> Deadline | None:
    """What `learn` was given, checked."""
    if seconds is None:
        if safe is not None:
            raise InputError(
                f"safe_action is {quoted(safe)} without a deadline: expected deadline=... as well"
            )
        return None
    if not isinstance(seconds, int | float | np.number) or not 0 < seconds < math.inf:
        raise InputError(f"deadline is {quoted(seconds)}: expected seconds above 0, as in deadline=0.01")
    if not agent.any_action:
        raise InputError(
            f"deadline is {quoted(seconds)}: {type(agent).__name__} learns from its own actions alone; "
            "expected EMUQ, or no deadline"
        )
    if safe is not None:
        space: gym.Space = agent.action_space
        safe = np.asarray(safe, space.dtype)[()]
        if not space.contains(safe):
            raise InputError(f"safe_action is {quoted(safe)}: it is not in {space}")
    return Deadline(float(seconds), safe)


class InTurn:
    """The agent answers, however long that takes."""

    def __init__(self, agent: Agent, under_way: UnderWay) -> None:
        self._agent, self._under_way = agent, under_way
        self._learned: list[Pair] = []

    def answer(self, transition: Transition, step: Step, *, over: bool) -> Any:
        """Learn from a transition; the next command, which is of no use where the episode is `over`."""
        action = learn(self._agent, self._under_way, transition)
        self._learned.append((transition, step))
        return action

    def learned(self) -> list[Pair]:
        """What was learned from since the last call."""
        found, self._learned = self._learned, []
        return found

    def close(self) -> None:
        """Nothing is under way."""


class InTime:
    """The agent answers within a deadline, or something else is sent."""

    def __init__(
        self, agent: Agent, under_way: UnderWay, deadline: Deadline, thread: ThreadPoolExecutor
    ) -> None:
        self._agent, self._under_way, self._deadline, self._thread = agent, under_way, deadline, thread
        self._waiting: list[Pair] = []
        self._newest: Future | None = None
        self._failed: BaseException | None = None
        under_way.missed = 0

    def answer(self, transition: Transition, step: Step, *, over: bool) -> Any:
        self._waiting.append((transition, step))
        self._newest = self._thread.submit(self._learn, transition)
        wait([self._newest], None if over else self._deadline.seconds)
        if self._failed is not None:
            raise self._failed
        if self._newest.done():
            return self._newest.result()
        assert self._under_way.missed is not None
        self._under_way.missed += 1
        return transition.action if self._deadline.safe is None else self._deadline.safe

    def learned(self) -> list[Pair]:
        """... and nothing while the agent is busy, so that whoever is told may look at it."""
        if self._newest is None or not self._newest.done():
            return []
        found, self._waiting = self._waiting, []
        return found

    def close(self) -> None:
        """Wait until all is learned from."""
        if self._newest is not None:
            wait([self._newest])

    def _learn(self, transition: Transition) -> Any:
        if self._failed is not None:  # what came after it is not learned from
            return None
        try:
            return learn(self._agent, self._under_way, transition)
        except BaseException as error:
            self._failed = error
            return None


def learn(agent: Agent, under_way: UnderWay, transition: Transition) -> Any:
    """The agent learns from a transition, and the row of its episode with it."""
    under_way.add(transition.reward, transition.goal)
    action = agent._advance(transition)
    under_way.learn()
    return action
