"""The surface that every agent shares: learn, predict, save, load, kappa.

An agent fills in the abstract methods; the controller of kappa, callbacks, history and checkpoints are
written once, here, and the loop over episodes in `walk`.
"""

from __future__ import annotations

import abc
import copy
import io
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, BinaryIO, ClassVar, Self

import gymnasium as gym
import numpy as np

from emuq import checkpoint
from emuq.agents import saved, summary
from emuq.agents.copies import Copies
from emuq.agents.deadline import deadline_of
from emuq.agents.doubts import Doubts
from emuq.agents.episodes import Callback, Transition, UnderWay, as_callback, reset_seed, rollout
from emuq.agents.interrupts import Interrupts
from emuq.agents.limits import Limits
from emuq.agents.readings import is_batch, observation_of
from emuq.agents.spaces import EnvLike, Spaces, as_env, spaces_of
from emuq.agents.vector import Beside, Together
from emuq.agents.walk import Walk
from emuq.errors import InputError, quoted
from emuq.history import Episode, History
from emuq.kappa import Controller, Outcome, as_controller, from_json
from emuq.kappa.protocol import check_weight, check_whole
from emuq.progress import Progress


class Agent(abc.ABC):
    """What every agent can do: learn, act, be tested, be saved, and have its kappa turned.

    `learn` walks through episodes; everything an agent does differently is in six methods.

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
    takes_copies: ClassVar[bool] = False  # it has `_beside`
    any_units: ClassVar[bool] = False  # kappa U is weighed in units of Q
    any_action: ClassVar[bool] = False  # it learns from actions that it did not choose
    may_be_nan: ClassVar[tuple[str, ...]] = ()  # names of arrays in which NaN stands for "none yet"

    def __init__(self, env: EnvLike, *, seed: int, kappa: float | Controller, options: dict) -> None:
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError(f"seed is {seed!r}: expected a whole number from 0")
        env = as_env(env, copies=self.takes_copies)
        self.env = env if isinstance(env, gym.Env) else None
        self._copies = env if isinstance(env, Copies) else None
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.spaces = spaces_of(env)
        self.seed = int(seed)
        self.history = History()
        self.options = options
        self._under_way: UnderWay | None = None
        self._doubts = Doubts()
        self.limits: Limits | None = None  # of how fast a command may change
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

    def _beside(self) -> Beside:
        """How episodes of several copies are learned from at once, by an agent that `takes_copies`."""
        raise NotImplementedError

    # kappa ------------------------------------------------------------------------------------------

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
        where, tell = self._learning_environment(env), as_callback(callback)
        lengths = {"episodes": episodes, "steps": steps, "total_timesteps": total_timesteps}
        given = {name: number for name, number in lengths.items() if number is not None}
        if len(given) != 1:
            text = ", ".join(f"{name}={number}" for name, number in given.items())
            raise InputError(f"learn({text}): expected exactly one of the two, episodes=... or steps=...")
        for name, number in given.items():
            check_whole(name, number, 1)
        if until not in (None, "goal"):
            raise InputError(f"until is {until!r}: expected None or 'goal'")
        timing = deadline_of(self, deadline, safe_action)
        if isinstance(where, Copies):
            beside = self.options.get("planning") == "beside"
            given = {"deadline is given": timing is not None, "action_rate is given": self.limits is not None}
            for what, found in {**given, "planning is 'beside'": beside}.items():
                if found:
                    raise InputError(f"{what} where copies step together: expected a single environment")
        steps = total_timesteps if steps is None else steps
        done, first = 0, len(self.history)
        with Progress(progress, episodes=episodes, steps=steps) as bar, Interrupts() as ears, self._settled():
            ears.during(self.warmup)
            if isinstance(where, Copies):
                Together(self, where, tell, bar, ears).learn(episodes, steps, until)
                return self.history[first:]
            with closing(Walk(self, where, tell, bar, ears, timing)) as walk:
                while (episodes is None or len(self.history) - first < episodes) and (
                    steps is None or done < steps
                ):
                    row, go_on = walk.episode(None if steps is None else steps - done)
                    done += row.length
                    if not go_on or (until == "goal" and row.goal):
                        break
        return self.history[first:]

    @contextmanager
    def _settled(self) -> Iterator[None]:
        """However learning ends, nothing is under way after it."""
        try:
            yield
        finally:
            self._settle()

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
        check_whole("episodes", episodes, 0)
        found, history, steps = self._environment(env), History(), 0
        where = found if self.limits is None else self.limits.on(found)
        for i in range(int(episodes)):
            total, length, goal = self._rollout(where, kappa, (seed, i))
            steps += length
            history.append(Episode(total, length, goal, kappa, steps))
        return history

    def _rollout(self, env, kappa: float, stream: tuple[int, ...]) -> tuple[float, int, bool]:
        def policy(observation: Any) -> Any:
            return self._greedy(observation, kappa)

        return rollout(env, self.observation_space, policy, self._reset_seed(*stream, test=True))

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

    def summary(self) -> str:
        """How it is doing, in plain words.

        Examples:
            >>> print(agent.summary().splitlines()[0])
            ExplorationValues on emuq/Chain-v0, seed 0.
        """
        return summary.words(self)

    def __repr__(self) -> str:
        return summary.line(self)

    def _learning_environment(self, env: Any) -> gym.Env | Copies:
        given = self._copies if env is None else env
        found = None if given is None else as_env(given, copies=self.takes_copies)
        return found if isinstance(found, Copies) else self._environment(env)

    def _environment(self, env: gym.Env | str | None) -> gym.Env:
        found = self.env if env is None else as_env(env)
        if found is None and self._copies is not None:
            raise InputError("the agent learns in copies that step together: pass env=..., a single one")
        if not isinstance(found, gym.Env):
            raise InputError("the agent was made from spaces alone: pass env=... to learn or evaluate")
        return found

    def _reset_seed(self, *stream: int, test: bool = False) -> int:
        return reset_seed(self.seed, *stream, test=test)

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
