"""Test episodes of EMU-Q's kappa = 0 policy on a pure-JAX domain, all of them at once.

goals, lengths = Tester(domain, actions, options)(state, seeds)
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from emuq.agents.actions import Actions
from emuq.agents.emuq.act import act
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.state import State
from emuq.domains.base import Domain, episode_keys, step_key
from emuq.run.stepping import moves


class Tester:
    """A domain as the agent sees it: observations scaled, actions by their place among the candidates."""

    def __init__(self, domain: Domain, actions: Actions, options: Options) -> None:
        self.domain, self.clip, self._moves = domain, options.clip, moves(actions)
        self.looks = bool(options.lookahead)
        self._all = jax.jit(jax.vmap(self.episode, in_axes=(None, 0)))

    def __call__(self, agent: State, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Whether, and after how many steps, each episode reached the goal."""
        goals, lengths = self._all(agent, jnp.asarray(seeds))
        return np.asarray(goals), np.asarray(lengths)

    def observe(self, state) -> Array:
        scaled = self.domain.scaled(state)
        return jnp.clip(scaled, 0.0, 1.0) if self.clip else scaled

    def episode(self, agent: State, seed: Array) -> tuple[Bool[Array, ""], Int[Array, ""]]:
        """One episode from this seed's start."""
        reset, stream = episode_keys(seed)

        def go_on(c):
            return ~c[2] & (c[1] < self.domain.horizon)

        def step(c):
            state, t, _, _ = c
            index = act(agent, self.observe(state), jnp.zeros(()), self.looks)
            out = self.domain.step(state, jnp.asarray(self._moves)[index], step_key(stream, t))
            return out.state, t + 1, out.terminated, out.goal

        begin = (self.domain.reset(reset), jnp.zeros((), jnp.int32), jnp.zeros((), bool), jnp.zeros((), bool))
        _, t, _, goal = jax.lax.while_loop(go_on, step, begin)
        return goal, t
