"""One Gymnasium environment over every pure-JAX domain."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from emuq import domains
from emuq.domains.actions import check_box, check_discrete
from emuq.domains.base import Domain, episode_keys, step_key
from emuq.errors import InputError
from emuq.precision import double


def action_space(domain: Domain) -> gym.Space:
    """The actions of a domain: n of them, or a box."""
    if domain.num_actions is not None:
        return gym.spaces.Discrete(domain.num_actions)
    return gym.spaces.Box(np.array(domain.action_low), np.array(domain.action_high), dtype=np.float64)


class Environment(gym.Env):
    """A domain, stepped by one compiled call in double precision.

    `reset(seed=s)` fixes the start and every random number of the episode (`base.episode_keys`), so that a
    compiled loop with the same keys walks the same episode. `info["is_success"]` is in every step's info.
    `normalisation` holds the bounds to scale observations with. Truncation is `gym.make`'s part
    (`max_episode_steps`, the domain's horizon by default).
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 30}  # noqa: RUF012 (Gymnasium's convention)

    def __init__(self, domain: Domain | str, render_mode: str | None = None, **options: Any) -> None:
        if "horizon" in options:
            raise InputError("horizon is no option of gym.make: expected max_episode_steps")
        self.domain = domains.make(domain, **options) if isinstance(domain, str) else domain
        self.render_mode = render_mode
        self._renderer: Any = None
        self._compiled = compiled(self.domain)
        self._layout = self._compiled.layout
        self._vector: Any = None
        self._action: Any = None
        d = self.domain
        if d.num_states is None:
            low = np.array(d.observation_low if d.space_low is None else d.space_low)
            high = np.array(d.observation_high if d.space_high is None else d.space_high)
            self.observation_space: gym.Space = gym.spaces.Box(low, high, dtype=np.float64)
            self.normalisation = (np.array(d.observation_low), np.array(d.observation_high))
        else:
            self.observation_space = gym.spaces.Discrete(d.num_states)
        self.action_space = action_space(d)
        if d.num_actions is None:
            self._low, self._high = np.array(d.action_low), np.array(d.action_high)

    @property
    def state(self) -> Any:
        """The domain's own state, to look at and to set."""
        return None if self._vector is None else self._layout.read(np.asarray(self._vector))

    @state.setter
    def state(self, state: Any) -> None:
        vector = np.array(self._vector)
        vector[self._layout.state] = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(state)])
        self._vector = vector

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        # Without a seed the generator goes on from the last one, as Gymnasium asks.
        number = int(self.np_random.integers(2**32)) if seed is None else seed
        with double():
            self._vector = self._compiled.first(np.uint64(number))
        self._action = None
        if self.render_mode == "human":
            self.render()
        return self._observation(np.asarray(self._vector)), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        if self._vector is None:
            raise InputError("step was called before reset: call reset(seed=...) first")
        if self.domain.num_actions is None:
            action = check_box(action, self._low, self._high)
        else:
            action = np.int32(check_discrete(action, self.domain.num_actions))
        with double():
            self._vector = self._compiled.following(self._vector, action)
        vector = np.asarray(self._vector)
        reward, terminated, goal = vector[-3:].tolist()
        self._action = action
        if self.render_mode == "human":
            self.render()
        return self._observation(vector), reward, bool(terminated), False, {"is_success": bool(goal)}

    def _observation(self, vector: np.ndarray) -> Any:
        observation = vector[self._layout.observation]
        return observation.copy() if self.domain.num_states is None else int(observation[0])

    def render(self) -> np.ndarray | None:
        from emuq.domains.rendering import renderer

        if self.render_mode is None or self._vector is None:
            return None
        if self._renderer is None:
            self._renderer = renderer(self.domain, self.render_mode)
        return self._renderer.draw(self.state, self._action)

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


class Layout:
    """How an environment travels between Python and the compiled step: as one vector of doubles.

    [state, key of the episode's steps, t, observation, reward, terminated, goal]. Handing over one array
    costs a third of handing over ten; doubles hold every 32-bit number of a state or a key exactly.
    """

    def __init__(self, domain: Domain) -> None:
        state = jax.eval_shape(domain.reset, jax.eval_shape(lambda: jax.random.key(0)))
        self._leaves, self._tree = jax.tree.flatten(state)
        sizes = [math.prod(leaf.shape) for leaf in self._leaves]
        self._ends = np.cumsum(sizes).tolist()
        self.state = slice(0, self._ends[-1])
        self.key = slice(self._ends[-1], self._ends[-1] + 2)
        self.time = self._ends[-1] + 2
        self.observation = slice(self.time + 1, -3)

    def read(self, vector: Any) -> Any:
        """The state in a vector (of JAX's or of NumPy's)."""
        starts = [0, *self._ends]
        leaves = [
            vector[start:end].reshape(leaf.shape).astype(leaf.dtype)
            for start, end, leaf in zip(starts, self._ends, self._leaves, strict=False)
        ]
        return jax.tree.unflatten(self._tree, leaves)

    def write(self, state: Any) -> Any:
        """The state as the beginning of a vector."""
        return jnp.concatenate([jnp.ravel(leaf).astype(float) for leaf in jax.tree.leaves(state)])


class Compiled(NamedTuple):
    """`first(seed)` and `following(vector, action)` give vectors; `layout` reads them."""

    first: Callable[[Any], jax.Array]
    following: Callable[[Any, Any], jax.Array]
    layout: Layout


@lru_cache(maxsize=256)
def compiled(domain: Domain) -> Compiled:
    """The compiled functions of a domain, shared by all its environments."""
    with double():
        layout = Layout(domain)

    def vector(state: Any, key: jax.Array, t: jax.Array, *ends: Any) -> jax.Array:
        observation = jnp.ravel(domain.observe(state))
        rest = [key, t[None], observation, jnp.stack([jnp.asarray(end, float) for end in ends])]
        return jnp.concatenate([layout.write(state), *(part.astype(float) for part in rest)])

    def first(seed: jax.Array) -> jax.Array:
        reset, steps = episode_keys(seed)
        return vector(domain.reset(reset), jax.random.key_data(steps), jnp.zeros(()), 0.0, False, False)

    def following(before: jax.Array, action: jax.Array) -> jax.Array:
        data, t = before[layout.key].astype(jnp.uint32), before[layout.time]
        key = step_key(jax.random.wrap_key_data(data), t.astype(jnp.int32))
        result = domain.step(layout.read(before), action, key)
        return vector(result.state, data, t + 1, result.reward, result.terminated, result.goal)

    return Compiled(jax.jit(first), jax.jit(following), layout)
