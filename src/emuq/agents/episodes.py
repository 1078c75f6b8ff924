"""What episodes are made of: their seeds, their steps, and what callbacks are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from emuq.errors import InputError, quoted
from emuq.history import Episode

if TYPE_CHECKING:
    from emuq.agents.base import Agent


class Transition(NamedTuple):
    """One step of an environment.

    Attributes:
        observation: Where it began.
        action: What was done.
        reward: What it brought.
        next_observation: Where it led.
        terminated: Whether the episode is over.
        truncated: Whether it was cut.
        goal: True on the step that reached the goal.

    Examples:
        >>> seen = []
        >>> def see(event): seen.append(event.transition.reward) if event.kind == "step" else None
        >>> history = agent.learn(steps=3, callback=see, progress=False)
        >>> seen
        [0.0, 0.0, 0.0]
    """

    observation: Any
    action: Any
    reward: float
    next_observation: Any
    terminated: bool
    truncated: bool
    goal: bool


def check_finite(transition: Transition, number: int) -> None:
    """The reward and the action of step `number` are finite."""
    for name in ("reward", "action"):
        if not np.isfinite(getattr(transition, name)).all():
            given = f"{name} is {getattr(transition, name)} at step {number}"
            raise InputError(f"{given}: expected finite numbers")


class UnderWay:
    """The episode that an agent is in, as the row of the history that it will be if it ends now."""

    def __init__(self, kappa: float, steps: int) -> None:
        self.learned = self._latest = Episode(0.0, 0, False, kappa, steps)
        self.missed: int | None = None  # deadlines; None: there was none

    def add(self, reward: float, goal: bool) -> None:
        """A step was made ..."""
        total, length, _, kappa, steps, _ = self.learned
        self._latest = Episode(total + reward, length + 1, goal, kappa, steps + 1)

    def learn(self) -> None:
        """... and learned from."""
        self.learned = self._latest

    def row(self, steps: int) -> Episode:
        """The row of an agent that has learned from so many steps: with the latest, or without."""
        row = self._latest if self._latest.steps == steps else self.learned
        return row._replace(missed=self.missed)


class Event(NamedTuple):
    """What a callback gets. Returning False stops learning.

    Attributes:
        kind: "step" or "episode".
        agent: The agent that learns.
        transition: The step, if it is one.
        episode: The episode that has ended, if one has.

    Examples:
        >>> def once(event): return event.kind != "episode"
        >>> len(agent.learn(episodes=10, callback=once, progress=False))
        1
    """

    kind: str
    agent: Agent
    transition: Transition | None = None
    episode: Episode | None = None


Callback = Callable[[Event], bool | None]


def as_callback(given: Callback | Sequence[Callback] | None) -> Callback | None:
    """One callback of one, of several (all of them hear every event), or of none."""
    several: Sequence[Any] = given if isinstance(given, Sequence) else () if given is None else (given,)
    for one in several:
        if not callable(one):
            raise InputError(
                f"callback is {quoted(one)}: expected a function of an event, or a list of them, as in "
                "learn(callback=lambda event: print(event.episode))"
            )
    if not several:
        return None

    def tell(event: Event) -> bool:
        answers = [one(event) for one in several]
        return not any(answer is False for answer in answers)

    return tell


def reset_seed(seed: int, *stream: int, test: bool = False) -> int:
    """The seed of an episode's reset: learning episodes and tests draw from streams that never meet."""
    return int(np.random.SeedSequence([seed, int(test), *stream]).generate_state(1)[0] >> 1)
