"""The loop over a batch, on the host: steps of all runs, then plans and looks of those for which it is time.

    advance to the next count at which anything may be due  ->  record episodes, drop runs that are done
    ->  fold, plan, look

All runs have made equally many steps. They live in groups of a fixed size; two groups that are half empty
become one, so that a run that is done costs next to nothing and nothing is compiled for another size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from emuq.agents.emuq import schedule
from emuq.batch import programs
from emuq.batch.programs import Clock, Kind
from emuq.batch.single import Row, Run, Tables

GROW = 4  # times the room for transitions, when there is none left


class Sizes(NamedTuple):
    """How many runs step, plan and look at a time."""

    group: int
    plan: int
    look: int


class Task(NamedTuple):
    """What is run, and for how long."""

    kind: Kind
    numbers: dict[str, Any]  # the domain's
    tables: Tables
    sizes: Sizes
    episodes: int | None
    steps: int | None
    until_goal: bool


class Group:
    """Runs on the device, and which run each place holds: -1 for nobody any more."""

    def __init__(self, runs: Run, who: np.ndarray) -> None:
        self.runs, self.who = runs, who

    @property
    def alive(self) -> np.ndarray:
        return np.flatnonzero(self.who >= 0)


class Driver:
    """One wave of runs, from their first step to their last."""

    def __init__(self, task: Task, keys: jax.Array, seeds: np.ndarray, own: dict[str, np.ndarray]) -> None:
        self._task, self._episodes = task, np.zeros(len(seeds), int)
        self._rows: list[np.ndarray] = []
        self.count = self._used = self._planned = 0
        self._looked = False
        size = task.sizes.group
        self.groups = []
        for begin in range(0, len(seeds), size):
            who = np.arange(begin, begin + size)
            who = np.where(who < len(seeds), who, -1)
            at = np.maximum(who, 0)
            runs = programs.first(
                task.kind, task.numbers, task.tables, keys[at], seeds[at], {n: x[at] for n, x in own.items()}
            )
            self.groups.append(Group(runs, who))
        self._room = self.groups[0].runs.agent.state.data.rewards.shape[1]

    def run(self) -> np.ndarray:
        """All of it; rows of [run, return, length, goal, kappa], one for each episode, in their order."""
        while self.groups:
            self.advance()
        return np.concatenate(self._rows) if self._rows else np.zeros((0, 5))

    def advance(self) -> None:
        """To the next count at which anything may be due, and what is due there."""
        task, options = self._task, self._task.kind.options
        due = schedule.plan_after(options, self.count)
        stop = min(x for x in self._stops(due) if x is not None)
        if stop > self._room:
            self._grow()
        clock, steps = self._clock(0), np.int32(stop - self.count)
        told = []
        for group in self.groups:
            group.runs, *rest = programs.advance(
                task.kind, self._looked, task.numbers, task.tables, group.runs, clock, steps
            )
            told.append(rest)
        self._used, self.count = self._used + int(steps), stop
        wishes = []
        for group, (log, wish) in zip(self.groups, told, strict=True):
            self._record(group, Row(*(np.asarray(x)[: int(steps)] for x in log)))
            wishes.append([np.asarray(x) & (group.who >= 0) for x in wish])
        pairs = [(g, w) for g, w in zip(self.groups, wishes, strict=True) if len(g.alive)]
        if pairs and stop == due:
            self._plan(pairs)
        elif self._used == schedule.BLOCK:
            for group, _ in pairs:
                group.runs = programs.fold(group.runs)
            self._used = 0
        if pairs and schedule.may_look(options, stop):
            self._look(pairs)
        self.groups = _packed([group for group, _ in pairs], task.sizes.group)

    def _stops(self, due: int | None) -> Sequence[int | None]:
        """The counts at which something may happen next."""
        options, count = self._task.kind.options, self.count
        look = (count // schedule.LOOK_INTERVAL + 1) * schedule.LOOK_INTERVAL if options.lookahead else None
        return due, look, count + schedule.BLOCK - self._used, self._task.steps

    def _clock(self, counted: int) -> Clock:
        return Clock(jnp.int32(self.count), jnp.int32(self._used), jnp.int32(counted))

    def _record(self, group: Group, log: Row) -> None:
        """Episodes that ended in these steps, in their order; runs that are done leave their places."""
        last = self.count == self._task.steps
        over = log.over & (group.who >= 0)
        if last:
            over[-1] = group.who >= 0  # the episode under way is cut
        for i, place in zip(*np.nonzero(over), strict=True):
            run = group.who[place]
            if run < 0:  # done since
                continue
            goal = bool(log.goal[i, place])
            row = run, log.total[i, place], log.length[i, place], goal, log.kappa[i, place]
            self._rows.append(np.array([row], float))
            self._episodes[run] += 1
            if (goal and self._task.until_goal) or self._episodes[run] == self._task.episodes:
                group.who[place] = -1
        if last:
            group.who[:] = -1

    def _plan(self, pairs: list[tuple[Group, list[np.ndarray]]]) -> None:
        task, kind = self._task, self._task.kind
        for group, (plan, draw, _) in pairs:
            alive = group.who >= 0
            plan, draw = plan & alive, draw & plan & alive
            if np.any(alive & ~plan):
                group.runs = programs.fold(group.runs)
            planned = np.asarray(group.runs.agent.course.planned)
            late = plan & ~draw & (planned != self._planned)
            if late.any():  # they did not plan the last time
                group.runs = programs.recount(kind, group.runs, late)
            for anew, which, counted in (
                (False, plan & ~draw & ~late, self._planned),
                (False, late, 0),
                (True, draw, 0),
            ):
                for chosen in _chunks(which, task.sizes.plan):
                    group.runs = programs.plan(
                        kind, anew, task.tables, group.runs, self._clock(counted), chosen
                    )
        self._used, self._planned = 0, self.count

    def _look(self, pairs: list[tuple[Group, list[np.ndarray]]]) -> None:
        for group, (*_, look) in pairs:
            for chosen in _chunks(look & (group.who >= 0), self._task.sizes.look):
                group.runs = programs.look(self._task.kind, group.runs, self._clock(0), chosen)
                self._looked = True

    def _grow(self) -> None:
        self._room *= GROW
        for group in self.groups:
            group.runs = programs.grown(group.runs, GROW)


def _chunks(which: np.ndarray, size: int) -> list[np.ndarray]:
    """The places that are true, so many at a time; what is left is filled up with places beyond all."""
    places = np.flatnonzero(which)
    room = -(-len(places) // size) * size
    filled = np.concatenate([places, np.full(room - len(places), len(which))])
    return list(filled.astype(np.int32).reshape(-1, size))


def _packed(groups: list[Group], size: int) -> list[Group]:
    """Two groups that fit in one become one, as long as there are any."""
    groups = sorted((group for group in groups if len(group.alive)), key=lambda group: len(group.alive))
    while len(groups) > 1 and len(groups[0].alive) + len(groups[1].alive) <= size:
        left, right, *groups = groups
        places = np.concatenate([left.alive, size + right.alive])
        who = np.full(size, -1)
        who[: len(places)] = np.concatenate([left.who, right.who])[places]
        chosen = np.concatenate([places, np.full(size - len(places), places[0])]).astype(np.int32)
        groups.append(Group(programs.merged(left.runs, right.runs, chosen), who))
        groups.sort(key=lambda group: len(group.alive))
    return groups
