"""What acts on Q + kappa U, and is tested, but learns nothing: the policy of every agent.

`emuq.agents.base.Agent` is a policy that learns.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from emuq.agents import testing
from emuq.agents.copies import Copies
from emuq.agents.episodes import reset_seed
from emuq.agents.limits import Limits
from emuq.agents.readings import is_batch, observation_of
from emuq.agents.spaces import EnvLike, as_env, spaces_of
from emuq.errors import InputError, quoted
from emuq.history import History
from emuq.kappa import Controller, as_controller
from emuq.kappa.protocol import check_weight


class Policy(abc.ABC):
    """Actions by Q + kappa U, in an environment or its spaces; kappa is set by a controller.

    Attributes:
        env: The environment it acts in, or None where it was made from spaces alone.
        seed: The seed that it was made with.
    """

    takes_copies: ClassVar[bool] = False  # of an environment, which step together
    any_units: ClassVar[bool] = False  # kappa U is weighed in units of Q

    def __init__(self, env: EnvLike, *, seed: int, kappa: float | Controller) -> None:
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError(f"seed is {seed!r}: expected a whole number from 0")
        env = as_env(env, copies=self.takes_copies)
        self.env = env if isinstance(env, gym.Env) else None
        self._copies = env if isinstance(env, Copies) else None
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.spaces = spaces_of(env)
        self.seed = int(seed)
        self.limits: Limits | None = None  # of how fast a command may change
        self.kappa = kappa

    @abc.abstractmethod
    def _greedy(self, observation: Any, kappa: float) -> Any:
        """argmax_a Q + kappa U, learning nothing."""

    @property
    def kappa(self) -> float:
        """The weight of exploration now. Set it to a number or to a controller, at any moment.

        Examples:
            >>> agent.kappa = 0.0                          # exploit, from the next action on
            >>> agent.kappa = emuq.kappa.Budget(episodes=300)
            >>> agent.kappa
            1.0
        """
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
        """Who sets kappa.

        Examples:
            >>> agent.kappa = 0.5
            >>> agent.controller
            Constant(kappa=0.5)
        """
        return self._controller

    def predict(
        self,
        observation: Any,
        state: None = None,
        episode_start: Any = None,
        deterministic: bool = True,
        *,
        kappa: float | None = None,
    ) -> tuple[Any, None]:
        """The greedy action in Q + kappa U, and None, as Stable-Baselines3's `predict` returns them.

        Args:
            observation: One observation, or rows of them, which give rows of actions.
            state: None. There is no state to carry from one observation to the next.
            episode_start: Makes no difference, for the same reason.
            deterministic: Makes no difference: the greedy action is the same however it is asked for.
            kappa: The weight of exploration, instead of the agent's own; inf explores only.

        Returns:
            The action, and None.

        Raises:
            InputError: If the observation is not one of the space's, or kappa is negative.

        Examples:
            >>> observation, _ = agent.env.reset(seed=1)
            >>> action, _ = agent.predict(observation, deterministic=True)
            >>> int(action)                                  # to the right, where the goal is
            1
        """
        if state is not None:
            raise InputError(f"state is {quoted(state)}: expected None, since the policy has no memory")
        kappa = self.kappa if kappa is None else kappa
        check_weight(kappa)
        space = self.observation_space
        if is_batch(space, observation):
            return np.stack([self.predict(one, kappa=kappa)[0] for one in observation]), None
        return self._greedy(observation_of(space, observation), float(kappa)), None

    def evaluate(
        self, episodes: int = 20, *, kappa: float = 0.0, seed: int = 0, env: gym.Env | str | None = None
    ) -> History:
        """Run episodes without learning, on starts that learning never used.

        Args:
            episodes: How many.
            kappa: The weight of exploration in them: 0 exploits, inf explores only.
            seed: Of the episodes' starts; the same seed gives the same starts.
            env: Another environment than the agent's own, with the same spaces.

        Returns:
            One row for each episode. `agent.history` is left as it was.

        Raises:
            InputError: If the agent has no environment and none is given.

        Examples:
            >>> tests = agent.evaluate(10)
            >>> sum(episode.goal for episode in tests)
            10
        """
        return testing.evaluate(self, env, episodes, kappa, seed)

    def _reset_seed(self, *stream: int, test: bool = False) -> int:
        return reset_seed(self.seed, *stream, test=test)
