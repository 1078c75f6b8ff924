"""One Gymnasium environment over every pure-JAX domain."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from emuq import domains
from emuq.domains.actions import check_box, check_discrete
from emuq.domains.base import Domain, episode_keys, step_key
from emuq.precision import double


class Environment(gym.Env):
    """A domain, stepped by one compiled call in double precision.

    `reset(seed=s)` fixes the start and every random number of the episode (`base.episode_keys`), so that a
    compiled loop with the same keys walks the same episode. `info["is_success"]` is in every step's info.
    `normalisation` holds the bounds to scale observations with.
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 30}  # noqa: RUF012 (Gymnasium's convention)

    def __init__(self, domain: Domain | str, render_mode: str | None = None, **options: Any) -> None:
        self.domain = domains.make(domain, **options) if isinstance(domain, str) else domain
        self.render_mode = render_mode
        self._renderer: Any = None
        self._first, self._next = compiled(self.domain)
        self._state: Any = None
        self._action: Any = None
        self._steps = 0
        d = self.domain
        if d.num_states is None:
            low = np.array(d.observation_low if d.space_low is None else d.space_low)
            high = np.array(d.observation_high if d.space_high is None else d.space_high)
            self.observation_space: gym.Space = gym.spaces.Box(low, high, dtype=np.float64)
            self.normalisation = (np.array(d.observation_low), np.array(d.observation_high))
        else:
            self.observation_space = gym.spaces.Discrete(d.num_states)
        if d.num_actions is None:
            self._low, self._high = np.array(d.action_low), np.array(d.action_high)
            self.action_space: gym.Space = gym.spaces.Box(self._low, self._high, dtype=np.float64)
        else:
            self.action_space = gym.spaces.Discrete(d.num_actions)

    @property
    def horizon(self) -> int:
        """Steps before truncation; `gym.make(..., max_episode_steps=n)` has the last word."""
        limit = None if self.spec is None else self.spec.max_episode_steps
        return self.domain.horizon if limit is None else limit

    @property
    def state(self) -> Any:
        """The domain's own state, for inspection and for setting (a test, a planner)."""
        return None if self._state is None else self._state[0]

    @state.setter
    def state(self, state: Any) -> None:
        with double():
            self._state = (jax.tree.map(lambda old, new: jnp.asarray(new, old.dtype), self._state[0], state),
                           *self._state[1:])  # fmt: skip

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        # Without a seed the generator goes on from the last one, as Gymnasium asks.
        number = int(self.np_random.integers(2**32)) if seed is None else seed
        with double():
            self._state, packed = self._first(np.uint64(number))
        self._steps, self._limit, self._action = 0, self.horizon, None
        if self.render_mode == "human":
            self.render()
        return self._observation(np.asarray(packed)), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        if self.domain.num_actions is None:
            action = check_box(action, self._low, self._high)
        else:
            action = np.int32(check_discrete(action, self.domain.num_actions))
        with double():
            self._state, packed = self._next(self._state, action)
        *_, reward, terminated, goal = packed = np.asarray(packed)
        self._steps += 1
        self._action = action
        truncated = not terminated and self._steps >= self._limit
        if self.render_mode == "human":
            self.render()
        return (
            self._observation(packed[:-3]),
            float(reward),
            bool(terminated),
            truncated,
            {"is_success": bool(goal)},
        )

    def _observation(self, packed: np.ndarray) -> Any:
        return packed.copy() if self.domain.num_states is None else int(packed[0])

    def render(self) -> np.ndarray | None:
        from emuq.domains.rendering import renderer

        if self.render_mode is None or self._state is None:
            return None
        if self._renderer is None:
            self._renderer = renderer(self.domain, self.render_mode)
        return self._renderer.draw(jax.tree.map(np.asarray, self._state[0]), self._action)

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


@lru_cache(maxsize=256)
def compiled(domain: Domain) -> tuple[Any, Any]:
    """`first(seed)` and `next(carry, action)`, compiled once a domain.

    Everything that Python needs comes back in one vector, observation, reward, terminated, goal: fetching an
    array costs more than computing it.
    """

    def observation(state: Any) -> jax.Array:
        return jnp.ravel(jnp.asarray(domain.observe(state), float))

    def first(seed: jax.Array) -> tuple[Any, jax.Array]:
        reset, steps = episode_keys(seed)  # type: ignore[arg-type]
        state = domain.reset(reset)
        return (state, jax.random.key_data(steps), jnp.zeros((), jnp.int32)), observation(state)

    def following(carry: Any, action: jax.Array) -> tuple[Any, jax.Array]:
        state, steps, t = carry
        result = domain.step(state, action, step_key(jax.random.wrap_key_data(steps), t))
        ends = jnp.stack([result.reward, result.terminated, result.goal]).astype(float)
        return (result.state, steps, t + 1), jnp.concatenate([observation(result.state), ends])

    return jax.jit(first), jax.jit(following)
