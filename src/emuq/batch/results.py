"""What became of many runs: tables with a row for each run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Runs(NamedTuple):
    """What became of the runs: a row each, a column for each episode; one that was not made has length 0.

    Attributes:
        seeds: The seed of each run.
        returns: [runs, episodes]
        lengths: Their steps.
        goals: Whether the goal was reached.
        kappas: The weight of exploration in them.

    Examples:
        >>> import numpy as np
        >>> lengths, goals = np.array([[500, 90], [500, 500]]), np.array([[False, True], [False, False]])
        >>> runs = emuq.batch.Runs(np.arange(2), goals * 1.0, lengths, goals, np.ones((2, 2)))
        >>> runs.goal_episode.tolist(), runs.goal_steps.tolist()
        ([2, 0], [590, 0])
    """

    seeds: np.ndarray
    returns: np.ndarray
    lengths: np.ndarray
    goals: np.ndarray
    kappas: np.ndarray

    @property
    def goal_episode(self) -> np.ndarray:
        """The number of the first episode that reached the goal, from 1 on; 0 where none did."""
        return np.where(self.goals.any(axis=1), self.goals.argmax(axis=1) + 1, 0)

    @property
    def goal_steps(self) -> np.ndarray:
        """Steps to the first goal, from the beginning on; 0 where there was none."""
        steps = np.cumsum(self.lengths, axis=1)
        found = self.goal_episode
        return np.where(found > 0, np.take_along_axis(steps, np.maximum(found - 1, 0)[:, None], 1)[:, 0], 0)

    @property
    def steps(self) -> np.ndarray:
        """All steps of each run."""
        return self.lengths.sum(axis=1)


def columns(seeds: np.ndarray, rows: np.ndarray) -> Runs:
    """The table of rows [run, return, length, goal, kappa], which are in each run's own order."""
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    who = rows[:, 0].astype(int)
    numbers = np.bincount(who, minlength=len(seeds))
    place = np.arange(len(rows)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    shape = len(seeds), int(numbers.max(initial=0))
    returns, lengths, kappas = np.zeros(shape), np.zeros(shape, int), np.zeros(shape)
    goals = np.zeros(shape, bool)
    for column, values in (
        (returns, rows[:, 1]),
        (lengths, rows[:, 2]),
        (goals, rows[:, 3]),
        (kappas, rows[:, 4]),
    ):
        column[who, place] = values
    return Runs(seeds.astype(int), returns, lengths, goals, kappas)
