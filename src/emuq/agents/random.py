"""The uniform random policy, for any space: what every other agent has to beat."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, NamedTuple

import numpy as np

from emuq.agents.base import Agent
from emuq.agents.episodes import Transition
from emuq.agents.spaces import EnvLike
from emuq.history import Episode
from emuq.kappa import Controller


class State(NamedTuple):
    """How many actions were drawn: the n-th is a function of the seed and n alone."""

    learning: np.integer
    predicting: np.integer


class RandomAgent(Agent):
    """Draws actions uniformly (as `action_space.sample` does); it learns nothing and has no use for kappa.

    Examples:
        >>> import emuq
        >>> chance = emuq.RandomAgent("emuq/MountainCar-v0", seed=0)
        >>> chance.learn(episodes=2, progress=False)
        History(2 episodes, 0 goals, first in episode None)
    """

    name: ClassVar[str] = "random"

    def __init__(self, env: EnvLike, *, kappa: float | Controller = 0.0, seed: int = 0) -> None:
        """Make an agent for an environment (or its spaces).

        Args:
            env: A Gymnasium environment, its id, or anything with an observation and an action space.
            kappa: Makes no difference.
            seed: Of the agent's draws and of its episodes' starts.
        """
        super().__init__(env, seed=seed, kappa=kappa, options={})
        self._space = copy.deepcopy(self.action_space)  # so that seeding it touches no one else's draws
        self._state = State(np.int64(0), np.int64(0))

    def _draw(self, stream: int, n: np.integer) -> Any:
        self._space.seed(int(np.random.SeedSequence([self.seed, 2 + stream, int(n)]).generate_state(1)[0]))
        return self._space.sample()

    def _start(self, observation: Any) -> Any:
        action = self._draw(0, self._state.learning)
        self._state = self._state._replace(learning=self._state.learning + 1)
        return action

    def _advance(self, transition: Transition) -> Any:
        return self._start(transition.next_observation)

    def _finish(self, episode: Episode) -> None:
        pass

    def _greedy(self, observation: Any, kappa: float) -> Any:
        action = self._draw(1, self._state.predicting)
        self._state = self._state._replace(predicting=self._state.predicting + 1)
        return action

    def _get_state(self) -> State:
        return self._state

    def _set_state(self, state: State) -> None:
        self._state = state
