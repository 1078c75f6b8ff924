"""DORA: exploration values E as generalised counts, on discretised actions (see `dora.core`).

agent = emuq.DORA(env, seed=0)                  # additive bonus, as in the paper's comparison
agent = emuq.DORA(env, variant="lll", seed=0)   # its authors' own choice of actions
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from emuq.agents.actions import Actions, actions_of, from_index
from emuq.agents.base import Agent
from emuq.agents.dora import core
from emuq.agents.dora.core import Options, State
from emuq.agents.episodes import Transition
from emuq.agents.option_checks import check_added, check_counts, check_shares, options_of
from emuq.agents.spaces import EnvLike, as_env, plain, scaling_of
from emuq.errors import InputError, finite
from emuq.history import Episode
from emuq.kappa import Controller
from emuq.precision import double


class DORA(Agent):
    """Tile coding, Q-learning, and E-values that say where little is known.

    Examples:
        >>> import emuq
        >>> agent = emuq.DORA("emuq/MountainCar-v0", variant="lll", seed=0)
        >>> history = agent.learn(steps=100, progress=False)
        >>> q, e = agent.values([-0.5, 0.0])
        >>> q.shape
        (3,)
    """

    name: ClassVar[str] = "dora"

    def __init__(
        self,
        env: EnvLike,
        *,
        actions_per_dimension: int = 3,
        observation_bounds: tuple[Any, Any] | None = None,
        kappa: float | Controller = 1.0,
        seed: int = 0,
        **options: Any,
    ) -> None:
        """Make an agent for an environment (or its spaces).

        Args:
            env: A Gymnasium environment, its id, or anything with an observation and an action space.
            actions_per_dimension: A box of actions becomes a grid of so many along each dimension; discrete
                actions stay as they are.
            observation_bounds: `(low, high)`, which scale observations to [0, 1]; the space's own are used
                where they are finite.
            kappa: The weight of exploration, or a controller that sets it.
            seed: Of the agent's draws and of its episodes' starts.
            **options: The fields of `emuq.agents.dora.core.Options`.

        Raises:
            InputError: If the spaces do not fit, bounds are missing, or an option is not as told.
        """
        bounds = plain(observation_bounds)
        given = {"actions_per_dimension": actions_per_dimension, "observation_bounds": bounds, **options}
        env = as_env(env)
        super().__init__(env, seed=seed, kappa=kappa, options=given)
        self.settings = check(options)
        self._scaling = scaling_of(env, observation_bounds)
        self.actions = grid(actions_of(self.action_space), actions_per_dimension)
        with double():
            self._state = core.init(self.settings, self.seed)
        self._index: Any = None

    def values(self, observation: Any) -> tuple[np.ndarray, np.ndarray]:
        """Q and E of every action, for one observation."""
        with double():
            q, e = _values(self.settings, self._state, self._scaled(observation), self._num_actions)
        return np.asarray(q), np.asarray(e)

    @property
    def _num_actions(self) -> int:
        return len(self.actions.candidates)

    def _scaled(self, observation: Any) -> np.ndarray:
        return self._scaling(finite(np.asarray(observation, float), "observation"))

    def _action(self) -> Any:
        return from_index(self.actions, int(self._index), self.action_space.dtype)

    def _start(self, observation: Any) -> Any:
        if self.settings.variant == "bonus":
            check_added(self.kappa)
        with double():
            scaled = self._scaled(observation)
            self._state, self._index = _begin(
                self.settings, self._num_actions, self._state, scaled, self.kappa
            )
        return self._action()

    def _advance(self, transition: Transition) -> Any:
        row = np.concatenate(
            [
                self._scaled(transition.observation),
                self._scaled(transition.next_observation),
                [transition.reward, transition.terminated, self.kappa],
            ]
        )
        with double():
            self._state, self._index = _advance(
                self.settings, self._num_actions, self._state, row, self._index
            )
        return self._action()

    def _finish(self, episode: Episode) -> None:
        pass

    def _greedy(self, observation: Any, kappa: float) -> Any:
        with double():
            index = _greedy(self.settings, self._num_actions, self._state, self._scaled(observation), kappa)
        return from_index(self.actions, int(index), self.action_space.dtype)

    def _get_state(self) -> State:
        return self._state

    def _set_state(self, state: State) -> None:
        self._state = state


def grid(actions: Actions, points: int) -> Actions:
    """A box's candidates on a regular grid that includes its corners; discrete actions unchanged."""
    if actions.discrete:
        return actions
    if points < 2:
        raise InputError(f"actions_per_dimension is {points}: expected a whole number from 2")
    candidates = np.array(list(itertools.product(np.linspace(0, 1, points), repeat=actions.dim)))
    return actions._replace(candidates=candidates)


def check(options: dict) -> Options:
    """The options, or an error that names the bad one."""
    chosen = options_of(Options, options)
    for name, known in (("variant", ("bonus", "lll")), ("link", ("sigmoid", "linear"))):
        if getattr(chosen, name) not in known:
            raise InputError(f"{name} is {getattr(chosen, name)!r}: expected {' or '.join(known)}")
    check_shares(chosen, "rate", "discount", "e_rate", "e_discount")
    check_counts(chosen, "tilings", "tiles", "memory")
    return chosen


# Compiled once for all agents of the same options and shapes.


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=2)
def _begin(options: Options, num_actions: int, state: State, s: jax.Array, kappa: jax.Array):
    state = state._replace(steps=state.steps + 1)
    return state, core.greedy(options, state, core.tiles(options, s, num_actions), kappa)


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=2)
def _advance(options: Options, num_actions: int, state: State, row: jax.Array, index: jax.Array):
    """Choose the next action and learn, in that order: E bootstraps on the action to be taken."""
    dim = (row.shape[0] - 3) // 2
    here = core.tiles(options, row[:dim], num_actions)[index]
    following = core.tiles(options, row[dim : 2 * dim], num_actions)
    reward, terminated, kappa = row[-3].astype(jnp.float32), row[-2] > 0, row[-1]
    state = state._replace(steps=state.steps + 1)
    action = core.greedy(options, state, following, kappa)
    return core.observe(options, state, here, reward, following, action, terminated, kappa), action


@partial(jax.jit, static_argnums=(0, 1))
def _greedy(options: Options, num_actions: int, state: State, s: jax.Array, kappa: jax.Array) -> jax.Array:
    return core.greedy(options, state, core.tiles(options, s, num_actions), kappa)


@partial(jax.jit, static_argnums=(0, 3))
def _values(options: Options, state: State, s: jax.Array, num_actions: int):
    indices = core.tiles(options, s, num_actions)
    return core.q_values(state, indices), jnp.exp(core.log_e(options, state, indices))
