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
    look       once rewards ask for it, and there are enough new data: what to exploit with, a model of the
               dynamics and the value of the states that were visited (`plan.look`)

This file keeps the order, checks what comes in, and knows Gymnasium. The pure functions are in `learn`,
`plan` and `act`, over the value in `state`; `schedule` says when; `runtime` makes it fast.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import jax
import numpy as np

from emuq.agents.base import Agent
from emuq.agents.emuq import (
    datasets,
    imagine,
    insight,
    minari_file,
    portable,
    programs,
    ranges,
    schedule,
    warming,
)
from emuq.agents.emuq.alongside import Alongside
from emuq.agents.emuq.background import moments_of
from emuq.agents.emuq.beside import EpisodesBeside
from emuq.agents.emuq.exact import LARGEST, ExactRuntime, names_a_state
from emuq.agents.emuq.imagine import Imagined
from emuq.agents.emuq.insight import Insight
from emuq.agents.emuq.options import Options, resolve
from emuq.agents.emuq.runtime import Runtime
from emuq.agents.emuq.state import agent_key, choices_of
from emuq.agents.episodes import Transition, check_finite
from emuq.agents.flatten import Flat
from emuq.agents.limits import Limits
from emuq.agents.readings import is_batch
from emuq.agents.spaces import (
    EnvLike,
    Scaling,
    actions_of,
    as_env,
    flat_scaling_of,
    from_index,
    plain,
    to_unit,
)
from emuq.agents.visited import ENOUGH, Visited
from emuq.errors import InputError, finite
from emuq.history import Episode
from emuq.kappa import Automatic, Controller
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
    takes_copies: ClassVar[bool] = True
    any_units: ClassVar[bool] = True
    any_action: ClassVar[bool] = True

    def __init__(
        self,
        env: EnvLike,
        *,
        preset: str = "default",
        seed: int = 0,
        kappa: float | Controller | None = None,
        observation_bounds: tuple[Any, Any] | None = None,
        angles: Sequence[int] = (),
        exact: bool | int | None = None,
        action_rate: Any = None,
        planning: Any = "in step",
        **options: Any,
    ) -> None:
        """Make an agent for an environment (or its spaces).

        Args:
            env: A Gymnasium environment, its id, a vector of environments, or anything with an observation
                and an action space.
            preset: "default" (one setting for every environment) or "paper" (Algorithm 2; the settings that
                its table 2 has for each domain are in `emuq.experiments.presets`).
            seed: Of the agent's draws and of its episodes' starts.
            kappa: The weight of exploration, or who sets it: `Automatic()` in the default preset, 1 in the
                paper's.
            observation_bounds: `(low, high)`, which scale observations to [0, 1]; the space's own are used
                where they are finite, and others are learned.
            angles: The places of angles in the observation, each of which becomes its cosine and its sine.
            exact: True knows a state by its exact numbers, and nothing is learned from what is near; None
                does so where there are at most 100,000 states, or observations are one-hot vectors.
            action_rate: How far an action may change from one step to the next, in its own units: a number,
                or one for each dimension. Commands are held to it before they are sent.
            planning: "in step" plans between two steps, always at the same ones; "beside" in another thread,
                while steps go on, and takes a plan over when it is made; the `moments` of an agent that
                did so make its run again.
            **options: The fields of `emuq.agents.emuq.options.Options`, each replacing the preset's.

        Raises:
            InputError: If the spaces do not fit, or an option is not as told.
        """
        env = as_env(env, copies=True)
        self._flat = Flat(env.observation_space, angles)
        given = {"preset": preset, "observation_bounds": plain(observation_bounds), **options}
        if self._flat.angles:
            given["angles"] = sorted(self._flat.angles)
        if exact is not None:
            given["exact"] = exact
        if kappa is None:
            kappa = Automatic() if preset == "default" else 1.0
        super().__init__(env, seed=seed, kappa=kappa, options=given)
        if action_rate is not None:
            self.limits = Limits(self.action_space, action_rate)
            self.options["action_rate"] = self.limits.rate.tolist()
        self.settings: Options = resolve(preset, options)
        scaling = flat_scaling_of(env, observation_bounds, self._flat)
        # Nothing is known of what lies outside a range that was learned.
        clip = self.settings.clip or scaling.learned is not None
        self._scaling: Scaling = scaling._replace(clip=clip)
        self._actions = actions_of(self.action_space)
        self._choices = [
            from_index(self._actions, i, self.action_space.dtype)
            for i in range(len(self._actions.candidates))
        ]
        self._visited: Visited | None = Visited(self._flat.dim)
        self._exact = self._may_be_exact(exact)
        self._runtime: Runtime | ExactRuntime
        if self._exact is True:
            self._become_exact(256 if isinstance(exact, bool | None) else int(exact))
        else:
            self._runtime = self._smooth_runtime()
        self._raw: ranges.Raw | None = None  # raw numbers, where a range has to be learned
        if scaling.learned is not None and self._exact is not True:
            self._raw = ranges.empty(self._runtime.capacity, self._scaling)
        self._course = schedule.Course()
        self._next_plan = schedule.plan_after(self.settings, 0)
        self._alongside: Alongside | None = None
        if planning != "in step":
            self.options["planning"] = "beside"
            record = None if planning == "beside" else moments_of(planning)
            if isinstance(self._runtime, Runtime):
                self._alongside = Alongside(self, self._runtime, record)

    def _smooth_runtime(self, capacity: int | None = None) -> Runtime:
        """What an agent begins with; with this much room."""
        options = self.settings if capacity is None else replace(self.settings, capacity=capacity)
        choices = choices_of(self._actions, self.settings)
        with double():
            state = programs.beginning(agent_key(self.seed), options, self._scaling.dim, choices)
            scale = programs.scales(self._scaling, self._actions)
            return Runtime(state, scale, choices, self.settings)

    def _may_be_exact(self, wanted: bool | int | None) -> bool | None:
        """Whether states are known by their numbers; None: the first observation decides."""
        if wanted is not None:
            if wanted and not self._actions.discrete:
                raise InputError(
                    f"exact is {wanted}, but actions are in {self.action_space}: expected Discrete"
                )
            return bool(wanted)
        if self.options["preset"] != "default" or not self._actions.discrete:
            return False
        if np.isfinite(self._flat.count):
            return self._flat.count <= LARGEST
        unit = np.all(self._flat.low >= 0) and np.all(self._flat.high <= 1)
        return None if unit else False

    def _become_exact(self, room: int) -> None:
        """Indicator features: numbers are taken as they are, and features never drawn again."""
        self._exact, self._raw, self._visited, self._alongside = True, None, None, None
        self.options["exact"] = room
        self.settings = replace(self.settings, refresh=None, lookahead=0)
        self._scaling = Scaling(np.zeros(self._flat.dim), np.ones(self._flat.dim))
        self._runtime = ExactRuntime(self._flat.dim, self._actions, self.settings, self.seed, room)

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
        states = self._scaling(self._flat.rows(observation))
        units = np.atleast_2d(to_unit(self._actions, action))
        if len(units) == 1:
            units = np.broadcast_to(units, (len(states), units.shape[1]))
        with double():
            q, u, variance = self._runtime.values(states, units)
        single = not is_batch(self.observation_space, observation)
        return tuple(np.asarray(x)[0] if single else np.asarray(x) for x in (q, u, variance))  # type: ignore[return-value]

    def plan(self) -> None:
        """Plan now, on all data so far: refit, recompute exploration rewards, improve both policies."""
        self._settle()
        self._plan_now()

    def _plan_now(self) -> None:
        with double():
            if self._raw is not None:
                self._learn_ranges(self._raw)
            self._runtime.plan(self.kappa)
        self._course = self._course._replace(planned=self.num_transitions)

    def look(self) -> None:
        """Look ahead now, on all data so far: Q is what is found, from now on."""
        assert isinstance(self._runtime, Runtime)  # a table knows its values
        self._settle()
        with double():
            self._runtime.look()
        self._course = self._course._replace(looked=self.num_transitions)

    def _learn_ranges(self, raw: ranges.Raw) -> bool:
        """Scale by the ranges seen so far, if they ask for it; a plan must follow."""
        seen = np.concatenate([raw.start[None], raw.next_states[: self.num_transitions]])
        new = ranges.fitting(self._scaling, seen)
        if new is None:
            return False
        assert isinstance(self._runtime, Runtime)  # a table has no ranges
        state = self._runtime.whole_state()
        state = ranges.rescaled(state, raw, self._scaling, new, self.settings)
        self._runtime.rescale(state, programs.scales(new, self._actions))
        self._scaling, self._raw = new, raw._replace(low=new.low, width=new.width)
        return True

    def whole_state(self) -> Any:
        """All that the agent knows, as one value. Uploads and waits, so that it is not for every step.

        Its arrays can be read until the agent learns on, which may give them away.
        """
        with double():
            return self._runtime.whole_state()

    @property
    def converged(self) -> tuple[bool, bool]:
        """Whether the last plan's sweeps converged, for Q and for U."""
        if isinstance(self._runtime, ExactRuntime):
            return self._runtime.settled, self._runtime.settled
        q, u = np.asarray(self.whole_state().converged)
        return bool(q), bool(u)

    def insight(self) -> Insight | None:
        """How it is doing, in numbers (see `emuq.agents.emuq.insight`); None before its first step.

        Examples:
            >>> history = agent.learn(steps=20, progress=False)
            >>> 0 <= agent.insight().left <= 1
            True
        """
        return insight.of(self)

    def imagine(self, observation: Any, actions: Any, *, level: float = 0.9) -> Imagined:
        """What the agent expects of a sequence of actions, by its model of the dynamics.

        Args:
            observation: Where it begins: one observation, or rows of them.
            actions: An action a step; for rows of observations as many of these sequences.
            level: The share of what happens that the band is to hold, number by number.

        Returns:
            The states, a band around them, the rewards, and whether an episode would be over.

        Raises:
            InputError: If the actions do not fit, there are fewer than 100 transitions, or states are known
                by their numbers alone.

        Examples:
            >>> history = agent.learn(steps=200, progress=False)
            >>> expected = agent.imagine([-0.5, 0.0], [[1.0]] * 5)
            >>> expected.states.shape, bool(expected.states[-1, 0] > -0.5)
            ((5, 2), True)
        """
        return imagine.imagine(self, observation, actions, level)

    @property
    def num_transitions(self) -> int:
        return self._runtime.count

    @property
    def exploration_range(self) -> float:
        return -float(self.settings.rules.u_bounds[0])

    @property
    def looked(self) -> int:
        """The number of transitions that the last look ahead saw."""
        return self._course.looked

    @property
    def planned(self) -> int:
        """The number of transitions that the last plan saw."""
        return self._course.planned

    @property
    def moments(self) -> list[tuple[int, bool]]:
        """When plans made beside the loop were taken over: transitions so far, and whether between steps.

        Examples:
            >>> agent.moments                              # planned in step with the data
            []
        """
        return [] if self._alongside is None else self._alongside.background.moments

    @moments.setter
    def moments(self, moments: list[tuple[int, bool]]) -> None:
        if self._alongside is not None:
            self._alongside.background.moments = moments

    def _warm(self) -> None:
        if isinstance(self._runtime, Runtime):
            warming.warm(self, self._runtime.capacity)
            if 2 * self._runtime.count >= self._runtime.capacity:
                warming.warm(self, 2 * self._runtime.capacity)

    def _settle(self) -> None:
        if self._alongside is not None:
            with double():
                self._alongside.settle()

    def trajectories(self) -> list[np.ndarray]:
        """The states visited, in the environment's units, an array for each episode."""
        if isinstance(self._runtime, ExactRuntime):
            states = self._runtime.visited()
        else:
            states = np.asarray(self.whole_state().data.states[: self.num_transitions], dtype=float)
        ends = np.cumsum([episode.length for episode in self.history])
        return [self._scaling.inverse(part) for part in np.split(states, ends) if len(part)]

    def observe_dataset(self, dataset: Any = None, **arrays: Any) -> int:
        """Learn from another's transitions, a warm start. Each episode gets a row in the history.

        Args:
            dataset: A Minari dataset.
            **arrays: Instead of it, arrays with a row a transition: observations, actions, rewards,
                next_observations, terminated, and truncated where there is one.

        Returns:
            The number of transitions.

        Raises:
            InputError: If both are given, a column is missing, or a row is not as the spaces say.
        """
        if dataset is not None and arrays:
            raise InputError("observe_dataset got a dataset and arrays: expected one of the two")
        episodes = datasets.rows_of(arrays) if dataset is None else datasets.episodes_of(dataset)
        number = datasets.replay(self, episodes)
        self._settle()
        return number

    def dataset(self) -> dict[str, np.ndarray]:
        """All transitions as arrays by name, as `observe_dataset` takes them (see `datasets.arrays_of`)."""
        return datasets.arrays_of(self)

    def to_minari(self, name: str, **details: Any) -> Any:
        """Write all transitions as a Minari dataset of this name, and return it (see `minari_file.write`).

        Args:
            name: As Minari has them: `boat/emuq-v0`.
            **details: What else Minari is to note down: author, description, code_permalink and so on.

        Raises:
            InputError: If Minari is not installed, or there is nothing to write.
        """
        return minari_file.write(self, name, details)

    def export(self, path: str | os.PathLike) -> None:
        """What kappa = 0 does, as one small .npz file that examples/act_with_numpy.py acts on.

        Args:
            path: The file to write.
        """
        portable.export(self, path)

    def _transitions(self) -> tuple[np.ndarray, ...]:
        """States and next states in the environment's units, actions as vectors, rewards, terminal."""
        if isinstance(self._runtime, ExactRuntime):
            return self._runtime.transitions(self._actions.candidates)
        data, number = self.whole_state().data, self.num_transitions
        found = (data.states, data.actions, data.rewards, data.next_states, data.terminal)
        states, units, rewards, following, terminal = (np.asarray(x[:number]) for x in found)
        states, following = (self._scaling.inverse(x.astype(float)) for x in (states, following))
        if self._raw is not None:
            states, following = (x[:number].copy() for x in self._raw[:2])
        return states, units.astype(float), rewards.astype(float), following, terminal

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The observation's bounds that are scaled to [0, 1]."""
        return self._scaling.low, self._scaling.low + self._scaling.width

    # What an agent does in its own way ------------------------------------------------------------------

    def _start(self, observation: Any) -> Any:
        """An episode begins: perhaps on other features, then the first action."""
        observed = self._flat(observation)
        if not np.isfinite(observed).all():
            self._checked(observed)
        if self._exact is None:
            self._exact = names_a_state(observed)
            if self._exact:
                self._become_exact(256)
        self._course = schedule.begun(self._course, self._runtime.count)
        with double():
            if self._raw is not None:
                self._raw = self._raw._replace(start=ranges.bounded(observed))
                first = self._alongside is None or not self._runtime.count
                if first and self._learn_ranges(self._raw):
                    self._plan_now()
            if self._alongside is not None:
                self._alongside.repeat()
            index = self._runtime.begin(observed, self.kappa)
        return self._action(index)

    def _advance(self, transition: Transition) -> Any:
        """A transition: observe, act, then fold, plan or look where that is due."""
        runtime, kappa, options = self._runtime, self.kappa, self.settings
        if self._alongside is not None:
            with double():
                self._alongside.repeat()
        row = self._row(transition, kappa)
        self._course = schedule.stepped(self._course, transition.reward, transition.terminated)
        if isinstance(runtime, Runtime):
            warming.prepare(self, runtime)
        runtime.rewarded = self._course.rewarded
        with double():
            index = runtime.step(row) if self._alongside is None else self._alongside.step(row)
            if self._raw is not None:
                self._keep_raw(self._raw, transition)
            if self._alongside is not None:
                self._alongside.after(kappa)
                return self._action(index)
            count = runtime.count
            may_plan = self._next_plan is not None and count >= self._next_plan
            if may_plan:
                self._next_plan = schedule.plan_after(options, count)
            if may_plan and schedule.plans(options, kappa):
                if schedule.draw_is_due(options, self._course, kappa, count):
                    self._plan_on_new_features()
                else:
                    self.plan()
            elif schedule.fold_is_due(runtime.used):
                runtime.fold()
            if (
                isinstance(runtime, Runtime)
                and schedule.may_look(options, count)
                and schedule.look_is_due(self._course, count)
            ):
                self.look()
        return self._action(index)

    def _keep_raw(self, raw: ranges.Raw, transition: Transition) -> None:
        observed, following = map(self._flat, (transition.observation, transition.next_observation))
        self._raw = ranges.add(raw, self.num_transitions - 1, observed, following)

    def _finish(self, episode: Episode) -> None:
        """An episode is over: returns are seen along it."""
        with double():
            self._runtime.finish()
        if self.settings.plan_interval is None and self._course.planned < self.num_transitions:
            self.plan()

    def _beside(self) -> EpisodesBeside:
        return EpisodesBeside(self)

    def _plan_on_new_features(self) -> None:
        """New features, and a plan on them: for an episode that has begun, or goes on for long."""
        assert isinstance(self._runtime, Runtime)  # a table has no features
        if self._raw is not None:
            self._learn_ranges(self._raw)
        self._runtime.plan_anew(self.kappa, len(self.history))
        count = self.num_transitions
        self._course = self._course._replace(planned=count, drawn=count)

    def _greedy(self, observation: Any, kappa: float) -> Any:
        with double():
            index = self._runtime.act_greedily(self._scaled(observation), kappa)
        return self._action(index)

    def _visit(self, observation: Any) -> None:
        if self._visited is not None:
            self._visited.add(self._flat(observation))

    def _doubt_of_bounds(self) -> str | None:
        if self._visited is None or self._visited.count < ENOUGH:
            return None
        visited, self._visited = self._visited, None
        return visited.doubt(self._scaling, self._flat)

    def _get_state(self) -> Any:
        self._settle()
        state, runtime = self.whole_state(), self._runtime
        if isinstance(runtime, ExactRuntime):
            self.options["exact"] = runtime.capacity
            return {"exact": state}
        self.options["capacity"] = runtime.capacity  # so that a file is loaded into as much room
        counts = {"count": runtime.count, "used": runtime.used}
        counts |= {name: getattr(self._course, name) for name in ("planned", "looked", "drawn")}
        raw = {} if self._raw is None else {"raw": ranges.sized(self._raw, runtime.capacity)}
        return {"core": state, **raw, **{name: np.int64(value) for name, value in counts.items()}}

    def _set_state(self, state: Any) -> None:
        if isinstance(self._runtime, ExactRuntime):
            self._runtime.replace(state["exact"])
            self._resume(planned=int(state["exact"].counts[3]))
            return
        if self._raw is not None:
            raw = ranges.Raw(*(np.array(rows) for rows in state["raw"]))
            self._raw, self._scaling = raw, self._scaling._replace(low=raw.low, width=raw.width)
            self._runtime.rescale(state["core"], programs.scales(self._scaling, self._actions))
        self._runtime.replace(state["core"])
        self._runtime.count, self._runtime.used = int(state["count"]), int(state["used"])
        self._runtime.looked = int(state["looked"]) > 0
        data = state["core"].data
        rewards, ended = (np.asarray(rows)[: self._runtime.count] for rows in (data.rewards, data.terminal))
        counts = {name: int(state[name]) for name in ("planned", "looked", "drawn")}
        self._resume(rewarded=bool(np.any(schedule.is_worth_a_look(rewards, ended))), **counts)

    def _resume(self, **known: Any) -> None:
        self._course = schedule.Course(**known)
        self._runtime.rewarded = self._course.rewarded
        self._next_plan = schedule.plan_after(self.settings, self.num_transitions)

    # What comes in, and what goes out -------------------------------------------------------------------

    def _row(self, transition: Transition, kappa: float) -> np.ndarray:
        """The whole transition as one array: one transfer a step, checked at once."""
        action = to_unit(self._actions, transition.action) if self._actions.discrete else transition.action
        observation, following = map(self._flat, (transition.observation, transition.next_observation))
        reward, terminated = transition.reward, transition.terminated
        row = self._runtime.row(observation, action, reward, following, terminated, kappa)
        numbers = row[: 1 - programs.EXTRA]  # what comes after it may be infinite: kappa
        if not math.isfinite(numbers @ numbers):
            check_finite(transition, self.num_transitions + 1)
            for array in (observation, following):
                self._checked(array)
        return row

    def _scaled(self, observation: Any) -> np.ndarray:
        return self._scaling(self._checked(self._flat(observation)))

    def _checked(self, observed: np.ndarray) -> np.ndarray:
        """The observation itself, or an error that says what is not finite in it."""
        return finite(observed, f"observation (step {self.num_transitions})")

    def _action(self, index: jax.Array | int) -> Any:
        choice = self._choices[int(np.asarray(index))]  # int(index) itself takes 20 microseconds more
        return choice.copy() if isinstance(choice, np.ndarray) else choice
