"""RFF-Q: Q-learning by gradient on EMU-Q's features, epsilon-greedy (Sections 5.3 and 6.3 of the paper).

    w <- w + rate / |phi|^2_max (r + gamma max_a' Q(s', a') - Q(s, a)) phi(s, a),    Q = w'phi

The baseline that needs classic rewards. With `basis="fourier"` it learns on the Fourier basis of
Konidaris et al. (2011) instead. The rate is divided by the largest phi'phi (1 for random Fourier
features, their number for the Fourier basis), so that one rate serves both: at 1 the value of a single
transition is learned at once. Single precision throughout: a gradient step needs no more.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from emuq.agents.actions import Actions, actions_of, from_index
from emuq.agents.base import Agent
from emuq.agents.episodes import Transition
from emuq.agents.spaces import EnvLike, as_env, plain, scaling_of
from emuq.agents.ties import argmax_by_uniform
from emuq.errors import InputError, finite
from emuq.history import Episode
from emuq.kappa import Controller
from emuq.linear.features import (
    Features,
    Part,
    action_part,
    combine,
    fourier_basis,
    random_fourier,
    scores,
    state_part,
)
from emuq.precision import double


class Options(NamedTuple):
    """Options, with the values of the paper's own code. Lengthscales are for inputs in [0, 1]."""

    basis: Literal["random", "fourier"] = "random"
    features: int = 300  # M, of the random basis
    order: int = 3  # n, of the Fourier basis: (n + 1)^(d_S + d_A) features
    state_lengthscale: float = 0.3
    action_lengthscale: float = 0.3
    rate: float = 0.5
    epsilon: float = 0.1
    discount: float = 0.99
    ties: Literal["random", "first"] = "random"  # between equal values; "first" is NumPy's argmax


class Basis(NamedTuple):
    """What is drawn once: the feature map and the candidate actions' parts."""

    features: Features
    candidates: Part


class State(NamedTuple):
    """All that an agent learns, and its key."""

    weights: Float[Array, " m"]
    key: Array


def init(options: Options, seed: int, state_dim: int, actions: Actions) -> tuple[Basis, State]:
    """Features drawn from the seed, zero weights."""
    rng = np.random.default_rng([seed, 0])
    if options.basis == "random":
        features = random_fourier(
            np.uint32(rng.integers(2**32)),
            options.features,
            state_dim,
            actions.dim,
            state_lengthscale=options.state_lengthscale,
            action_lengthscale=options.action_lengthscale,
        )
    else:
        features = fourier_basis(options.order, state_dim, actions.dim)
    features = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), features)
    candidates = action_part(features, jnp.asarray(actions.candidates, jnp.float32))
    key = jax.random.key(int(rng.integers(2**31)))
    return Basis(features, candidates), State(jnp.zeros(features.num_features, jnp.float32), key)


def look(basis: Basis, s: Float[Array, "*n ds"]) -> Part:
    """What the features need of a state in [0, 1]^d, computed once. O(M d_S)."""
    return state_part(basis.features, s.astype(jnp.float32))


def values(basis: Basis, state: State, part: Part) -> Float[Array, "*n k"]:
    """Q(s, a_k) for every candidate action. O(K M)."""
    return scores(basis.features, part, basis.candidates, state.weights)


def act(basis: Basis, state: State, part: Part, options: Options) -> tuple[State, Int[Array, ""]]:
    """The index of the greedy candidate, or with probability epsilon of any. O(K M)."""
    key, draw_key = jax.random.split(state.key)
    value = values(basis, state, part)
    count = value.shape[-1]
    draws = jax.random.uniform(draw_key, (count + 2,))  # one call: random bits are what compiles slowly
    index = jnp.minimum((draws[0] * count).astype(int), count - 1)
    # All values are 0 at first, and a fixed choice among equals would be a habit.
    ties = jnp.zeros(count) if options.ties == "first" else draws[2:]
    greedy = argmax_by_uniform(value, ties)
    return state._replace(key=key), jnp.where(draws[1] < options.epsilon, index, greedy)


def skip(state: State) -> State:
    """`act`'s draws, thrown away."""
    return state._replace(key=jax.random.split(state.key)[0])


def observe(
    basis: Basis,
    state: State,
    part: Part,
    index: Int[Array, ""],
    reward: Float[Array, ""],
    following: Part,
    terminated: Bool[Array, ""],
    options: Options,
) -> State:
    """One step of Q-learning; a truncated episode bootstraps, a terminated one does not. O(K M)."""
    action = jax.tree.map(lambda table: table[index], basis.candidates)
    phi = combine(basis.features, part, action)
    best = jnp.where(terminated, 0.0, jnp.max(values(basis, state, following)))
    error = jnp.asarray(reward, jnp.float32) + options.discount * best - phi @ state.weights
    return state._replace(weights=state.weights + options.rate / basis.features.norm * error * phi)


@jax.jit(static_argnames="options")
def _begin(basis, state, s, options):
    """The first action of an episode, with what the next call needs."""
    part = look(basis, s)
    return *act(basis, state, part, options), part


