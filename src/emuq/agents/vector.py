"""The loop over copies of an environment that step together, with one agent.

Every transition of every copy is learned from as it comes, copy after copy, and the copy's next action is
chosen then. So an agent's newest transitions are of several episodes that are under way; when one of them
ends, its transitions are gathered (`Beside.gather`), so that closed episodes lie one after another in the
order in which they ended, which is the history's.

The first copy leads: new features are drawn as its episodes begin. Episodes that are under way when learning
stops are cut: they have their rows in the history, and kappa's controller does not hear of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

from emuq.agents.copies import Copies
from emuq.agents.episodes import Callback, Event, Transition
from emuq.agents.interrupts import Interrupts
from emuq.agents.readings import Step, looks_like_a_goal
from emuq.agents.summary import remark
from emuq.errors import InputError
from emuq.history import Episode
from emuq.kappa import Outcome
from emuq.progress import Progress

if TYPE_CHECKING:
    from emuq.agents.base import Agent

LEADER = 0


class Beside(Protocol):
    """What an agent has to do for episodes that are under way beside one another."""

    def open(self) -> None:
        """From now on transitions of several episodes come mixed."""

    def close(self) -> None:
        """From now on they do not."""

    def begin(self, observation: Any) -> Any:
        """An episode that does not lead begins here, or ends that began here: its first action."""

    def gather(self, first: int, order: list[int], length: int) -> None:
        """Transitions from `first` on come in this order; the first `length` of them are an episode."""

    def finish(self, episode: Episode) -> None:
        """An episode is over."""


class Under:
    """The episode that a copy is in."""

    def __init__(self, start: Any, kappa: float) -> None:
        self.start = self.observation = start
        self.total, self.length, self.goal, self.kappa = 0.0, 0, False, kappa
        self.most = -math.inf  # the largest reward
        self.told = False  # the environment says whether its goal was reached

    def add(self, observation: Any, reward: float, goal: bool) -> None:
        """One more step was learned from."""
        self.observation, self.goal = observation, goal
        self.total, self.length = self.total + reward, self.length + 1
        self.most = max(self.most, reward)


class Together:
    """Episodes of all copies, of one call of `learn`."""

    def __init__(
        self, agent: Agent, copies: Copies, callback: Callback | None, bar: Progress, ears: Interrupts
    ) -> None:
        if agent.controller.test_episodes:
            raise InputError(
                f"kappa is {agent.controller}, which tests the policy in episodes of its own: expected a "
                "controller without tests where copies step together; use UntilGoal, Budget or Decay, or a "
                "single environment"
            )
        self._agent, self._copies, self._bar, self._beside = agent, copies, bar, agent._beside()
        self._callback, self._ears = callback, ears
        self._under: list[Under | None] = [None for _ in range(copies.num)]
        self._actions: list[Any] = [copies.action_space.sample() for _ in range(copies.num)]
        self._owners: list[int] = []  # the copy of each transition of an episode that is under way
        self._closed = agent.num_transitions

    def learn(self, episodes: int | None, steps: int | None, until: str | None) -> None:
        """Until so many episodes have ended, or so many steps were learned from, or the goal is reached."""
        agent = self._agent
        last = None if steps is None else agent.num_transitions + steps
        most = None if episodes is None else len(agent.history) + episodes
        try:
            for i, observation in enumerate(self._ears.during(self._copies.reset, self._seeds())):
                self._begin(i, observation)
            while self._round(last, most, until):
                pass
        finally:
            self._cut()

    def _round(self, last: int | None, most: int | None, until: str | None) -> bool:
        """A step of every copy; whether learning is to go on."""
        number = self._agent.num_transitions + 1
        steps, began = self._ears.during(self._copies.step, self._actions, self._seeds(), number)
        for i, step in enumerate(steps):
            if step is None:
                continue
            row, go_on = self._learn(i, step)
            found = row is not None and row.goal and until == "goal"
            if not go_on or found or self._agent.num_transitions == last or len(self._agent.history) == most:
                return False
        for i, observation in enumerate(began):
            if observation is not None:
                self._begin(i, observation)
        return True

    def _begin(self, i: int, observation: Any) -> None:
        agent = self._agent
        self._under[i] = Under(observation, agent.kappa)
        if i == LEADER:
            self._actions[i] = agent._start(observation)
            self._beside.open()
        else:
            self._actions[i] = self._beside.begin(observation)

    def _learn(self, i: int, step: Step) -> tuple[Episode | None, bool]:
        """One copy's transition: the row of its episode if that has ended, and whether to go on."""
        agent, under = self._agent, self._under[i]
        assert under is not None
        over = step.terminated or step.truncated
        told = step.goal if step.told else looks_like_a_goal(step.terminated, step.reward, under.most)
        goal = over and told
        ends = step.terminated, step.truncated, goal
        transition = Transition(under.observation, self._actions[i], step.reward, step.observation, *ends)
        if over:
            self._beside.begin(under.start)
        count = agent.num_transitions
        try:
            self._actions[i] = agent._advance(transition)
        finally:
            if agent.num_transitions > count:
                self._owners.append(i)
                under.add(step.observation, step.reward, goal)
                under.told = step.told
        agent._doubts.step(agent, step)
        self._bar.step()
        go_on = self._tell(Event("step", agent, transition))
        if not over:
            return None, go_on
        row = self._close(i, under)
        self._bar.episode(row, lambda: remark(self._agent))
        go_on = self._tell(Event("episode", agent, None, row)) and go_on
        agent._doubts.episode(agent)
        return row, go_on

    def _close(self, i: int, under: Under, *, cut: bool = False) -> Episode:
        """The episode is over: its transitions together, its row, and what kappa's controller makes of it."""
        agent, first = self._agent, self._closed
        mine = [j for j, owner in enumerate(self._owners) if owner == i]
        others = [j for j, owner in enumerate(self._owners) if owner != i]
        self._beside.gather(first, mine + others, under.length)
        self._owners = [self._owners[j] for j in others]
        self._under[i], self._closed = None, first + under.length
        row = Episode(under.total, under.length, under.goal, under.kappa, self._closed)
        agent.history.append(row)
        try:
            self._beside.finish(row)
        finally:
            if not cut:
                outcome = Outcome(row.total_return, row.goal, None, under.told)
                agent._control(agent.controller.update(agent._controller_state, outcome))
        return row

    def _cut(self) -> None:
        """Learning stops: every episode under way is closed, if something was learned from it."""
        for i, under in enumerate(self._under):
            if under is not None and under.length:
                self._close(i, under, cut=True)
        self._beside.close()

    def _tell(self, event: Event) -> bool:
        return self._callback is None or self._ears.during(self._callback, event) is not False

    def _seeds(self) -> list[int]:
        return [self._agent._reset_seed(len(self._agent.history), i) for i in range(self._copies.num)]
