"""Agents without planning as pure functions, for the loop of `emuq.run.lockstep`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from emuq.agents import rffq
from emuq.agents.dora import core as dora_core
from emuq.domains.base import Domain


class Policy(NamedTuple):
    """An agent in a lockstep loop: pure functions of what is fixed and of its own memory.

    look(fixed, memory, s) -> memory          an episode begins at s, scaled to [0, 1]
    learn(fixed, memory, r, s', end) -> memory  what the last action led to
    act(fixed, memory) -> memory, action      in the environment's own units
    skip(memory) -> memory                    an action drawn and thrown away at an episode's end
    """

    look: Callable
    learn: Callable
    act: Callable
    skip: Callable


class Fixed(NamedTuple):
    """What RFF-Q or RND does not change: its basis, and each candidate as the environment's action."""

    basis: Any
    moves: jax.Array


class Walk(NamedTuple):
    """RFF-Q's memory: what it learned, where it is, what it chose there."""

    agent: rffq.State
    part: Any
    choice: jax.Array


@lru_cache(maxsize=64)  # so that jit sees the same static value again
def of_rffq(options: rffq.Options) -> Policy:
    def look(fixed: Fixed, walk: Walk, s: jax.Array) -> Walk:
        return walk._replace(part=rffq.look(fixed.basis, s))

    def learn(fixed: Fixed, walk: Walk, reward: jax.Array, s: jax.Array, end: jax.Array) -> Walk:
        following = rffq.look(fixed.basis, s)
        agent = rffq.observe(fixed.basis, walk.agent, walk.part, walk.choice, reward, following, end, options)
        return walk._replace(agent=agent, part=following)

    def act(fixed: Fixed, walk: Walk) -> tuple[Walk, jax.Array]:
        agent, choice = rffq.act(fixed.basis, walk.agent, walk.part, options)
        return walk._replace(agent=agent, choice=choice), fixed.moves[choice]

    def skip(walk: Walk) -> Walk:
        return walk._replace(agent=rffq.skip(walk.agent))

    return Policy(look, learn, act, skip)


class Tiled(NamedTuple):
    """DORA's memory: what it learned, the tiles of every action where it is, what it chose there."""

    agent: dora_core.State
    tiles: jax.Array
    choice: jax.Array


@lru_cache(maxsize=64)
def of_dora(options: dora_core.Options) -> Policy:
    def choose(agent: dora_core.State, tiles: jax.Array) -> tuple[dora_core.State, jax.Array]:
        agent = agent._replace(steps=agent.steps + 1)
        return agent, dora_core.greedy(options, agent, tiles, jnp.ones(()))

    def look(moves: jax.Array, walk: Tiled, s: jax.Array) -> Tiled:
        tiles = dora_core.tiles(options, s, len(moves))
        agent, choice = choose(walk.agent, tiles)
        return Tiled(agent, tiles, choice)

    def learn(moves: jax.Array, walk: Tiled, reward: jax.Array, s: jax.Array, end: jax.Array) -> Tiled:
        tiles = dora_core.tiles(options, s, len(moves))
        agent, choice = choose(walk.agent, tiles)
        here, paid = walk.tiles[walk.choice], reward.astype(jnp.float32)
        agent = dora_core.observe(options, agent, here, paid, tiles, choice, end, jnp.ones(()))
        return Tiled(agent, tiles, choice)

    def act(moves: jax.Array, walk: Tiled) -> tuple[Tiled, jax.Array]:
        return walk, moves[walk.choice]

    return Policy(look, learn, act, lambda walk: walk)


class Seen(NamedTuple):
    """RND's memory: what it learned, where it is, what it chose there."""

    agent: Any
    s: jax.Array
    choice: jax.Array


@lru_cache(maxsize=64)
def of_rnd(options: Any) -> Policy:
    from emuq.agents.rnd import core as rnd_core

    def look(fixed: Fixed, walk: Seen, s: jax.Array) -> Seen:
        s = s.astype(jnp.float32)
        return walk._replace(agent=walk.agent._replace(start=s), s=s)

    def learn(fixed: Fixed, walk: Seen, reward: jax.Array, s: jax.Array, end: jax.Array) -> Seen:
        s, basis = s.astype(jnp.float32), fixed.basis
        agent = rnd_core.remember(walk.agent, walk.s, basis.actions[walk.choice], reward, s, end)
        return walk._replace(agent=rnd_core.learn(options, basis, agent, 1.0), s=s)

    def act(fixed: Fixed, walk: Seen) -> tuple[Seen, jax.Array]:
        choice = rnd_core.greedy(options, fixed.basis, walk.agent, walk.s, 1.0)
        return walk._replace(choice=choice), fixed.moves[choice]

    return Policy(look, learn, act, lambda walk: walk)


def uniform(domain: Domain) -> Policy:
    """Actions of the domain's, whatever it is otherwise."""
    return _uniform(domain.num_actions, domain.action_low, domain.action_high)


@lru_cache(maxsize=64)
def _uniform(
    num_actions: int | None, action_low: tuple[float, ...] | None, action_high: tuple[float, ...] | None
) -> Policy:
    def act(fixed: tuple, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        key, draw = jax.random.split(key)
        if num_actions is not None:
            return key, jax.random.randint(draw, (), 0, num_actions)
        low, high = jnp.asarray(action_low), jnp.asarray(action_high)
        return key, jax.random.uniform(draw, low.shape, minval=low, maxval=high)

    return Policy(lambda fixed, key, s: key, lambda fixed, key, reward, s, end: key, act, lambda key: key)
