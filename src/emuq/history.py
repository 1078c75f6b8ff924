"""What happened, one row an episode."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload


class Episode(NamedTuple):
    """One finished episode.

    Attributes:
        total_return: The sum of its rewards.
        length: Its steps.
        goal: Whether it reached the goal.
        kappa: The weight of exploration as it began.
        steps: Steps of the environment since the agent was made, with this episode's.
        missed: Steps in which the agent's command came too late; None where there was no deadline.

    Examples:
        >>> agent.history[-1].goal
        True
    """

    total_return: float
    length: int
    goal: bool
    kappa: float
    steps: int
    missed: int | None = None


_NAMES = ("return", *Episode._fields[1:])


class History(Sequence[Episode]):
    """A small table of episodes, one row each.

    Args:
        episodes: The rows.

    Examples:
        >>> history = agent.learn(episodes=5, progress=False)
        >>> history
        History(5 episodes, 5 goals, first in episode 1)
        >>> history[:2].to_dict()["goal"]
        [True, True]
    """

    def __init__(self, episodes: Sequence[Episode] = ()) -> None:
        self._episodes = list(episodes)

    def append(self, episode: Episode) -> None:
        self._episodes.append(episode)

    def to_dict(self) -> dict[str, list]:
        """Columns `return`, `length`, `goal`, `kappa`, `steps`; and `missed`, where there was a deadline."""
        columns = zip(*self._episodes, strict=True) if self._episodes else ([],) * len(Episode._fields)
        found = {name: list(column) for name, column in zip(_NAMES, columns, strict=True)}
        if all(missed is None for missed in found["missed"]):
            del found["missed"]
        return found

    @classmethod
    def from_dict(cls, columns: dict[str, list]) -> History:
        names = [name for name in _NAMES if name != "missed" or name in columns]
        return cls([Episode(*row) for row in zip(*(columns[name] for name in names), strict=True)])

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    @property
    def steps(self) -> int:
        """Environment steps so far, of whole episodes."""
        return self._episodes[-1].steps if self._episodes else 0

    @property
    def first_goal(self) -> int | None:
        """The number (from 1) of the first episode that reached the goal, or None."""
        return next((i for i, episode in enumerate(self, start=1) if episode.goal), None)

    def __len__(self) -> int:
        return len(self._episodes)

    @overload
    def __getitem__(self, index: int) -> Episode: ...
    @overload
    def __getitem__(self, index: slice) -> History: ...
    def __getitem__(self, index: int | slice) -> Episode | History:
        chosen = self._episodes[index]
        return History(chosen) if isinstance(chosen, list) else chosen

    def __iter__(self) -> Iterator[Episode]:
        return iter(self._episodes)

    def __repr__(self) -> str:
        goals = sum(episode.goal for episode in self)
        return f"History({len(self)} episodes, {goals} goals, first in episode {self.first_goal})"
