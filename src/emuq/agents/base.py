"""The surface that every agent shares: learn, predict, save, load, kappa.

An agent fills in the abstract methods; the loop, the controller of kappa, test episodes, callbacks,
history and checkpoints are written once, here.
"""

from __future__ import annotations

import abc
import os
from typing import Any, ClassVar, Self

import gymnasium as gym
import numpy as np

from emuq import checkpoint, dispatch
from emuq.agents.episodes import Callback, Event, Transition, reset_seed, rollout
from emuq.agents.recipe import recipe
from emuq.agents.spaces import Spaces
from emuq.errors import InputError
from emuq.history import Episode, History
from emuq.kappa import Controller, Outcome, as_controller, from_json, settles, to_json
from emuq.progress import Progress


class Agent(abc.ABC):
    """`learn` walks through episodes; everything an agent does differently is in five methods."""

    name: ClassVar[str]

    def __init__(self, env: gym.Env | Spaces, *, seed: int, kappa: float | Controller, options: dict) -> None:
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError(f"seed is {seed!r}: expected a whole number from 0")
        dispatch.inline()
        self.env = env if isinstance(env, gym.Env) else None
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.seed = int(seed)
        self.history = History()
        self.options = options
        self.kappa = kappa

    # What an agent fills in -------------------------------------------------------------------------

    @abc.abstractmethod
    def _start(self, observation: Any) -> Any:
        """An episode begins: the first action."""

    @abc.abstractmethod
    def _advance(self, transition: Transition) -> Any:
        """Learn from a transition; the next action (ignored when the episode is over)."""

    @abc.abstractmethod
    def _finish(self, episode: Episode) -> None:
        """The episode is over."""

    @abc.abstractmethod
    def _greedy(self, observation: Any, kappa: float) -> Any:
        """argmax_a Q + kappa U, learning nothing."""

    @abc.abstractmethod
    def _get_state(self) -> Any:
        """The whole state as a pytree of arrays."""

    @abc.abstractmethod
    def _set_state(self, state: Any) -> None:
        """The inverse of `_get_state`."""

    # kappa ------------------------------------------------------------------------------------------

    @property
    def kappa(self) -> float:
        """The weight of exploration now. Set it to a number or to a controller, at any moment."""
        return self._kappa

    @kappa.setter
    def kappa(self, kappa: float | Controller) -> None:
        self._controller = as_controller(kappa)
        self._control(self._controller.init())

    def _control(self, state: Any) -> None:
        self._controller_state = state
        self._kappa = float(self._controller.value(state))  # read at every step: computed once an episode

    @property
    def controller(self) -> Controller:
        """Who sets kappa."""
        return self._controller

    # Learning ---------------------------------------------------------------------------------------

    def learn(
        self,
        episodes: int | None = None,
        *,
        steps: int | None = None,
        until: str | None = None,
        callback: Callback | None = None,
        progress: bool = True,
        env: gym.Env | None = None,
    ) -> History:
        """Learn for `episodes` episodes or `steps` steps, or `until="goal"`; the history of this call.

        The last episode is cut (as by a time limit) when `steps` run out. Each episode's reset is seeded
        by the agent's seed and the episode's number, so that a resumed run equals an uninterrupted one.
        """
        env = self._environment(env)
        if (episodes is None) == (steps is None):
            raise InputError(f"learn(episodes={episodes}, steps={steps}): expected exactly one of the two")
        for what, number in (("episodes", episodes), ("steps", steps)):
            if number is not None and number < 1:
                raise InputError(f"{what} is {number}: expected a whole number from 1")
        if until not in (None, "goal"):
            raise InputError(f"until is {until!r}: expected None or 'goal'")
        done, first = 0, len(self.history)
        with Progress(progress, episodes=episodes, steps=steps) as bar:
            while (episodes is None or len(self.history) - first < episodes) and (
                steps is None or done < steps
            ):
                episode, go_on = self._episode(env, None if steps is None else steps - done, callback, bar)
                done += episode.length
                if not go_on or (until == "goal" and episode.goal):
                    break
        return self.history[first:]

    def _episode(self, env, limit, callback, bar) -> tuple[Episode, bool]:
        kappa, total, length, goal, go_on = self.kappa, 0.0, 0, False, True
        before = self.history[-1].steps if self.history else 0
        observation, _ = env.reset(seed=self._reset_seed(len(self.history)))
        action = self._start(observation)
        while True:
            following, reward, terminated, truncated, info = env.step(action)
            length += 1
            total += float(reward)
            truncated = truncated or length == limit
            over = terminated or truncated
            goal = bool(info.get("is_success", terminated and reward > 0)) if over else False
            transition = Transition(
                observation, action, float(reward), following, terminated, truncated, goal
            )
            action = self._advance(transition)
            observation = following
            bar.step()
            if callback is not None and callback(Event("step", self, transition)) is False:
                go_on = False
            if over or not go_on:
                break
        episode = Episode(total, length, goal, kappa, before + length)
        self.history.append(episode)
        self._finish(episode)
        tests = self._test(env, self._controller.test_episodes)
        self._control(self._controller.update(self._controller_state, Outcome(total, goal, tests)))
        bar.episode(episode)
        if callback is not None and callback(Event("episode", self, None, episode)) is False:
            go_on = False
        return episode, go_on

    def _test(self, env, episodes: int) -> np.ndarray | None:
        """Returns of kappa = 0 episodes that are neither learned from nor counted.

        NaN where there is nothing to learn from a test: once kappa is 0, for then the learning episodes are
        such episodes themselves, and after a return that settles the matter.
        """
        if not episodes:
            return None
        returns = np.full(episodes, np.nan)
        for i in range(episodes if self.kappa > 0 else 0):
            returns[i] = self._rollout(env, 0.0, (len(self.history), i))[0]
            if settles(self._controller, returns[i]):
                break
        return returns

    def evaluate(
        self, episodes: int = 20, *, kappa: float = 0.0, seed: int = 0, env: gym.Env | None = None
    ) -> History:
        """Run episodes without learning, on starts that learning never used; kappa = 0 exploits."""
        env, history, steps = self._environment(env), History(), 0
        for i in range(episodes):
            total, length, goal = self._rollout(env, kappa, (seed, i))
            steps += length
            history.append(Episode(total, length, goal, kappa, steps))
        return history

    def _rollout(self, env, kappa: float, stream: tuple[int, ...]) -> tuple[float, int, bool]:
        seed = self._reset_seed(*stream, test=True)
        return rollout(env, lambda observation: self._greedy(observation, kappa), seed)

    def predict(self, observation: Any, *, kappa: float | None = None) -> tuple[Any, None]:
        """The greedy action in Q + kappa U, and None (as in Stable-Baselines3). kappa=inf explores only."""
        kappa = self.kappa if kappa is None else float(kappa)
        if not kappa >= 0:
            raise InputError(f"kappa is {kappa}: expected a number from 0, or inf")
        return self._greedy(observation, kappa), None

    def _environment(self, env: gym.Env | None) -> gym.Env:
        env = env or self.env
        if env is None:
            raise InputError("the agent was made from spaces alone: pass env=... to learn or evaluate")
        return env

    def _reset_seed(self, *stream: int, test: bool = False) -> int:
        return reset_seed(self.seed, *stream, test=test)

    # Files ------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike) -> None:
        """Write one file that `load` goes on from, bit for bit."""
        state = {"agent": self._get_state(), "controller": self._controller_state}
        meta = {
            "agent": self.name,
            "options": self.options,
            "seed": self.seed,
            "kappa": to_json(self._controller),
            "history": self.history.to_dict(),
            **recipe(self.env),
        }
        checkpoint.write(path, checkpoint.flatten(state), meta)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike,
        env: gym.Env | Spaces,
        *,
        kappa: float | Controller | None = None,
        **options,
    ) -> Self:
        """The agent in a file written by `save`; loading runs no code from it.

        Pass a controller of your own as `kappa`: it goes on where it stopped. Any other starts afresh.
        `options` replace the saved ones, for parts of your own that a file cannot hold.
        """
        arrays, meta = checkpoint.read(path, cls.name)
        kappa = from_json(meta["kappa"]) if kappa is None else kappa
        agent = cls(env, seed=meta["seed"], kappa=kappa, **(meta["options"] | options))
        state = {"agent": agent._get_state()}
        if same := to_json(agent._controller) == meta["kappa"]:
            state["controller"] = agent._controller_state
        state = checkpoint.unflatten(state, arrays)
        agent._set_state(state["agent"])
        if same:
            agent._control(state["controller"])
        agent.history = History.from_dict(meta["history"])
        return agent
