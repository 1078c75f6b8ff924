"""EMU-Q: exploration by minimising the uncertainty of Q (Section 5 of the paper).

    agent = emuq.EMUQ(env, seed=0)
    agent.learn(episodes=10)
    agent.kappa = 0.0

A thin shell over `emuq_core`: it scales observations, knows when to fold and to plan, and makes one compiled
call a step, with three small arrays to change and the others only to read; new data wait for the next plan.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from emuq.agents.base import Agent
from emuq.agents.emuq import held as holding
from emuq.agents.emuq import learn as core
from emuq.agents.emuq import redraw as emuq_fresh
from emuq.agents.emuq import step
from emuq.agents.emuq.folding import Folding
from emuq.agents.emuq.options import Options, domain_of, resolve
from emuq.agents.episodes import Transition, check_finite
from emuq.agents.spaces import EnvLike, Scaling, actions_of, as_env, from_index, plain, scaling_of, to_unit
from emuq.errors import InputError, finite
from emuq.history import Episode
from emuq.kappa import Controller, UntilGoal
from emuq.planning import transitions
from emuq.precision import double


class EMUQ(Agent):
    """Learns Q and U apart and acts on Q + kappa U, with kappa yours to turn at any moment.

    With several actuators effort may have a price while kappa > 0 (option `effort`). kappa = 0 is Q alone.
    """

    name: ClassVar[str] = "emuq"

    def __init__(
        self,
        env: EnvLike,
        *,
        preset: str = "default",
        seed: int = 0,
        kappa: float | Controller | None = None,
        observation_bounds: tuple[Any, Any] | None = None,
        **options: Any,
    ) -> None:
        """Make an agent for an environment (or its spaces).

        `preset` is "default" (one setting for every environment) or "paper" (Algorithm 2 and table 2).
        `options` are the fields of `emuq.agents.emuq_options.Options`, each replacing the preset's.
        `observation_bounds` scale observations to [0, 1]; the space's own are used where they are finite.
        """
        env = as_env(env)
        given = {"preset": preset, "observation_bounds": plain(observation_bounds), **options}
        if kappa is None:
            kappa = UntilGoal() if preset == "default" else 1.0
        super().__init__(env, seed=seed, kappa=kappa, options=given)
        self.settings: Options = resolve(preset, options, domain_of(env))
        self._scaling: Scaling = scaling_of(env, observation_bounds)._replace(clip=self.settings.clip)
        self._actions = actions_of(self.action_space)
        with double():
            rng, key = core.streams(self.seed)
            basis = core.draw_basis(rng, self.settings, self._scaling.dim, self._actions)
            self._pending: list[np.ndarray] = []  # transitions not yet among the state's data
            self._folding = Folding()
            self._state = core.init(basis, self.settings, key)
            self._scale = jnp.asarray(step.scales(self._scaling, self._actions))
        self._choices = [
            from_index(self._actions, i, self.action_space.dtype)
            for i in range(len(self._actions.candidates))
        ]
        self._rows = step.Rows(self._scaling.dim, self._actions.dim)
        self._count = self._used = self._planned = self._began = self._drawn = 0
        self._exploited = True

    def values(self, observation: Any, action: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Q, U and the variance of Q, for one observation and action or for rows of them."""
        states = np.atleast_2d(self._scaling(np.asarray(observation, dtype=float)))
        units = np.atleast_2d(to_unit(self._actions, action))
        if len(units) == 1:
            units = np.broadcast_to(units, (len(states), units.shape[1]))
        with double():
            q, u, variance = step.values(self._state, states, units)
        single = np.ndim(observation) == 1
        return tuple(np.asarray(x)[0] if single else np.asarray(x) for x in (q, u, variance))  # type: ignore[return-value]

    def plan(self) -> None:
        """Plan now, on all data so far: refit, recompute exploration rewards, improve both policies."""
        with double():
            self._state = step.plan(self._state, self.kappa, self.settings)
        self._used, self._planned = 0, self._count

    @property
    def converged(self) -> tuple[bool, bool]:
        """Whether the last plan's sweeps settled, for Q and for U."""
        q, u = np.asarray(self._state.converged)
        return bool(q), bool(u)

    @property
    def num_transitions(self) -> int:
        return self._count

    @property
    def exploration_range(self) -> float:
        return -self.settings.rules.u_bounds[0]

    @property
    def planned(self) -> int:
        """The number of transitions that the last plan saw."""
        return self._planned

    def trajectories(self) -> list[np.ndarray]:
        """The states visited, in the environment's units, an array for each episode."""
        states = np.asarray(self._state.data.states[: self._count], dtype=float)
        ends = np.cumsum([episode.length for episode in self.history])
        return [self._scaling.inverse(part) for part in np.split(states, ends) if len(part)]

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The observation's bounds that are scaled to [0, 1]."""
        return self._scaling.low, self._scaling.low + self._scaling.width

    @property
    def _state(self) -> core.State:
        if self._pending:
            self._store()
        self._folding.wait()
        return core.join(self._moving, self._rest)

    @_state.setter
    def _state(self, state: core.State) -> None:
        self._folding.drop()
        self._put(state)

    def _put(self, state: core.State) -> None:
        """A state whose S is as it was."""
        self._moving, self._rest = core.split(state)
        self._read, tree = core.read(self._rest)
        self._step = step.advance(tree, self.settings)
        self._kept = holding.kept(state.held)

    # The surface's five methods -----------------------------------------------------------------------

    def _start(self, observation: Any) -> Any:
        scaled = self._scaled(observation)
        self._exploited, self._began, self._drawn = True, self._count, self._count
        with double():
            if due := emuq_fresh.due(self.settings, self._state.held, self.kappa, self.history):
                self._redraw()
            rests = not due and emuq_fresh.idle(self.settings, self._state.held, self.kappa)
            state, index = step.begin(self._state, scaled, self.kappa, rests)
            self._put(state)
        return self._action(index)

    def _advance(self, transition: Transition) -> Any:
        settings, kappa = self.settings, self.kappa
        row = self._row(transition, kappa)
        self._exploited = self._exploited and kappa == 0
        with double():
            kept = self._kept if kappa == 0 else None
            self._moving, index = self._step(self._moving, self._read, self._scale, row, kept)
            self._pending.append(row)
            self._count, self._used = self._count + 1, self._used + 1
            due = settings.next_plan(self._planned)
            if due is not None and self._count >= due:
                stale = emuq_fresh.stale(settings, kappa, self._count - self._drawn)
                self._redraw() if stale else self.plan()
            elif self._used % (settings.block // 2) == 0:
                self._fold()
        return self._action(index)

    def _finish(self, episode: Episode) -> None:
        with double():
            outcome = np.int32(episode.length), episode.goal, self._exploited
            self._put(step.finish(self._state, *outcome, self.settings))
        if self.settings.plan_at_end and self._planned < self._count:
            self.plan()

    def _greedy(self, observation: Any, kappa: float) -> Any:
        with double():
            index = step.greedy(self._state, self._scaled(observation), kappa)
        return self._action(index)

    def _get_state(self) -> Any:
        counts = {"count": self._count, "used": self._used, "planned": self._planned}
        return {"core": self._state, **{name: np.int64(value) for name, value in counts.items()}}

    def _set_state(self, state: Any) -> None:
        self._state = state["core"]
        self._count, self._used, self._planned = (int(state[name]) for name in ("count", "used", "planned"))

    def _redraw(self) -> None:
        """Other features, planned on: for an episode that begins, or in the middle of a long one."""
        which = self.seed, self.history, self.kappa, self._count - self._began
        new = emuq_fresh.bases(*which, self.settings, self._scaling.dim, self._actions)
        self._state = state = step.renew(self._state, new, self.kappa, self.settings)
        if self.kappa == 0:
            step.prepare(self._step, self._moving, self._read, self._scale, state.held.trial)
        self._used, self._planned, self._drawn = 0, self._count, self._count

    def _fold(self) -> None:
        """A half of the rows is full: have the older one folded in."""
        full, old = self._used >= self.settings.block, self._rest
        rows, blocked, form = self._folding.turn(self._moving.rows, old.blocked, old.form, old.basis, full)
        if full:
            self._used = self.settings.block // 2
            self._moving = self._moving._replace(rows=rows)
            self._rest = old._replace(blocked=blocked, form=form)
            changed = {id(old.blocked.covariance): blocked.covariance, id(old.form): form}
            self._read = [changed.get(id(array), array) for array in self._read]

    def _store(self) -> None:
        """The transitions that are waiting, among the data; twice the room where there is none left."""
        blocked, data = self._rest.blocked, self._rest.data
        with double():
            while data.capacity < self._count:
                data = transitions.grown(data)
                self.options["capacity"] = data.capacity  # so that a file is loaded into as much room
            data = step.store_all(data, self._rest.start, self._scale, self._pending, self.settings)
            blocked = blocked._replace(used=jnp.int32(self._used))
        self._pending = []
        self._rest = self._rest._replace(blocked=blocked, data=data)

    def _row(self, transition: Transition, kappa: float) -> np.ndarray:
        """The whole transition as one array: one transfer a step, checked at once."""
        action = to_unit(self._actions, transition.action) if self._actions.discrete else transition.action
        observation, following = map(self._observed, (transition.observation, transition.next_observation))
        extra = transition.terminated, kappa, self._used, self._count
        row = self._rows(observation, action, transition.reward, following, *extra)
        numbers = row[: 1 - step.EXTRA]  # what comes after it may be infinite: kappa
        if not math.isfinite(numbers @ numbers):
            check_finite(transition, self._count + 1)
            for array in (observation, following):
                self._scaled(array)
        return row

    def _scaled(self, observation: Any) -> np.ndarray:
        return self._scaling(finite(self._observed(observation), f"observation (step {self._count})"))

    def _observed(self, observation: Any) -> np.ndarray:
        array = np.asarray(observation, dtype=float)
        if array.shape != self._scaling.low.shape:
            raise InputError(
                f"observation has shape {array.shape}: expected ({self._scaling.dim},) "
                f"as in {self.observation_space}"
            )
        return array

    def _action(self, index: jax.Array) -> Any:
        choice = self._choices[int(np.asarray(index))]  # int(index) itself takes 20 microseconds more
        return choice if self._actions.discrete else choice.copy()
