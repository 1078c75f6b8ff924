"""Exploration values, additive rewards and epsilon-greedy for any environment with discrete spaces."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, ClassVar

import gymnasium as gym
import jax
import numpy as np

from emuq import exploration as rewards
from emuq import precision
from emuq.agents.base import Agent
from emuq.agents.episodes import Transition
from emuq.agents.option_checks import check_added, check_shares
from emuq.agents.spaces import EnvLike
from emuq.agents.tabular import core
from emuq.agents.tabular.core import Parameters, State
from emuq.errors import InputError, quoted
from emuq.history import Episode
from emuq.kappa import Controller

# Compiled once for all agents of a kind; in double precision, as the domains are.
_act = jax.jit(core.act)
_greedy = jax.jit(core.greedy)


@partial(jax.jit, static_argnames="reward")
def _observe_act(parameters, reward, state, s, a, r, s_next, terminated, kappa, learning):
    state = core.observe(parameters, reward, state, s, a, r, s_next, terminated, kappa, learning)
    return state, core.act(parameters, state, s_next, kappa)


class TabularAgent(Agent):
    """What the three share: everything but their names and parameters."""

    def __init__(
        self, env: EnvLike, parameters: Parameters, exploration: Any, freeze: bool, *,
        seed: int, kappa: float | Controller,
    ) -> None:  # fmt: skip
        check_shares(parameters, "discount", "epsilon", "rate")
        if not math.isfinite(float(parameters.initial)):
            raise InputError(f"initial_value is {parameters.initial}: expected a finite number")
        self.exploration = rewards.as_reward(exploration)
        options = {
            "rate": parameters.rate,
            "discount": parameters.discount,
            "initial_value": parameters.initial,
            "exploration": rewards.to_json(self.exploration),
            "freeze": bool(freeze),
        }
        super().__init__(env, seed=seed, kappa=kappa, options=options)
        self._sizes = sizes_of(self.observation_space)
        if not isinstance(self.action_space, gym.spaces.Discrete):
            raise InputError(f"the action space is {self.action_space}: tabular agents expect a Discrete one")
        self._first_action = int(self.action_space.start)
        self._parameters, self._freeze = parameters, bool(freeze)
        with precision.double():
            size = math.prod(n for n, _ in self._sizes)
            key = jax.random.key(self.seed)
            self._state = core.init(parameters, self.exploration, size, int(self.action_space.n), key)

    def values(self, observation: Any, action: Any = None) -> tuple[Any, Any]:
        """Q and U of a state, for every action or for one.

        Args:
            observation: The state, as the environment gives it.
            action: The action; None for all of them.

        Returns:
            Q and U: arrays with an entry for each action, or two numbers.

        Examples:
            >>> q, u = agent.values(0)
            >>> q.shape
            (2,)
        """
        s = self._index(observation)
        q, u = np.asarray(self._state.q)[s], np.asarray(self._state.u)[s]
        return (q, u) if action is None else (q[action - self._first_action], u[action - self._first_action])

    def _index(self, observation: Any) -> int:
        parts, index = np.ravel(np.asarray(observation)), 0
        if parts.dtype.kind not in "iub" or len(parts) != len(self._sizes):
            raise InputError(f"observation is {quoted(observation)}: it is not in {self.observation_space}")
        for value, (size, start) in zip(parts.tolist(), self._sizes, strict=True):
            if not 0 <= value - start < size:
                raise InputError(f"observation is {observation}: it lies outside {self.observation_space}")
            index = index * size + value - start
        return index

    def _start(self, observation: Any) -> np.int64:
        if self._parameters.by_reward:
            check_added(self.kappa)
        with precision.double():
            return self._action(_act(self._parameters, self._state, self._index(observation), self.kappa))

    def _advance(self, transition: Transition) -> np.int64:
        kappa = self.kappa
        learning = kappa > 0 or not self._freeze
        s, s_next = self._index(transition.observation), self._index(transition.next_observation)
        a = int(transition.action) - self._first_action
        with precision.double():
            self._state, action = _observe_act(
                self._parameters, self.exploration, self._state,
                s, a, transition.reward, s_next, transition.terminated, kappa, learning,
            )  # fmt: skip
        return self._action(action)

    def _finish(self, episode: Episode) -> None:
        pass

    def _greedy(self, observation: Any, kappa: float) -> np.int64:
        with precision.double():
            return self._action(_greedy(self._parameters, self._state, self._index(observation), kappa))

    def _action(self, action: jax.Array) -> np.int64:
        return np.int64(int(action) + self._first_action)  # as the space's own samples are

    def _parts(self) -> dict[str, Any]:
        return {"exploration": self.exploration} if "exploration" in self.options else {}

    def _get_state(self) -> State:
        return self._state

    def _set_state(self, state: State) -> None:
        self._state = state


class ExplorationValues(TabularAgent):
    """Q and U apart, actions by Q + kappa U (Algorithm 1).

    Examples:
        >>> import gymnasium as gym, emuq
        >>> env = gym.make("emuq/Chain-v0", observation="index")
        >>> agent = emuq.ExplorationValues(env, seed=0)
        >>> agent.learn(episodes=5, progress=False)
        History(5 episodes, 5 goals, first in episode 1)
    """

    name: ClassVar[str] = "exploration-values"

    def __init__(
        self, env: EnvLike, *, rate: float = 0.1, discount: float = 0.99, initial_value: float = 0.0,
        exploration: Any = "first-visit", freeze: bool = False,
        kappa: float | Controller = 1.0, seed: int = 0,
    ) -> None:  # fmt: skip
        """Make an agent for an environment with discrete spaces.

        Args:
            env: A Gymnasium environment, its id, or anything with an observation and an action space.
            rate: The share by which a table moves towards its target at each step; 0 averages (1 / visits).
            discount: gamma: nearer to 1 looks farther ahead.
            initial_value: What Q is before anything was tried.
            exploration: The exploration reward: "first-visit", "count", "e-values", "next-state", or an
                object as `emuq.exploration` describes.
            freeze: True learns nothing while kappa = 0 (as in figure 2a).
            kappa: The weight of exploration, or a controller that sets it.
            seed: Of the agent's draws and of its episodes' starts.

        Raises:
            InputError: If the spaces are not discrete, or an option is not as told.
        """
        parameters = Parameters(rate, discount, initial_value, by_value=True)
        super().__init__(env, parameters, exploration, freeze, seed=seed, kappa=kappa)

    @property
    def exploration_range(self) -> float | None:
        discount = float(self._parameters.discount)
        return 1.0 / (1.0 - discount) if discount < 1 else None


class AdditiveRewards(TabularAgent):
    """r + kappa r^e in one table, actions by that table alone (eq. 6; kappa is the paper's xi).

    `initial_value` is to be optimistic with respect to both rewards: at least the greatest return, here 1,
    plus the greatest sum of exploration rewards, 0.

    Examples:
        >>> import gymnasium as gym, emuq
        >>> env = gym.make("emuq/Chain-v0", observation="index")
        >>> agent = emuq.AdditiveRewards(env, seed=0)
        >>> agent.learn(episodes=5, progress=False)
        History(5 episodes, 5 goals, first in episode 1)
    """

    name: ClassVar[str] = "additive-rewards"

    def __init__(
        self, env: EnvLike, *, rate: float = 0.1, discount: float = 0.99, initial_value: float = 1.0,
        exploration: Any = "first-visit", freeze: bool = False,
        kappa: float | Controller = 1.0, seed: int = 0,
    ) -> None:  # fmt: skip
        """Make an agent for an environment with discrete spaces.

        Args:
            env: A Gymnasium environment, its id, or anything with an observation and an action space.
            rate: The share by which a table moves towards its target at each step; 0 averages (1 / visits).
            discount: gamma: nearer to 1 looks farther ahead.
            initial_value: What Q is before anything was tried.
            exploration: The exploration reward: "first-visit", "count", "e-values", "next-state", or an
                object as `emuq.exploration` describes.
            freeze: True learns nothing while kappa = 0 (as in figure 2a).
            kappa: The weight of exploration, or a controller that sets it.
            seed: Of the agent's draws and of its episodes' starts.

        Raises:
            InputError: If the spaces are not discrete, or an option is not as told.
        """
        parameters = Parameters(rate, discount, initial_value, by_reward=True)
        super().__init__(env, parameters, exploration, freeze, seed=seed, kappa=kappa)


class EpsilonGreedy(TabularAgent):
    """Q alone, a random action with probability epsilon kappa. It has no exploration reward.

    Examples:
        >>> import gymnasium as gym, emuq
        >>> env = gym.make("emuq/Chain-v0", observation="index")
        >>> agent = emuq.EpsilonGreedy(env, seed=0)
        >>> agent.learn(episodes=5, progress=False)
        History(5 episodes, 5 goals, first in episode 1)
    """

    name: ClassVar[str] = "epsilon-greedy"

    def __init__(
        self, env: EnvLike, *, rate: float = 0.1, discount: float = 0.99, initial_value: float = 0.0,
        epsilon: float = 0.1, freeze: bool = False, kappa: float | Controller = 1.0, seed: int = 0,
    ) -> None:  # fmt: skip
        """Make an agent for an environment with discrete spaces.

        Args:
            env: A Gymnasium environment, its id, or anything with an observation and an action space.
            rate: The share by which a table moves towards its target at each step; 0 averages (1 / visits).
            discount: gamma: nearer to 1 looks farther ahead.
            initial_value: What Q is before anything was tried.
            epsilon: The share of random actions at kappa = 1.
            freeze: True learns nothing while kappa = 0 (as in figure 2a).
            kappa: The weight of exploration, or a controller that sets it.
            seed: Of the agent's draws and of its episodes' starts.

        Raises:
            InputError: If the spaces are not discrete, or an option is not as told.
        """
        parameters = Parameters(rate, discount, initial_value, epsilon=epsilon)
        super().__init__(env, parameters, "first-visit", freeze, seed=seed, kappa=kappa)
        del self.options["exploration"]
        self.options["epsilon"] = epsilon


def sizes_of(space: gym.Space) -> list[tuple[int, int]]:
    """(size, first value) of each part of a discrete space."""
    if isinstance(space, gym.spaces.Discrete):
        return [(int(space.n), int(space.start))]
    if isinstance(space, gym.spaces.MultiDiscrete):
        return list(zip(space.nvec.ravel().tolist(), np.ravel(space.start).tolist(), strict=True))
    if isinstance(space, gym.spaces.MultiBinary):
        return [(2, 0)] * int(np.prod(space.shape))
    if isinstance(space, gym.spaces.Tuple) and all(isinstance(part, gym.spaces.Discrete) for part in space):
        return [size for part in space for size in sizes_of(part)]
    raise InputError(f"the observation space is {space}: tabular agents expect a discrete one")