@jax.jit(static_argnames="options")
def _advance(basis, state, part, index, reward, s, terminated, options):
    """Learn and choose the next action in one compiled call."""
    following = look(basis, s)
    state = observe(basis, state, part, index, reward, following, terminated, options)
    return *act(basis, state, following, options), following


@jax.jit
def _values(basis, state, s):
    return values(basis, state, look(basis, s))


class RFFQ(Agent):
    """Gradient Q-learning with epsilon-greedy exploration over candidate actions. It has no use for kappa.

    Examples:
        >>> import gymnasium as gym, emuq
        >>> env = gym.make("emuq/MountainCar-v0", reward="classic")
        >>> agent = emuq.RFFQ(env, features=100, seed=0)
        >>> history = agent.learn(steps=100, progress=False)
    """

    name: ClassVar[str] = "rffq"

    def __init__(
        self,
        env: EnvLike,
        *,
        basis: Literal["random", "fourier"] = "random",
        features: int = 300,
        order: int = 3,
        state_lengthscale: float = 0.3,
        action_lengthscale: float = 0.3,
        rate: float = 0.5,
        epsilon: float = 0.1,
        discount: float = 0.99,
        ties: Literal["random", "first"] = "random",
        observation_bounds: tuple[Any, Any] | None = None,
        kappa: float | Controller = 0.0,
        seed: int = 0,
    ) -> None:
        """Make an agent for an environment (or its spaces).

        Args:
            env: A Gymnasium environment, its id, or anything with an observation and an action space.
            basis: "random" Fourier features, or the "fourier" basis.
            features: How many random features.
            order: Of the Fourier basis, which has (order + 1)^dimensions features.
            state_lengthscale: The larger, the farther a value generalises over states.
            action_lengthscale: The same over actions.
            rate: Of the gradient steps; at 1 the value of a single transition is learned at once.
            epsilon: The share of random actions.
            discount: gamma: nearer to 1 looks farther ahead.
            ties: Between equal values: "random", or the "first".
            observation_bounds: `(low, high)`, which scale observations to [0, 1]; the space's own are used
                where they are finite.
            kappa: Makes no difference.
            seed: Of the agent's draws and of its episodes' starts.

        Raises:
            InputError: If the spaces do not fit, bounds are missing, or an option is not as told.
        """
        options = Options(
            basis, features, order, state_lengthscale, action_lengthscale, rate, epsilon, discount, ties
        )
        env = as_env(env)
        given = {"observation_bounds": plain(observation_bounds), **options._asdict()}
        super().__init__(env, seed=seed, kappa=kappa, options=given)
        self._rffq = check(options)
        self._scaling = scaling_of(env, observation_bounds)
        self._actions = actions_of(self.action_space)
        with double():
            self._basis, self._state = init(options, self.seed, self._scaling.dim, self._actions)
        self._part: Any = None
        self._index: Any = None

    @property
    def num_features(self) -> int:
        return self._basis.features.num_features

    def _scaled(self, observation: Any) -> np.ndarray:
        return self._scaling(finite(np.asarray(observation, float), "observation"))

    def _action(self, index: Any) -> Any:
        return from_index(self._actions, int(index), self.action_space.dtype)

    def _start(self, observation: Any) -> Any:
        scaled = self._scaled(observation)
        with double():
            self._state, self._index, self._part = _begin(self._basis, self._state, scaled, self._rffq)
        return self._action(self._index)

    def _advance(self, transition: Transition) -> Any:
        scaled = self._scaled(transition.next_observation)
        with double():
            self._state, self._index, self._part = _advance(
                self._basis, self._state, self._part, self._index,
                transition.reward, scaled, transition.terminated, self._rffq,
            )  # fmt: skip
        return self._action(self._index)

    def _finish(self, episode: Episode) -> None:
        if not np.all(np.isfinite(np.asarray(self._state.weights))):
            raise InputError(f"Q diverged with rate {self._rffq.rate}: lower the rate")

    def _greedy(self, observation: Any, kappa: float) -> Any:
        return self._action(np.argmax(self.values(observation)))

    def values(self, observation: Any) -> np.ndarray:
        """Q(s, a) of every candidate action, for one observation or a batch of them."""
        with double():
            return np.asarray(_values(self._basis, self._state, self._scaled(observation)))

    def _get_state(self) -> State:
        return self._state

    def _set_state(self, state: State) -> None:
        self._state = state


def check(options: Options) -> Options:
    """The options themselves, or an error that names the bad one."""
    if options.basis not in ("random", "fourier"):
        raise InputError(f"basis is {options.basis!r}: expected 'random' or 'fourier'")
    if options.ties not in ("random", "first"):
        raise InputError(f"ties is {options.ties!r}: expected 'random' or 'first'")
    for name, low, high in (("rate", 0, 2), ("epsilon", 0, 1), ("discount", 0, 1)):
        if not low <= getattr(options, name) <= high:
            raise InputError(f"{name} is {getattr(options, name)}: expected a number from {low} to {high}")
    return options
