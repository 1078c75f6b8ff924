"""Agents without planning as pure functions of one step, for the loop of `emuq.run.loop`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from emuq.agents import rffq
from emuq.agents.actions import Actions, from_unit
from emuq.agents.dora import core as dora_core
from emuq.agents.tabular import core as tabular_core
from emuq.agents.tabular.core import Parameters
from emuq.domains.base import Domain
from emuq.exploration import ExplorationReward


class StepAgent(NamedTuple):
    """An agent in a lockstep loop: pure functions of what is `fixed` and of its own `memory`.

    look(fixed, memory, s, kappa) -> memory      an episode begins at s
    act(fixed, memory, kappa) -> memory, action  in the environment's own units
    learn(fixed, memory, r, s', end, kappa, learning) -> memory    what the action led to
    skip(memory) -> memory                       an action drawn and thrown away at an episode's end

    A state s is an index where the domain is tabular, and scaled to [0, 1] elsewhere. `learning` is false in
    test episodes, which a controller of kappa may ask for, and once a run is finished; agents that are only
    ever run without tests need not heed it.
    """

    look: Callable
    act: Callable
    learn: Callable
    skip: Callable = lambda memory: memory


class Memory(NamedTuple):
    """What an agent learned, where it is, as it sees that, and what it chose there."""

    agent: Any
    place: Any
    choice: jax.Array


class Fixed(NamedTuple):
    """What RFF-Q or RND does not change: its basis, and each candidate as the environment's action."""

    basis: Any
    moves: np.ndarray | jax.Array


def moves(actions: Actions) -> np.ndarray:
    """Each candidate as the environment's action."""
    return np.arange(actions.dim) if actions.discrete else from_unit(actions, actions.candidates)


# Each of these is cached, so that `jit` sees the same static value again.


@lru_cache(maxsize=64)
def for_tables(exploration: ExplorationReward, freeze: bool) -> StepAgent:
    """A tabular agent, whose parameters are what is fixed. With `freeze` it learns nothing at kappa = 0."""

    def look(parameters: Parameters, memory: Memory, s: jax.Array, kappa: jax.Array) -> Memory:
        return memory._replace(place=s)

    def act(parameters: Parameters, memory: Memory, kappa: jax.Array) -> tuple[Memory, jax.Array]:
        choice = tabular_core.act(parameters, memory.agent, memory.place, kappa)
        return memory._replace(choice=choice), choice

    def learn(parameters: Parameters, memory: Memory, reward, s, end, kappa, learning) -> Memory:
        agent = tabular_core.observe(
            parameters, exploration, memory.agent, memory.place, memory.choice, reward, s, end, kappa,
            learning & ((kappa > 0) | (not freeze)),
        )  # fmt: skip
        # Draws depend on the steps: a test leaves those of the learning episodes alone.
        steps = jnp.where(learning, agent.steps, memory.agent.steps)
        return memory._replace(agent=agent._replace(steps=steps), place=s)

    return StepAgent(look, act, learn)


@lru_cache(maxsize=64)
def for_rffq(options: rffq.Options) -> StepAgent:
    def look(fixed: Fixed, memory: Memory, s: jax.Array, kappa: jax.Array) -> Memory:
        return memory._replace(place=rffq.look(fixed.basis, s))

    def act(fixed: Fixed, memory: Memory, kappa: jax.Array) -> tuple[Memory, jax.Array]:
        agent, choice = rffq.act(fixed.basis, memory.agent, memory.place, options)
        return memory._replace(agent=agent, choice=choice), fixed.moves[choice]

    def learn(fixed: Fixed, memory: Memory, reward, s, end, kappa, learning) -> Memory:
        basis, following = fixed.basis, rffq.look(fixed.basis, s)
        agent = rffq.observe(
            basis, memory.agent, memory.place, memory.choice, reward, following, end, options
        )
        return memory._replace(agent=agent, place=following)

    def skip(memory: Memory) -> Memory:
        return memory._replace(agent=rffq.skip(memory.agent))

    return StepAgent(look, act, learn, skip)


@lru_cache(maxsize=64)
def for_dora(options: dora_core.Options) -> StepAgent:
    """DORA chooses as it learns: its E bootstraps on the action to be taken next."""

    def choose(agent: dora_core.State, tiles: jax.Array, kappa) -> tuple[dora_core.State, jax.Array]:
        agent = agent._replace(steps=agent.steps + 1)
        return agent, dora_core.greedy(options, agent, tiles, kappa)

    def look(moves: jax.Array, memory: Memory, s: jax.Array, kappa: jax.Array) -> Memory:
        tiles = dora_core.tiles(options, s, len(moves))
        agent, choice = choose(memory.agent, tiles, kappa)
        return Memory(agent, tiles, choice)

    def act(moves: jax.Array, memory: Memory, kappa: jax.Array) -> tuple[Memory, jax.Array]:
        return memory, moves[memory.choice]

    def learn(moves: jax.Array, memory: Memory, reward, s, end, kappa, learning) -> Memory:
        tiles = dora_core.tiles(options, s, len(moves))
        agent, choice = choose(memory.agent, tiles, kappa)
        here, paid = memory.place[memory.choice], reward.astype(jnp.float32)
        agent = dora_core.observe(options, agent, here, paid, tiles, choice, end, kappa)
        return Memory(agent, tiles, choice)

    return StepAgent(look, act, learn)


@lru_cache(maxsize=64)
def for_rnd(options: Any) -> StepAgent:
    from emuq.agents.rnd import core as rnd_core

    def look(fixed: Fixed, memory: Memory, s: jax.Array, kappa: jax.Array) -> Memory:
        s = s.astype(jnp.float32)
        return memory._replace(agent=memory.agent._replace(start=s), place=s)

    def act(fixed: Fixed, memory: Memory, kappa: jax.Array) -> tuple[Memory, jax.Array]:
        choice = rnd_core.greedy(options, fixed.basis, memory.agent, memory.place, kappa)
        return memory._replace(choice=choice), fixed.moves[choice]

    def learn(fixed: Fixed, memory: Memory, reward, s, end, kappa, learning) -> Memory:
        s, unit = s.astype(jnp.float32), fixed.basis.actions[memory.choice]
        agent = rnd_core.remember(memory.agent, memory.place, unit, reward, s, end)
        return memory._replace(agent=rnd_core.learn(options, fixed.basis, agent, kappa), place=s)

    return StepAgent(look, act, learn)


def at_random(domain: Domain) -> StepAgent:
    """Uniform actions of the domain's, whatever it is otherwise. Its memory is a key."""
    return _at_random(domain.num_actions, domain.action_low, domain.action_high)


@lru_cache(maxsize=64)
def _at_random(
    num_actions: int | None, action_low: tuple[float, ...] | None, action_high: tuple[float, ...] | None
) -> StepAgent:
    def act(fixed: tuple, key: jax.Array, kappa: jax.Array) -> tuple[jax.Array, jax.Array]:
        key, draw = jax.random.split(key)
        if num_actions is not None:
            return key, jax.random.randint(draw, (), 0, num_actions)
        low, high = jnp.asarray(action_low), jnp.asarray(action_high)
        return key, jax.random.uniform(draw, low.shape, minval=low, maxval=high)

    def learn(fixed: tuple, key: jax.Array, reward, s, end, kappa, learning) -> jax.Array:
        return key

    return StepAgent(lambda fixed, key, s, kappa: key, act, learn)
