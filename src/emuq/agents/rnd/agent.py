"""RND: random network distillation, as exploration values or as an additive bonus (see `core`).

agent = emuq.RND(env, seed=0)                 # Q and U apart, actions by Q + kappa U
agent = emuq.RND(env, form="bonus", seed=0)   # r + kappa r^e in one value
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import jax
import numpy as np

from emuq.agents.actions import actions_of, from_index
from emuq.agents.base import Agent
from emuq.agents.episodes import Transition
from emuq.agents.option_checks import check_added, check_counts, options_of
from emuq.agents.spaces import EnvLike, as_env, plain, scaling_of
from emuq.errors import InputError, MissingExtra, finite
from emuq.history import Episode
from emuq.kappa import Controller
from emuq.precision import double

try:
    from emuq.agents.rnd import core
    from emuq.agents.rnd.core import Options, State
except ModuleNotFoundError as error:
    raise MissingExtra("optax", "baselines") from error


class RND(Agent):
    """What a random network's imitator has not learned to predict is new.

    Examples:
        >>> import emuq
        >>> agent = emuq.RND("emuq/MountainCar-v0", seed=0)
        >>> history = agent.learn(steps=100, progress=False)
        >>> q, u = agent.values([-0.5, 0.0])
        >>> len(q) == len(u)
        True
    """

    name: ClassVar[str] = "rnd"

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
            **options: The fields of `emuq.agents.rnd.core.Options`.

        Raises:
            InputError: If the spaces do not fit, bounds are missing, or an option is not as told.
        """
        env = as_env(env)
        given = {"observation_bounds": plain(observation_bounds), **options}
        super().__init__(env, seed=seed, kappa=kappa, options=given)
        self.settings = check(options)
        self._scaling = scaling_of(env, observation_bounds)
        self._actions = actions_of(self.action_space)
        with double():
            self._basis, self._state = core.init(self.settings, self.seed, self._scaling.dim, self._actions)
        self._index: Any = None

    def values(self, observation: Any) -> tuple[np.ndarray, np.ndarray]:
        """Q and U of every candidate action."""
        with double():
            q, u = _values(self._basis, self._state, self._scaled(observation))
        return np.asarray(q), np.asarray(u)

    def novelty(self, observation: Any) -> np.ndarray:
        """r^e of reaching an observation, or rows of them: 0 for the newest, -1 for what is known."""
        with double():
            return np.asarray(_novelty(self._basis, self._state, self._scaled(observation)))

    def _scaled(self, observation: Any) -> np.ndarray:
        return self._scaling(finite(np.asarray(observation, float), "observation")).astype(np.float32)

    def _action(self) -> Any:
        return from_index(self._actions, int(self._index), self.action_space.dtype)

    def _start(self, observation: Any) -> Any:
        if self.settings.form == "bonus":
            check_added(self.kappa)
        scaled = self._scaled(observation)
        with double():
            self._state = self._state._replace(start=jax.numpy.asarray(scaled))
            self._index = _greedy(self.settings, self._basis, self._state, scaled, self.kappa)
        return self._action()

    def _advance(self, transition: Transition) -> Any:
        row = np.concatenate(
            [
                self._scaled(transition.observation),
                self._scaled(transition.next_observation),
                np.array([transition.reward, transition.terminated, self.kappa], np.float32),
            ]
        )
        with double():
            self._state, self._index = _advance(self.settings, self._basis, self._state, row, self._index)
        return self._action()

    def _finish(self, episode: Episode) -> None:
        if not np.all(np.isfinite(np.asarray(self._state.q_weights))):
            raise InputError(f"Q diverged with rate {self.settings.rate}: lower the rate")

    def _greedy(self, observation: Any, kappa: float) -> Any:
        with double():
            index = _greedy(self.settings, self._basis, self._state, self._scaled(observation), kappa)
        return from_index(self._actions, int(index), self.action_space.dtype)

    def _get_state(self) -> State:
        return self._state

    def _set_state(self, state: State) -> None:
        self._state = state


def check(options: dict) -> Options:
    """The options, or an error that names the bad one."""
    chosen = options_of(Options, options)
    if chosen.form not in ("values", "bonus"):
        raise InputError(f"form is {chosen.form!r}: expected values or bonus")
    if not 0 < chosen.rate <= 2:
        raise InputError(f"rate is {chosen.rate}: expected a number above 0, up to 2")
    if not 0 <= chosen.discount < 1:
        raise InputError(f"discount is {chosen.discount}: expected a number from 0 to below 1")
    check_counts(chosen, "minibatch", "capacity", "hidden", "outputs")
    return chosen


# Compiled once for all agents of the same options and shapes.


@partial(jax.jit, static_argnums=0, donate_argnums=2)
def _advance(options: Options, basis: core.Basis, state: State, row: jax.Array, index: jax.Array):
    dim = (row.shape[0] - 3) // 2
    s, following, (reward, terminated, kappa) = row[:dim], row[dim : 2 * dim], row[2 * dim :]
    state = core.remember(state, s, basis.actions[index], reward, following, terminated)
    state = core.learn(options, basis, state, kappa)
    return state, core.greedy(options, basis, state, following, kappa)


_greedy = jax.jit(core.greedy, static_argnums=0)


@jax.jit
def _values(basis: core.Basis, state: State, s: jax.Array) -> tuple[jax.Array, jax.Array]:
    return core.values(basis, state.q_weights, s), core.values(basis, state.u_weights, s)


_novelty = jax.jit(core.exploration_rewards)
