"""An agent's state while it learns: all that is done for speed alone, behind one contract.

A `Runtime` stands for one `State`, and each of its calls changes that state as a pure function would:

    step      learn.observe, then act.act_on: one transition, and the next action
    fold      nothing: S = S_0 - V'V is the same matrix however much of V is in S_0 already
    begin     learn.begin, then act.act
    finish    learn.finish
    gather    transitions.gathered
    plan      plan.plan, or plan.plan_anew on new features
    look      plan.look

`whole_state()` is that state; it uploads and waits, and is not for every step. Its arrays belong to the
runtime: they can be read until the next call, which may give them away (donated buffers). The same holds for
a state that is handed in by `replace`. What is done for speed:

- A step is one compiled call, is given three arrays to change, and reads five more, since each one takes
  time to pass on: small arrays are packed into one (`programs.Reading`). So is what begins an episode.
- Transitions wait on the host, as rows, until something needs the data; then they are uploaded, a block at a
  time.
- S_0 <- S_0 - V'V with its T takes about a millisecond, several times a step, so that many rows are taken in
  at once.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from emuq.agents.emuq import programs
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.programs import EXTRA
from emuq.agents.emuq.schedule import BLOCK
from emuq.agents.emuq.state import Choices, State
from emuq.planning import transitions
from emuq.planning.support import Lookahead
from emuq.precision import double


class Runtime:
    """One state, its rows that wait, and at most one fold under way. Steps are made in double precision."""

    def __init__(self, state: State, scale: np.ndarray, choices: Choices, options: Options) -> None:
        self._options, self._choices, self._scale = options, choices, jnp.asarray(scale)
        self._states, self._row = state.start.shape[0], np.zeros(scale.shape[1])
        unpack = programs.unpacking(state)
        self._begin, self._step = programs.begin(unpack), programs.step(unpack, options)
        self._follow = programs.follow(unpack, options)
        self._lent = False  # the data are being read by another thread
        self.beside = False  # another thread may be reading the state (`background`)
        self._waiting: list[np.ndarray] = []
        self._over: list[bool] = []  # whether an episode is over after each of these
        self.looked = False  # ahead, at least once: before that Q is linear in its weights
        self.rewarded = False  # there is something to look ahead to
        self._first_look: tuple[int, State] | None = None  # for a user, at so many transitions
        self.apart = False  # rows of several episodes come mixed: none says what follows on another
        self.count = self.used = 0  # transitions so far; rows of V that are filled
        self.replace(state)

    # The state ----------------------------------------------------------------------------------------------

    def whole_state(self) -> State:
        """The whole state as it is now: uploads the transitions that wait."""
        self.upload()
        return programs.join(self._moving, self._fixed)

    def replace(self, state: State) -> None:
        """Go on with another state."""
        with double():
            self._keep(state)

    def rescale(self, state: State, scale: np.ndarray) -> None:
        """Go on with a state for which rows are scaled otherwise."""
        self._scale = jnp.asarray(scale)
        self.replace(state)

    def _keep(self, state: State) -> None:
        """Go on with a state whose S is as it was."""
        self._moving, self._fixed = programs.split(state)
        self._reading = programs.reading(self._fixed)
        self.capacity = len(state.data.rewards)

    def upload(self) -> None:
        """The transitions that wait, among the data; twice the room where there is none left."""
        if not self._waiting:
            return
        size, fixed = BLOCK, self._fixed
        data, blocked = fixed.data, fixed.blocked._replace(used=jnp.int32(self.used))
        while self.capacity < self.count:
            data, self.capacity = transitions.grown(data), 2 * self.capacity
        for i in range(0, len(self._waiting), size):  # always as many, so that they need one program
            some = self._waiting[i : i + size]
            rows, over = np.zeros((size, len(some[0]))), np.zeros(size, bool)
            rows[: len(some)], over[: len(some)] = some, self._over[i : i + size]
            store = (programs.KEPT if self._lent else programs.GIVEN).store
            data, self._lent = store(data, self._scale, rows, over, np.int32(len(some))), False
        self._waiting, self._over = [], []
        self._fixed = fixed._replace(blocked=blocked, data=data)

    # A step -------------------------------------------------------------------------------------------------

    def row(
        self, observation: Any, action: Any, reward: float, following: Any, terminal: bool, kappa: float
    ) -> np.ndarray:
        """A transition as one array, as `programs` says."""
        row, s = np.empty_like(self._row), self._states
        row[:s] = observation
        row[s : -EXTRA - 1 - s] = action
        row[-EXTRA - 1 - s] = reward
        row[-EXTRA - s : -EXTRA] = following
        row[-EXTRA:] = terminal, kappa, self.used, self.count
        return row

    def step(self, row: np.ndarray) -> jax.Array:
        """Learn from a transition, then choose the next action, as an index."""
        policy = self._fixed.lookahead if self.looked else None
        self._moving, index = self._step(self._moving, self._reading, self._scale, row, policy)
        self._waiting.append(row)
        self._over.append(self.apart)
        self.count, self.used = self.count + 1, self.used + 1
        return index

    def fold(self) -> None:
        """The older half of the rows is taken in once all are filled."""
        if self.used < BLOCK:
            return
        moving, fixed = self._moving, self._fixed
        rows, older = programs.move_up(moving.rows)
        covariance, form = programs.fold(fixed.blocked.covariance, older, fixed.basis)
        self.used = BLOCK // 2
        self._moving = moving._replace(rows=rows)
        self._fixed = fixed._replace(blocked=fixed.blocked._replace(covariance=covariance), form=form)
        self._reading = self._reading._replace(covariance=covariance, form=form)

    @property
    def fills(self) -> bool:
        """Half of the room is taken now, or all of it, so that it is about to double."""
        return self.count in (self.capacity // 2, self.capacity)

    # Episodes and plans -------------------------------------------------------------------------------------

    def begin(self, observation: np.ndarray, kappa: float) -> jax.Array:
        """An episode begins at this observation, not scaled yet: its first action, as an index."""
        policy = self._fixed.lookahead if self.looked else None
        row = self.row(observation, 0.0, 0.0, observation, False, kappa)
        start, index = self._begin(self._moving, self._reading, self._scale, row, policy)
        self._fixed, self._reading = self._fixed._replace(start=start), self._reading._replace(start=start)
        return index

    def finish(self) -> None:
        """An episode is over."""
        if self._over:
            self._over[-1] = True
            return
        data = self._fixed.data
        self._fixed = self._fixed._replace(data=data._replace(ended=programs.finished(data)))

    def gather(self, first: int, places: np.ndarray, length: int) -> None:
        """Transitions from `first` on in the order of these places; the first `length` are an episode."""
        state = self.whole_state()
        order = np.arange(self.capacity)
        order[first : first + len(places)] = places
        data = programs.gathered(state.data, order, np.int32(first), np.int32(length))
        if first < int(state.counted) < self.count:  # Phi'Phi would be of others: the next plan has it anew
            prior = jnp.eye(len(state.gram)) / self._options.prior_precision
            state = state._replace(gram=0 * state.gram, covariance=prior, counted=0 * state.counted)
        self._keep(state._replace(data=data))

    def plan(self, kappa: float) -> None:
        """Plan on all data."""
        self.replace(self._calls.plan(self.whole_state(), kappa, self._options))
        self.used = 0

    def plan_anew(self, kappa: float, episodes: int) -> None:
        """Plan on all data, on new features, after so many episodes."""
        state, episode = self.whole_state(), np.int32(episodes)
        self.replace(self._calls.plan_anew(state, self._choices, kappa, episode, self._options))
        self.used = 0

    def look(self) -> None:
        """Look ahead on all data: S is as it was."""
        self.looked, self._first_look = True, None
        self._keep(self._calls.look(self.whole_state(), self._options))

    # Beside the loop ----------------------------------------------------------------------------------------

    @property
    def _calls(self) -> programs.Calls:
        return programs.KEPT if self.beside else programs.GIVEN

    @property
    def waiting(self) -> int:
        """Transitions that are not among the data yet."""
        return len(self._waiting)

    @property
    def choices(self) -> Choices:
        return self._choices

    @property
    def options(self) -> Options:
        return self._options

    @property
    def scale(self) -> Array:
        """By which rows are scaled."""
        return self._scale

    @property
    def start(self) -> np.ndarray:
        """Where the episode began."""
        return np.asarray(self._fixed.start)

    def snapshot(self) -> State:
        """The state as it is now, for another thread to read."""
        self.whole_state()
        self._lent = True
        return programs.join(programs.copied(self._moving), self._fixed)

    def follow(self, state: State, scale: Array, rows: np.ndarray, starts: np.ndarray, number: int) -> State:
        """Another state, once it has learned from these transitions as steps do."""
        moving, fixed = programs.split(state)
        reading = programs.reading(fixed)
        return programs.join(self._follow(moving, reading, scale, rows, starts, np.int32(number)), fixed)

    def take_plan(self, planned: State, used: int) -> None:
        """Go on with what was planned elsewhere; all else is as it is here."""
        names = ("basis", "form", "gram", "covariance", "counted", "converged")
        parts = {name: getattr(planned, name) for name in names}
        self.replace(self.whole_state()._replace(blocked=planned.blocked, **parts))
        self.used, self._lent = used, False

    def take_look(self, found: Lookahead) -> None:
        """Go on with what was found elsewhere."""
        self.looked, self._lent, self._first_look = True, False, None
        self._keep(self.whole_state()._replace(lookahead=found))

    def known(self) -> tuple[State, bool]:
        """What a user is told of, and whether it looks ahead: also before the first look is due."""
        state = self.whole_state()
        if self.looked or not (self.rewarded and self._options.lookahead):
            return state, self.looked
        if self._first_look is None or self._first_look[0] != self.count:
            own = state if self.beside else jax.tree.map(jnp.copy, state)  # given away
            self._first_look = self.count, self._calls.look(own, self._options)
        return self._first_look[1], True

    def act_greedily(self, scaled: np.ndarray, kappa: float) -> jax.Array:
        """What a user is given: the best action, as an index; nothing is learned."""
        state, looks = self.known()
        return programs.act_at(state, scaled, kappa, looks)

    def values(self, scaled: np.ndarray, units: np.ndarray) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Q, U and the variance of Q, for rows of states and actions."""
        state, looks = self.known()
        return programs.values(state, scaled, units, looks)
