"""EMU-Q where states repeat: `Runtime`'s contract over a `Table`, without anything to compile.

What is near says nothing here: a state is known by its exact numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emuq.agents.actions import Actions
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.table import Table, balance, empty, novelty, planned, sized

LARGEST = 100_000  # states of a space up to which each is taken for one of its own
ONE_HOT = 8  # numbers from which on a vector with a single 1 is taken for the name of a state


class ExactRuntime:
    """`Runtime`'s contract over a `Table`. Observations are told apart by their exact numbers."""

    def __init__(self, dim: int, actions: Actions, options: Options, seed: int, room: int = 256) -> None:
        self._options, self._dims = options, (dim, actions.dim)
        self._number = len(actions.candidates)
        self._candidates = {row.tobytes(): i for i, row in enumerate(actions.candidates)}
        self._seed = seed
        self.used = 0
        self.rewarded = False  # which is the same to a table
        self.apart = False  # rows of several episodes come mixed, which is the same to a table
        self.replace(empty(dim, self._number, room))

    @property
    def capacity(self) -> int:
        return max(len(rows) for rows in (self._table.states, self._table.steps, self._table.log))

    @property
    def count(self) -> int:
        return int(self._table.counts[2])

    @property
    def settled(self) -> bool:
        return bool(self._table.counts[4])

    def whole_state(self) -> Table:
        """All that is known, in tables of the same room; it belongs to the runtime."""
        return sized(self._table, self.capacity, self._number)

    def visited(self) -> np.ndarray:
        """The state that each transition began in, as rows."""
        return self._table.states[self._table.log[: self.count, 0].astype(int) // self._number]

    def transitions(self, candidates: np.ndarray) -> tuple[np.ndarray, ...]:
        """States, actions (rows of `candidates`), rewards, next states and terminal, in their order."""
        place, rewards, following, terminal = self._table.log[: self.count].T
        units = candidates[place.astype(int) % self._number]
        after = self._table.states[following.astype(int)]
        return self.visited(), units, rewards.copy(), after, terminal.astype(bool)

    def replace(self, table: Table) -> None:
        """Go on with another table."""
        self._table = Table(*(np.array(rows) for rows in table))
        states, different = self._table.counts[:2]
        self._names = {row.tobytes(): i for i, row in enumerate(self._table.states[:states])}
        rows = self._table.steps[:different, :3].tolist()
        self._steps = {tuple(row): i for i, row in enumerate(rows)}

    def state_of(self, observation: np.ndarray, *, new: bool) -> int | None:
        """The number of a state; of one never seen a new one, or None."""
        name = (observation + 0.0).tobytes()  # -0.0 is 0.0
        if name in self._names or not new:
            return self._names.get(name)
        table, number = self._table, len(self._names)
        if number == len(table.states):
            doubled = (np.concatenate([x, np.zeros_like(x)]) for x in table[:4])
            self._table = table = Table._make([*doubled, *table[4:]])
        table.states[number] = observation
        table.counts[0] = number + 1
        self._names[name] = number
        return number

    def begin(self, observation: np.ndarray, kappa: float) -> int:
        """An episode begins here: plan if there is something new, then the first action."""
        self._start = self.state_of(observation, new=True)
        if self._table.counts[3] < self.count:
            self.plan(kappa)
        return self._best(self._start, kappa)

    def row(
        self, observation: Any, unit: Any, reward: float, following: Any, terminal: bool, kappa: float
    ) -> np.ndarray:
        """A transition as one array, as `programs` says."""
        return np.concatenate([observation, unit, [reward], following, [terminal, kappa, 0.0, self.count]])

    def step(self, row: np.ndarray) -> int:
        """Count a transition, back its pair up, then choose the next action."""
        s, a = self._dims
        observation, unit, (reward,), following, (ends, kappa, *_) = np.split(
            row, [s, s + a, s + a + 1, 2 * s + a + 1]
        )
        terminal = bool(ends)
        state, after = self.state_of(observation, new=True), self.state_of(following, new=True)
        assert state is not None
        assert after is not None
        place, rules = state * self._number + self._candidates[unit.tobytes()], self._options.rules
        assert self._start is not None
        goes_on = self._start if terminal and self._options.exploration_end == "reset" else after
        key = (place, goes_on, int(terminal))
        if key not in self._steps:
            different = self._steps[key] = len(self._steps)
            table = self._table
            if different == len(table.steps):
                more = (np.concatenate([x, np.zeros_like(x)]) for x in (table.steps, table.rewards))
                self._table = table._replace(**dict(zip(("steps", "rewards"), more, strict=True)))
            self._table.steps[different, :3] = key
            self._table.counts[1] = different + 1
        if self.count == len(self._table.log):
            self._table = self._table._replace(log=np.concatenate([self._table.log] * 2))
        table, i = self._table, self._steps[key]
        table.log[self.count] = place, reward, after, terminal
        table.steps[i, 3] += 1
        table.rewards[i] += reward
        table.visits[place] += 1
        table.counts[2] += 1
        extreme = reward if terminal else reward / (1 - rules.discount)
        table.q_bounds[:] = min(table.q_bounds[0], extreme), max(table.q_bounds[1], extreme)
        self._back_up(place, reward, goes_on, terminal, kappa)
        return self._best(after, kappa)

    def _back_up(self, place: int, reward: float, after: int, terminal: bool, kappa: float) -> None:
        """m <- m + g (t - m) for one pair: the rank-1 update, S being a diagonal."""
        table, rules, options = self._table, self._options.rules, self._options
        there = slice(after * self._number, (after + 1) * self._number)
        q, u = table.q[there], table.u[there]
        bonus = novelty(table.visits[there], self._number, options)[0]
        best = balance(q, u, kappa if kappa > 0 else 1.0).argmax()
        target_q = reward + rules.discount * (0.0 if terminal else float(q.max()))
        target_u = bonus + rules.u_discount * (0.0 if terminal and rules.u_stops else float(u[best]))
        gain = options.noise_precision
        gain = gain / (options.prior_precision + gain * table.visits[place])
        table.q[place] += gain * (target_q - table.q[place])
        table.u[place] += gain * (target_u - table.u[place])

    def plan(self, kappa: float) -> None:
        """Plan on all data."""
        self._table = planned(self._table, self._number, kappa, self._options)
        self.used = 0

    def gather(self, first: int, places: np.ndarray, length: int) -> None:
        """The transitions from `first` on, in the order of these places."""
        self._table.log[first : first + len(places)] = self._table.log[places]

    def fold(self) -> None:
        """S has nothing that waits."""

    def finish(self) -> None:
        """An episode is over: a table has no use for that."""

    def act_greedily(self, observation: np.ndarray, kappa: float) -> int:
        """argmax_a Q + kappa U, learning nothing."""
        return self._best(self.state_of(observation, new=False), kappa)

    def _best(self, state: int | None, kappa: float) -> int:
        """argmax; among equals one drawn from the seed and the number of transitions."""
        total = np.zeros(self._number)
        if state is not None:
            there = slice(state * self._number, (state + 1) * self._number)
            total = balance(self._table.q[there], self._table.u[there], kappa)
        best = np.flatnonzero(total >= total.max())
        if len(best) == 1:
            return int(best[0])
        return int(np.random.default_rng((self._seed, self.count)).choice(best))

    def values(
        self, observations: np.ndarray, units: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Q, U and the variance of Q, for rows of observations and actions."""
        states = [self.state_of(row, new=False) for row in observations]
        known = np.array([state is not None for state in states])
        action = np.array([self._candidates[row.tobytes()] for row in np.ascontiguousarray(units)])
        at = np.array([state or 0 for state in states]) * self._number + action
        q, u, n = (np.where(known, x[at], 0.0) for x in (self._table.q, self._table.u, self._table.visits))
        return q, u, 1 / (self._options.prior_precision + self._options.noise_precision * n)


def names_a_state(observation: np.ndarray) -> bool:
    """Whether a vector is a one-hot one, long enough not to be so by chance."""
    return len(observation) >= ONE_HOT and np.count_nonzero(observation) == 1 and observation.max() == 1.0
