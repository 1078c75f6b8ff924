"""EMU-Q: exploration by minimising the uncertainty of Q (Section 5 of the paper).

    agent = emuq.EMUQ(env, seed=0)
    agent.learn(episodes=10)
    agent.kappa = 0.0

A transition, in the order in which things happen (`_advance`):

    observe    one rank-1 update of S, of Q's weights and of U's, by the transition (`learn.update`)
    act        the next action, by what is known now (`act.act_on`); both are one compiled call,
               `Runtime.step`
    fold       every 32 steps: S takes in the updates that wait (`Runtime.fold`)
    plan       once there are enough new data: S, all exploration rewards, Q and U from all transitions
               (`plan.plan`); the action above was chosen before it, so that the step after this one is the
               first to profit

This file keeps the order, checks what comes in, and knows Gymnasium. The pure functions are in `learn`,
`plan` and `act`, over the value in `state`; `schedule` says when; `contest` which policy exploits; `runtime`
makes it fast.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import jax
import numpy as np

from emuq.agents.base import Agent
from emuq.agents.emuq import programs, schedule
from emuq.agents.emuq.options import Options, resolve
from emuq.agents.emuq.runtime import Runtime
from emuq.agents.emuq.state import State, draw_basis, init, streams
from emuq.agents.episodes import Transition, check_finite
from emuq.agents.spaces import EnvLike, Scaling, actions_of, as_env, from_index, plain, scaling_of, to_unit
from emuq.errors import InputError, finite
from emuq.history import Episode
from emuq.kappa import Controller, UntilGoal
from emuq.precision import double


class EMUQ(Agent):
    """Learns Q and U apart and acts on Q + kappa U, with kappa yours to turn at any moment.

    With several actuators effort may have a price while kappa > 0 (option `effort`). kappa = 0 is Q alone.

    Examples:
        >>> import gymnasium as gym, emuq
        >>> agent = emuq.EMUQ(gym.make("emuq/MountainCar-v0"), seed=0)
        >>> history = agent.learn(steps=80, progress=False)        # explores until the goal, then exploits
        >>> agent.kappa = 0.0                                      # or decide yourself
        >>> q, u, variance = agent.values([-0.5, 0.0], [1.0])
    """

    name: ClassVar[str] = "emuq"
    may_be_nan: ClassVar[tuple[str, ...]] = ("score",)

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

        Args:
            env: A Gymnasium environment, its id, or anything with an observation and an action space.
            preset: "default" (one setting for every environment) or "paper" (Algorithm 2; the settings that
                its table 2 has for each domain are in `emuq.experiments.presets`).
            seed: Of the agent's draws and of its episodes' starts.
            kappa: The weight of exploration, or who sets it: `UntilGoal()` in the default preset, 1 in the
                paper's.
            observation_bounds: `(low, high)`, which scale observations to [0, 1]; the space's own are used
                where they are finite.
            **options: The fields of `emuq.agents.emuq.options.Options`, each replacing the preset's.

        Raises:
            InputError: If the spaces do not fit, bounds are missing, or an option is not as told.
        """
        env = as_env(env)
        given = {"preset": preset, "observation_bounds": plain(observation_bounds), **options}
        if kappa is None:
            kappa = UntilGoal() if preset == "default" else 1.0
        super().__init__(env, seed=seed, kappa=kappa, options=given)
        self.settings: Options = resolve(preset, options)
        self._scaling: Scaling = scaling_of(env, observation_bounds)._replace(clip=self.settings.clip)
        self._actions = actions_of(self.action_space)
        self._choices = [
            from_index(self._actions, i, self.action_space.dtype)
            for i in range(len(self._actions.candidates))
        ]
        with double():
            rng, key = streams(self.seed)
            basis = draw_basis(rng, self.settings, self._scaling.dim, self._actions)
            scale = programs.scales(self._scaling, self._actions)
            self._runtime = Runtime(init(basis, self.settings, key), scale, self.settings)
        # How many transitions there were at the last plan, as this episode began, and as features were last
        # drawn.
        self._planned = self._began = self._drawn = 0
        self._exploited = True  # kappa has been 0 since this episode began

    def values(self, observation: Any, action: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Q, U and the variance of Q, for one observation and action or for rows of them.

        Args:
            observation: One observation, or rows of them.
            action: One action, or a row for each observation.

        Returns:
            Q, U and the variance of Q: numbers for one observation, arrays for rows.

        Examples:
            >>> q, u, variance = agent.values([[-0.5, 0.0], [0.4, 0.0]], [1.0])
            >>> q.shape
            (2,)
        """
        states = np.atleast_2d(self._scaling(np.asarray(observation, dtype=float)))
        units = np.atleast_2d(to_unit(self._actions, action))
        if len(units) == 1:
            units = np.broadcast_to(units, (len(states), units.shape[1]))
        with double():
            q, u, variance = programs.values(self.whole_state(), states, units)
        single = np.ndim(observation) == 1
        return tuple(np.asarray(x)[0] if single else np.asarray(x) for x in (q, u, variance))  # type: ignore[return-value]

    def plan(self) -> None:
        """Plan now, on all data so far: refit, recompute exploration rewards, improve both policies."""
        with double():
            self._runtime.plan(self.kappa)
        self._planned = self.num_transitions

    def whole_state(self) -> State:
        """All that the agent knows, as one value. Uploads and waits, so that it is not for every step.

        Its arrays can be read until the agent learns on, which may give them away.
        """
        with double():
            return self._runtime.whole_state()

    @property
    def converged(self) -> tuple[bool, bool]:
        """Whether the last plan's sweeps converged, for Q and for U."""
        q, u = np.asarray(self.whole_state().converged)
        return bool(q), bool(u)

    @property
    def num_transitions(self) -> int:
        return self._runtime.count

    @property
    def exploration_range(self) -> float:
        return -self.settings.rules.u_bounds[0]

    @property
    def planned(self) -> int:
        """The number of transitions that the last plan saw."""
        return self._planned

    def trajectories(self) -> list[np.ndarray]:
        """The states visited, in the environment's units, an array for each episode."""
        states = np.asarray(self.whole_state().data.states[: self.num_transitions], dtype=float)
        ends = np.cumsum([episode.length for episode in self.history])
        return [self._scaling.inverse(part) for part in np.split(states, ends) if len(part)]

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The observation's bounds that are scaled to [0, 1]."""
        return self._scaling.low, self._scaling.low + self._scaling.width

    # What an agent does in its own way ------------------------------------------------------------------

    def _start(self, observation: Any) -> Any:
        """An episode begins: perhaps on other features, then the first action."""
        observed = self._observed(observation)
        if not np.isfinite(observed).all():
            self._checked(observed)
        runtime, kappa, options = self._runtime, self.kappa, self.settings
        self._exploited, self._began, self._drawn = True, runtime.count, runtime.count
        with double():
            if drawn := schedule.draw_is_due(options, runtime.contest, kappa, self.history):
                self._plan_on_new_features()
            postponed = not drawn and schedule.postpones_challenge(options, runtime.contest, kappa)
            index = runtime.begin(observed, kappa, postponed)
        return self._action(index)

    def _advance(self, transition: Transition) -> Any:
        """A transition: observe, act, then fold or plan where that is due."""
        runtime, kappa, options = self._runtime, self.kappa, self.settings
        row = self._row(transition, kappa)
        self._exploited = self._exploited and kappa == 0
        with double():
            index = runtime.step(row, exploits=kappa == 0)  # observe, act
            if schedule.plan_is_due(options, runtime.count, self._planned):
                if schedule.draw_is_due_within(options, kappa, runtime.count - self._drawn):
                    self._plan_on_new_features()
                else:
                    self.plan()
            elif schedule.fold_is_due(options, runtime.used):
                runtime.fold()
        return self._action(index)

    def _finish(self, episode: Episode) -> None:
        """An episode is over: its policy is judged by it, if kappa was 0 throughout."""
        with double():
            self._runtime.finish(episode.length, episode.goal, self._exploited)
        if self.settings.plan_at_end and self._planned < self.num_transitions:
            self.plan()

    def _plan_on_new_features(self) -> None:
        """Other features, and a plan on them: for an episode that begins, or in the middle of a long one."""
        count = self.num_transitions
        which = self.seed, self.history, self.kappa, count - self._began
        bases = schedule.draw_features(*which, self.settings, self._scaling.dim, self._actions)
        self._runtime.plan(self.kappa, bases)
        self._planned = self._drawn = count

    def _greedy(self, observation: Any, kappa: float) -> Any:
        with double():
            index = programs.act_greedily(self._runtime.whole_state(), self._scaled(observation), kappa)
        return self._action(index)

    def _get_state(self) -> Any:
        state, runtime = self.whole_state(), self._runtime
        self.options["capacity"] = runtime.capacity  # so that a file is loaded into as much room
        counts = {"count": runtime.count, "used": runtime.used, "planned": self._planned}
        return {"core": state, **{name: np.int64(value) for name, value in counts.items()}}

    def _set_state(self, state: Any) -> None:
        self._runtime.replace(state["core"])
        counts = (int(state[name]) for name in ("count", "used", "planned"))
        self._runtime.count, self._runtime.used, self._planned = counts

    # What comes in, and what goes out -------------------------------------------------------------------

    def _row(self, transition: Transition, kappa: float) -> np.ndarray:
        """The whole transition as one array: one transfer a step, checked at once."""
        action = to_unit(self._actions, transition.action) if self._actions.discrete else transition.action
        observation, following = map(self._observed, (transition.observation, transition.next_observation))
        reward, terminated = transition.reward, transition.terminated
        row = self._runtime.row(observation, action, reward, following, terminated, kappa)
        numbers = row[: 1 - programs.EXTRA]  # what comes after it may be infinite: kappa
        if not math.isfinite(numbers @ numbers):
            check_finite(transition, self.num_transitions + 1)
            for array in (observation, following):
                self._checked(array)
        return row

    def _scaled(self, observation: Any) -> np.ndarray:
        return self._scaling(self._checked(self._observed(observation)))

    def _checked(self, observed: np.ndarray) -> np.ndarray:
        """The observation itself, or an error that says what is not finite in it."""
        return finite(observed, f"observation (step {self.num_transitions})")

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
