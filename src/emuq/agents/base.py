"""The surface that every agent shares: it learns, is saved, and is loaded again.

An agent fills in the abstract methods. How it acts and is tested is in `policy`, a call of `learn` in
`learning`, the loop over episodes in `walk`, and what a file has in `saved`.
"""

from __future__ import annotations

import abc
import copy
import io
import os
import time
from collections.abc import Sequence
from typing import Any, BinaryIO, ClassVar, Self

import gymnasium as gym
import numpy as np

from emuq import checkpoint
from emuq.agents import learning, saved, summary
from emuq.agents.doubts import Doubts
from emuq.agents.episodes import Callback, Transition, UnderWay
from emuq.agents.policy import Policy
from emuq.agents.spaces import EnvLike, Spaces, as_env, spaces_of
from emuq.agents.vector import Beside
from emuq.history import Episode, History
from emuq.kappa import Controller, Outcome, from_json


class Agent(Policy):
    """What every agent can do: learn, act, be tested, be saved, and have its kappa turned.

    `learn` walks through episodes; everything an agent does differently is in six methods, `_greedy` (of the
    policy) among them.

    Attributes:
        env: The environment it learns in, or None where it was made from spaces alone.
        history: Every episode that it learned from, one row each.
        seed: The seed that it was made with.
        options: The options that it was made with, by name.

    Examples:
        >>> import gymnasium as gym, emuq
        >>> agent = emuq.ExplorationValues(gym.make("emuq/Chain-v0", observation="index"), seed=0)
        >>> agent
        <ExplorationValues on emuq/Chain-v0, seed 0: 0 episodes, 0 steps, 0 goals, kappa 1 (Constant)>
    """

    name: ClassVar[str]
    any_action: ClassVar[bool] = False  # it learns from actions that it did not choose
    may_be_nan: ClassVar[tuple[str, ...]] = ()  # names of arrays in which NaN stands for "none yet"

    def __init__(self, env: EnvLike, *, seed: int, kappa: float | Controller, options: dict) -> None:
        self.history = History()
        self.options = options
        self._under_way: UnderWay | None = None
        self._doubts = Doubts()
        super().__init__(env, seed=seed, kappa=kappa)

    # What an agent fills in, besides `_greedy` ------------------------------------------------------

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
    def _get_state(self) -> Any:
        """The whole state as a pytree of arrays."""

    @abc.abstractmethod
    def _set_state(self, state: Any) -> None:
        """The inverse of `_get_state`."""

    def _beside(self) -> Beside:
        """How episodes of several copies are learned from at once, by an agent that `takes_copies`."""
        raise NotImplementedError

    # Learning ---------------------------------------------------------------------------------------

    def learn(
        self,
        episodes: int | None = None,
        *,
        steps: int | None = None,
        total_timesteps: int | None = None,
        until: str | None = None,
        callback: Callback | Sequence[Callback] | None = None,
        progress: bool = True,
        env: gym.Env | gym.vector.VectorEnv | str | None = None,
        deadline: float | None = None,
        safe_action: Any = None,
    ) -> History:
        """Learn for so many episodes or steps. It may be called again, and goes on.

        The last episode is cut (as by a time limit) when the steps run out, and so is one that ends with an
        error or with Ctrl-C. Each episode's reset is seeded by the agent's seed and the episode's number, so
        that a resumed run equals an uninterrupted one. Copies that step together (a vector of environments,
        which `EMUQ` takes) are all reset as learning begins, and cut as it stops.

        Args:
            episodes: How many episodes. Exactly one of this, `steps` and `total_timesteps` is given.
            steps: How many steps of the environment.
            total_timesteps: The same, as Stable-Baselines3 calls it.
            until: "goal" stops after the first episode that reaches the goal; None does not.
            callback: A function of an `Event`, or several of them, each of which hears every event; one that
                returns False stops learning.
            progress: Whether to show how far it is, on stderr.
            env: Another environment than the agent's own, with the same spaces.
            deadline: Seconds within which a step's command must follow on its observation. Where it does not,
                the last command is sent again, the agent learns from that as soon as it can, and the history
                counts it (`missed`). None: the environment waits for the agent.
            safe_action: What to send instead of the last command.

        Returns:
            The episodes of this call; `agent.history` has all.

        Raises:
            InputError: If not exactly one length is given, or something else is not as told above.

        Examples:
            >>> history = agent.learn(episodes=5, progress=False)
            >>> len(history)
            5
            >>> len(agent.learn(total_timesteps=100, until="goal", progress=False))
            1
        """
        given = {"episodes": episodes, "steps": steps, "total_timesteps": total_timesteps}
        return learning.learn(self, env, callback, progress, deadline, safe_action, until, **given)

    def _settle(self) -> None:
        """Learning stops for now: nothing is to be under way any more."""
        return

    def warmup(self) -> float:
        """Compile all that the agent will ever call, from its spaces alone, before the first motion.

        `learn` does it before its first reset. After it nothing compiles, whatever happens. What an agent of
        the same options and the same kind of spaces has compiled in this process is not compiled again.

        Returns:
            The seconds it took.

        Examples:
            >>> agent.warmup() < 1.0                       # a table compiles nothing
            True
        """
        began = time.perf_counter()
        controller, count = self.controller, self.controller.test_episodes
        if type(controller).__module__.startswith("emuq."):  # one of a user's own may have side effects
            outcome = Outcome(0.0, False, np.full(count, np.nan) if count else None)
            controller.value(controller.update(controller.init(), outcome))
        self._warm()
        return time.perf_counter() - began

    def _warm(self) -> None:
        """Call everything once that is compiled when it is called."""
        return

    @property
    def moments(self) -> list[tuple[int, bool]]:
        """When plans made beside the loop were taken over, where an agent makes such (`EMUQ`)."""
        return []

    @moments.setter
    def moments(self, moments: list[tuple[int, bool]]) -> None:
        """As a file has them."""
        return

    @property
    def num_transitions(self) -> int:
        """The number of steps learned from.

        Examples:
            >>> agent.num_transitions == agent.history.to_dict()["steps"][-1]   # between episodes
            True
        """
        return self.history.steps if self._under_way is None else self._under_way.learned.steps

    @property
    def exploration_range(self) -> float | None:
        """How far U reaches, 1 / (1 - gamma) with r^e in [-1, 0]; None where there is no U.

        Examples:
            >>> round(agent.exploration_range)          # the discount is 0.99
            100
        """
        return None

    def _visit(self, observation: Any) -> None:
        """An observation was seen: what bounds are doubted by, in an agent that has bounds."""
        return

    def _doubt_of_bounds(self) -> str | None:
        """What is to be said, once, of bounds that do not fit what was visited."""
        return None

    def summary(self) -> str:
        """How it is doing, in plain words.

        Examples:
            >>> print(agent.summary().splitlines()[0])
            ExplorationValues on emuq/Chain-v0, seed 0.
        """
        return summary.words(self)

    def __repr__(self) -> str:
        return summary.line(self)

    # Files ------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike) -> None:
        """Write one file that `load` goes on from, bit for bit; what was there stays until it is whole.

        Args:
            path: The file. `.emuq` is the usual ending.

        Raises:
            InputError: If it cannot be written.

        Examples:
            >>> agent.save("chain.emuq")
        """
        checkpoint.write(path, saved.arrays_of(self), saved.meta_of(self))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike | BinaryIO,
        env: EnvLike,
        *,
        kappa: float | Controller | None = None,
        **options,
    ) -> Self:
        """The agent in a file written by `save`; loading runs no code from it.

        Args:
            path: The file.
            env: The environment that it was trained on, or one with the same spaces.
            kappa: A controller of your own, which a file cannot hold, goes on where it stopped. Any other
                starts afresh.
            **options: Replace the saved ones, for parts of your own that a file cannot hold.

        Returns:
            An agent that goes on where the saved one stopped.

        Raises:
            InputError: If the file is damaged, holds another kind of agent, or fits another environment.

        Examples:
            >>> again = emuq.ExplorationValues.load("chain.emuq", agent.env)
            >>> again.history.to_dict() == agent.history.to_dict()
            True
        """
        with checkpoint.opened(path, cls.name) as file:
            env = as_env(env, copies=cls.takes_copies)
            found = saved.options(file, spaces_of(env))
            kappa = from_json(file.meta["kappa"]) if kappa is None else kappa
            agent = cls(env, seed=file.meta["seed"], kappa=kappa, **(found | options))
            saved.restore(agent, file)
        return agent

    def _parts(self) -> dict[str, Any]:
        """Options that are objects, which a file only names."""
        return {}

    def __reduce__(self) -> tuple:
        """Pickled is what `save` writes, with the spaces instead of the environment, and the parts."""
        file = io.BytesIO()
        checkpoint.write(file, saved.arrays_of(self), saved.meta_of(self))
        return _unpickled, (type(self), file.getvalue(), self.spaces, self._controller, self._parts())

    def __deepcopy__(self, memo: dict) -> Self:
        """A copy in this process has its environment copied, too."""
        copied = object.__new__(type(self))
        memo[id(self)] = copied
        vars(copied).update(copy.deepcopy(vars(self), memo))
        return copied

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # arrays are updated in place: two agents cannot share them


def _unpickled(kind: type[Agent], file: bytes, spaces: Spaces, kappa: Controller, parts: dict) -> Agent:
    return kind.load(io.BytesIO(file), spaces, kappa=kappa, **parts)
