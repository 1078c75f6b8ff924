"""VIME: a policy that seeks what it would learn about the dynamics (see `vime.core`).

    agent = emuq.VIME(env, seed=0)
    agent.learn(episodes=100)

Acting is a small product of NumPy's, faster for one state than any compiled call; learning is one
compiled call every `batch` steps, also in the middle of an episode, whose value is then bootstrapped.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import jax
import numpy as np

from emuq.agents.actions import actions_of, cast
from emuq.agents.base import Agent
from emuq.agents.episodes import Transition
from emuq.agents.option_checks import check_added, check_counts, check_shares, options_of
from emuq.agents.spaces import EnvLike, as_env, plain, scaling_of
from emuq.errors import InputError, MissingExtra, finite
from emuq.history import Episode
from emuq.kappa import Controller
from emuq.precision import double

try:
    from emuq.agents.vime import core
    from emuq.agents.vime.core import Batch, Info, Options, Prior, State, Trust
except ModuleNotFoundError as error:
    raise MissingExtra("optax", "baselines") from error

_DRAWS = 4096  # random numbers are drawn in blocks, each a function of the seed and its number


class VIME(Agent):
    """TRPO on r + kappa eta times the information gain of a Bayesian network of the dynamics.

    Examples:
        >>> import emuq
        >>> agent = emuq.VIME("emuq/MountainCar-v0", seed=0)
        >>> history = agent.learn(steps=100, progress=False)
        >>> agent.num_transitions
        100
    """

    name: ClassVar[str] = "vime"

    def __init__(
        self,
        env: EnvLike,
        *,
        observation_bounds: tuple[Any, Any] | None = None,
        kappa: float | Controller = 1.0,
        seed: int = 0,
        **options: Any,
    ) -> None:
        """Make an agent for an environment (or its spaces).

        Args:
            env: A Gymnasium environment, its id, or anything with an observation and an action space.
            observation_bounds: `(low, high)`, which scale observations to [0, 1]; the space's own are used
                where they are finite.
            kappa: The weight of exploration, or a controller that sets it.
            seed: Of the agent's draws and of its episodes' starts.
            **options: The fields of `emuq.agents.vime.core.Options`.

        Raises:
            InputError: If the spaces do not fit, bounds are missing, or an option is not as told.
        """
        env = as_env(env)
        given = {"observation_bounds": plain(observation_bounds), **options}
        super().__init__(env, seed=seed, kappa=kappa, options=given)
        self.settings = check(options)
        self._scaling = scaling_of(env, observation_bounds)
        self._actions = actions_of(self.action_space)
        if self._actions.discrete:
            raise InputError(f"the action space is {self.action_space}: VIME expects a Box")
        with double():
            self._state = core.init(self.settings, self.seed, self._scaling.dim, self._actions.dim)
        self._batch = _empty(self.settings.batch, self._scaling.dim, self._actions.dim)
        self._filled = self._drawn = self._time = 0
        self._raw = np.zeros(self._actions.dim)
        self.info: Info | None = None
        self._refresh()

    def _start(self, observation: Any) -> Any:
        check_added(self.kappa)
        self._time = 0
        return self._draw(self._scaled(observation))

    def _advance(self, transition: Transition) -> Any:
        i, batch = self._filled, self._batch
        following = self._scaled(transition.next_observation)
        batch.states[i] = self._scaled(transition.observation)
        batch.raw[i], batch.actions[i] = self._raw, np.clip(self._raw, -1, 1)
        batch.rewards[i], batch.following[i] = transition.reward, following
        batch.terminated[i] = transition.terminated
        batch.over[i] = transition.terminated or transition.truncated
        batch.times[i] = self._time
        self._filled, self._time = i + 1, self._time + 1
        if self._filled == self.settings.batch:
            self._update()
        return self._draw(following)

    def _update(self) -> None:
        draws = core.draws(self.settings, self.seed, int(self._state.updates), self._scaling.dim)
        with double():
            self._state, info = _update(self.settings, self._state, self._batch, draws, self.kappa)
        self.info = info
        self._filled = 0
        self._refresh()

    def _refresh(self) -> None:
        """The policy as NumPy arrays."""
        self._policy = [np.asarray(part) for part in self._state.policy]
        self._block, self._noise = -1, np.zeros((0, 0))

    def _mean(self, s: np.ndarray) -> np.ndarray:
        w1, b1, w2, b2, _ = self._policy
        return np.tanh(s @ w1 + b1) @ w2 + b2

    def _draw(self, s: np.ndarray) -> Any:
        block, row = divmod(self._drawn, _DRAWS)
        if block != self._block:
            rng = np.random.default_rng([self.seed, 5, block])
            self._block, self._noise = block, rng.standard_normal((_DRAWS, self._actions.dim))
        self._drawn += 1
        self._raw = self._mean(s) + np.exp(self._policy[-1]) * self._noise[row]
        return self._to_box(self._raw)

    def _to_box(self, raw: np.ndarray) -> np.ndarray:
        low, high = self._actions.low, self._actions.high
        return cast(low + (np.clip(raw, -1, 1) + 1) / 2 * (high - low), self.action_space.dtype)

    def _scaled(self, observation: Any) -> np.ndarray:
        return 2 * self._scaling(finite(np.asarray(observation, float), "observation")) - 1

    def _finish(self, episode: Episode) -> None:
        # `steps=` and callbacks cut episodes without a word to the environment.
        if self._filled:
            self._batch.over[self._filled - 1] = True

    def _greedy(self, observation: Any, kappa: float) -> Any:
        return self._to_box(self._mean(self._scaled(observation)))

    def _get_state(self) -> Any:
        counts = {"filled": np.int64(self._filled), "drawn": np.int64(self._drawn)}
        return {"core": self._state, "batch": self._batch, **counts}

    def _set_state(self, state: Any) -> None:
        self._state = state["core"]
        self._batch = Batch(*(np.array(part) for part in state["batch"]))
        self._filled, self._drawn = int(state["filled"]), int(state["drawn"])
        if not self._filled < self.settings.batch:
            raise InputError(f"filled is {self._filled}: expected less than the batch, {self.settings.batch}")
        self._refresh()


def check(options: dict) -> Options:
    """The options, or an error that names the bad one."""
    chosen = options_of(Options, options)
    chosen = chosen._replace(prior=Prior(*chosen.prior), trust=Trust(*chosen.trust))  # plain tuples in a file
    check_counts(chosen, "batch", "hidden", "updates", "minibatch", "pool")
    if chosen.pool < chosen.batch:
        raise InputError(f"pool is {chosen.pool}: expected at least the batch, {chosen.batch}")
    check_shares(chosen, "discount", "trace")
    return chosen


def _empty(size: int, state_dim: int, action_dim: int) -> Batch:
    """NumPy's arrays: they are filled in place, row by row."""
    return Batch(
        np.zeros((size, state_dim)),
        np.zeros((size, action_dim)),
        np.zeros((size, action_dim)),
        np.zeros(size),
        np.zeros((size, state_dim)),
        np.zeros(size, bool),
        np.zeros(size, bool),
        np.zeros(size, np.int64),
    )


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _update(options: Options, state: State, batch: Batch, draws: core.Draws, kappa: float):
    return core.update(options, state, batch, draws, kappa)
