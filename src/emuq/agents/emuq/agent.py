"""EMU-Q: exploration by minimising the uncertainty of Q (Section 5 of the paper).

    agent = emuq.EMUQ(env, seed=0)
    agent.learn(episodes=10)
    agent.kappa = 0.0

This file has what an agent is made of and what it can be asked; `instep` (or `alongside`) has the order in
which things happen when it learns.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import numpy as np

from emuq.agents.actions import actions_of, from_index, to_unit
from emuq.agents.base import Agent
from emuq.agents.emuq import beginning, datasets, imagine, insight, minari_file, portable, resuming, warming
from emuq.agents.emuq.alongside import Alongside
from emuq.agents.emuq.background import moments_of
from emuq.agents.emuq.beside import EpisodesBeside
from emuq.agents.emuq.exact import ExactRuntime, names_a_state
from emuq.agents.emuq.imagine import Imagined
from emuq.agents.emuq.insight import Insight
from emuq.agents.emuq.instep import InStep
from emuq.agents.emuq.options import Options, resolve
from emuq.agents.emuq.ranges import Raw
from emuq.agents.emuq.runtime import Runtime
from emuq.agents.episodes import Transition
from emuq.agents.flatten import Flat
from emuq.agents.limits import Limits
from emuq.agents.readings import is_batch
from emuq.agents.spaces import EnvLike, Scaling, as_env, flat_scaling_of, plain
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
        self._exact = beginning.is_exact(exact, preset, self._flat, self._actions, self.action_space)
        self._raw: Raw | None = None  # raw numbers, where a range has to be learned
        self._runtime: Runtime | ExactRuntime
        if self._exact is True:
            beginning.become_exact(self, beginning.ROOM if isinstance(exact, bool | None) else int(exact))
        else:
            beginning.become_smooth(self)
        self._order = InStep(self)
        if planning != "in step":
            self.options["planning"] = "beside"
            record = None if planning == "beside" else moments_of(planning)
            if isinstance(self._runtime, Runtime):
                self._order = Alongside(self, self._runtime, record)

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
        self._order.settle()
        self._order.plan()

    def look(self) -> None:
        """Look ahead now, on all data so far: Q is what is found, from now on."""
        self._order.settle()
        self._order.look()

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
        return self._order.course.looked

    @property
    def planned(self) -> int:
        """The number of transitions that the last plan saw."""
        return self._order.course.planned

    @property
    def moments(self) -> list[tuple[int, bool]]:
        """When plans made beside the loop were taken over: transitions so far, and whether between steps.

        Examples:
            >>> agent.moments                              # planned in step with the data
            []
        """
        return self._order.moments

    @moments.setter
    def moments(self, moments: list[tuple[int, bool]]) -> None:
        self._order.moments = moments

    def trajectories(self) -> list[np.ndarray]:
        """The states visited, in the environment's units, an array for each episode."""
        return datasets.trajectories_of(self)

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
                beginning.become_exact(self)
                self._order = InStep(self)
        return self._action(self._order.start(observed))

    def _advance(self, transition: Transition) -> Any:
        return self._action(self._order.advance(transition))

    def _finish(self, episode: Episode) -> None:
        self._order.finish()

    def _beside(self) -> EpisodesBeside:
        return EpisodesBeside(self)

    def _greedy(self, observation: Any, kappa: float) -> Any:
        with double():
            observed = self._checked(self._flat(observation))
            index = self._runtime.act_greedily(self._scaling(observed), kappa)
        return self._action(index)

    def _warm(self) -> None:
        warming.warm_up(self)

    def _settle(self) -> None:
        self._order.settle()

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
        return resuming.tree_of(self)

    def _set_state(self, state: Any) -> None:
        resuming.restore(self, state)

    # What comes in, and what goes out -------------------------------------------------------------------

    def _checked(self, observed: np.ndarray) -> np.ndarray:
        """The observation itself, or an error that says what is not finite in it."""
        return finite(observed, f"observation (step {self.num_transitions})")

    def _action(self, index: jax.Array | int) -> Any:
        choice = self._choices[int(np.asarray(index))]  # int(index) itself takes 20 microseconds more
        return choice.copy() if isinstance(choice, np.ndarray) else choice
