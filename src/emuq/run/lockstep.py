"""Whole learning curves as one compiled program, all seeds in lockstep, for agents without planning.

Every run takes one step at a time and begins its next episode by itself, so that no run waits for
another's episode to end. A run of RFF-Q equals `RFFQ.learn` on the Gymnasium environment, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from emuq.agents import dora_core, rffq
from emuq.agents.actions import Actions, actions_of
from emuq.agents.surface import reset_seed
from emuq.domains.base import Domain, episode_keys, step_key
from emuq.precision import double


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


class Curves(NamedTuple):
    """[runs, episodes] arrays; an episode that was not begun has length 0."""

    returns: Any
    lengths: Any
    goals: Any


class _Run(NamedTuple):
    """One run in the middle of an episode."""

    memory: Any
    world: Any
    stream: jax.Array
    action: jax.Array
    t: jax.Array
    total: jax.Array
    episode: jax.Array
    found: jax.Array
    curves: Curves


def learn_rffq(
    domain: Domain, options: rffq.Options, seeds: Sequence[int], episodes: int, *, until_goal: bool = False
) -> Curves:
    """RFF-Q, one agent a seed, for `episodes` episodes or until each has reached the goal."""
    actions = actions_of(action_space(domain))
    dim = len(domain.observation_low)
    with double():
        bases, agents = zip(*(rffq.init(options, seed, dim, actions) for seed in seeds), strict=True)
        if actions.discrete:
            moves = jnp.arange(actions.dim)
        else:
            moves = jnp.asarray(actions.low + actions.candidates * (actions.high - actions.low))
        memories = [_Walk(agent, rffq.look(bases[0], jnp.zeros(dim)), jnp.zeros((), int)) for agent in agents]
        shared = options.basis == "fourier"  # the same basis for every seed
        basis = bases[0] if shared else jax.tree.map(lambda *leaves: jnp.stack(leaves), *bases)
        axes = _Fixed(None if shared else 0, None)  # type: ignore[arg-type]
        return _run(domain, _rffq(options), axes, _Fixed(basis, moves), memories, seeds, episodes, until_goal)


def learn_dora(
    domain: Domain,
    options: dora_core.Options,
    actions: Actions,
    seeds: Sequence[int],
    episodes: int,
    *,
    until_goal: bool = False,
) -> Curves:
    """DORA with kappa = 1, one agent a seed; `actions` are the discretised ones."""
    with double():
        moves = jnp.asarray(actions.low + actions.candidates * (actions.high - actions.low))
        zeros = jnp.zeros((len(actions.candidates), options.tilings), jnp.int32)
        memories = [_Tiled(dora_core.init(options, seed), zeros, jnp.zeros((), jnp.int32)) for seed in seeds]
        return _run(domain, _dora(options), None, moves, memories, seeds, episodes, until_goal)


def learn_rnd(
    domain: Domain, options: Any, seeds: Sequence[int], episodes: int, *, until_goal: bool = False
) -> Curves:
    """RND (`options`: `rnd_core.Options`) with kappa = 1, one agent a seed."""
    from emuq.agents import rnd_core  # needs optax, which an installation may lack

    actions = actions_of(action_space(domain))
    dim = len(domain.observation_low)
    with double():
        bases, agents = zip(*(rnd_core.init(options, seed, dim, actions) for seed in seeds), strict=True)
        moves = jnp.asarray(actions.low + actions.candidates * (actions.high - actions.low))
        memories = [_Seen(agent, agent.start, jnp.zeros((), int)) for agent in agents]
        basis = jax.tree.map(lambda *leaves: jnp.stack(leaves), *bases)
        fixed, axes = _Fixed(basis, moves), _Fixed(0, None)  # type: ignore[arg-type]
        return _run(domain, _rnd(options), axes, fixed, memories, seeds, episodes, until_goal)


def learn_random(domain: Domain, seeds: Sequence[int], episodes: int, *, until_goal: bool = False) -> Curves:
    """The uniform random policy, as `learn_rffq`."""
    with double():
        keys = [jax.random.key(reset_seed(seed, 2, 2)) for seed in seeds]
        return _run(domain, _uniform(domain), None, (), keys, seeds, episodes, until_goal)


def _run(domain, policy, axes, fixed, memories, seeds, episodes, until_goal) -> Curves:
    resets = np.array([[reset_seed(seed, i) for i in range(episodes + 1)] for seed in seeds])
    memory = jax.tree.map(lambda *leaves: jnp.stack(leaves), *memories)
    curves = _learn(domain, policy, axes, until_goal, fixed, memory, jnp.asarray(resets))
    return Curves(*(np.asarray(curve) for curve in curves))


def action_space(domain: Domain) -> gym.Space:
    if domain.num_actions is not None:
        return gym.spaces.Discrete(domain.num_actions)
    return gym.spaces.Box(np.array(domain.action_low), np.array(domain.action_high), dtype=np.float64)


class _Fixed(NamedTuple):
    """What RFF-Q or RND does not change: its basis, and each candidate as the environment's action."""

    basis: Any
    moves: jax.Array


class _Walk(NamedTuple):
    """RFF-Q's memory: what it learned, where it is, what it chose there."""

    agent: rffq.State
    part: Any
    choice: jax.Array


@lru_cache(maxsize=64)  # so that jit sees the same static value again
def _rffq(options: rffq.Options) -> Policy:
    def look(fixed: _Fixed, walk: _Walk, s: jax.Array) -> _Walk:
        return walk._replace(part=rffq.look(fixed.basis, s))

    def learn(fixed: _Fixed, walk: _Walk, reward: jax.Array, s: jax.Array, end: jax.Array) -> _Walk:
        following = rffq.look(fixed.basis, s)
        agent = rffq.observe(fixed.basis, walk.agent, walk.part, walk.choice, reward, following, end, options)
        return walk._replace(agent=agent, part=following)

    def act(fixed: _Fixed, walk: _Walk) -> tuple[_Walk, jax.Array]:
        agent, choice = rffq.act(fixed.basis, walk.agent, walk.part, options)
        return walk._replace(agent=agent, choice=choice), fixed.moves[choice]

    def skip(walk: _Walk) -> _Walk:
        return walk._replace(agent=rffq.skip(walk.agent))

    return Policy(look, learn, act, skip)


class _Tiled(NamedTuple):
    """DORA's memory: what it learned, the tiles of every action where it is, what it chose there."""

    agent: dora_core.State
    tiles: jax.Array
    choice: jax.Array


@lru_cache(maxsize=64)
def _dora(options: dora_core.Options) -> Policy:
    def choose(agent: dora_core.State, tiles: jax.Array) -> tuple[dora_core.State, jax.Array]:
        agent = agent._replace(steps=agent.steps + 1)
        return agent, dora_core.greedy(options, agent, tiles, jnp.ones(()))

    def look(moves: jax.Array, walk: _Tiled, s: jax.Array) -> _Tiled:
        tiles = dora_core.tiles(options, s, len(moves))
        agent, choice = choose(walk.agent, tiles)
        return _Tiled(agent, tiles, choice)

    def learn(moves: jax.Array, walk: _Tiled, reward: jax.Array, s: jax.Array, end: jax.Array) -> _Tiled:
        tiles = dora_core.tiles(options, s, len(moves))
        agent, choice = choose(walk.agent, tiles)
        here, paid = walk.tiles[walk.choice], reward.astype(jnp.float32)
        agent = dora_core.observe(options, agent, here, paid, tiles, choice, end, jnp.ones(()))
        return _Tiled(agent, tiles, choice)

    def act(moves: jax.Array, walk: _Tiled) -> tuple[_Tiled, jax.Array]:
        return walk, moves[walk.choice]

    return Policy(look, learn, act, lambda walk: walk)


class _Seen(NamedTuple):
    """RND's memory: what it learned, where it is, what it chose there."""

    agent: Any
    s: jax.Array
    choice: jax.Array


@lru_cache(maxsize=64)
def _rnd(options: Any) -> Policy:
    from emuq.agents import rnd_core

    def look(fixed: _Fixed, walk: _Seen, s: jax.Array) -> _Seen:
        s = s.astype(jnp.float32)
        return walk._replace(agent=walk.agent._replace(start=s), s=s)

    def learn(fixed: _Fixed, walk: _Seen, reward: jax.Array, s: jax.Array, end: jax.Array) -> _Seen:
        s, basis = s.astype(jnp.float32), fixed.basis
        agent = rnd_core.remember(walk.agent, walk.s, basis.actions[walk.choice], reward, s, end)
        return walk._replace(agent=rnd_core.learn(options, basis, agent, 1.0), s=s)

    def act(fixed: _Fixed, walk: _Seen) -> tuple[_Seen, jax.Array]:
        choice = rnd_core.greedy(options, fixed.basis, walk.agent, walk.s, 1.0)
        return walk._replace(choice=choice), fixed.moves[choice]

    return Policy(look, learn, act, lambda walk: walk)


@lru_cache(maxsize=64)  # so that jit sees the same static value again
def _uniform(domain: Domain) -> Policy:
    def act(fixed: tuple, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        key, draw = jax.random.split(key)
        if domain.num_actions is not None:
            return key, jax.random.randint(draw, (), 0, domain.num_actions)
        low, high = jnp.asarray(domain.action_low), jnp.asarray(domain.action_high)
        return key, jax.random.uniform(draw, low.shape, minval=low, maxval=high)

    return Policy(lambda fixed, key, s: key, lambda fixed, key, reward, s, end: key, act, lambda key: key)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _learn(
    domain: Domain, policy: Policy, axes: Any, until_goal: bool, fixed: Any, memory: Any, resets: jax.Array
) -> Curves:
    low = jnp.asarray(domain.observation_low)
    width = jnp.asarray(domain.observation_high) - low
    episodes = resets.shape[1] - 1

    def observe(world: Any) -> jax.Array:
        return (domain.observe(world) - low) / width

    def begin(fixed: Any, memory: Any, seeds: jax.Array) -> _Run:
        reset, stream = episode_keys(seeds[0])
        world = domain.reset(reset)
        memory, action = policy.act(fixed, policy.look(fixed, memory, observe(world)))
        empty = Curves(jnp.zeros(episodes), jnp.zeros(episodes, jnp.int32), jnp.zeros(episodes, bool))
        zero, no = jnp.zeros((), jnp.int32), jnp.zeros((), bool)
        return _Run(memory, world, stream, action, zero, jnp.zeros(()), zero, no, empty)

    def step(fixed: Any, run: _Run) -> tuple[_Run, jax.Array]:
        """One transition, learned from; and whether it ended the episode."""
        result = domain.step(run.world, run.action, step_key(run.stream, run.t))
        memory = policy.learn(fixed, run.memory, result.reward, observe(result.state), result.terminated)
        t, total = run.t + 1, run.total + result.reward
        curves = Curves(
            run.curves.returns.at[run.episode].set(total, mode="drop"),
            run.curves.lengths.at[run.episode].set(t, mode="drop"),
            run.curves.goals.at[run.episode].set(result.goal, mode="drop"),
        )
        over = result.terminated | (t >= domain.horizon)
        found = run.found | result.goal
        run = run._replace(memory=memory, world=result.state, t=t, total=total, found=found, curves=curves)
        return run, over

    def restart(fixed: Any, run: _Run, over: jax.Array, seeds: jax.Array) -> _Run:
        """The next episode, where one is over."""
        episode = jnp.minimum(run.episode + 1, episodes)
        reset, stream = episode_keys(seeds[episode])
        world = domain.reset(reset)
        memory = policy.look(fixed, policy.skip(run.memory), observe(world))
        fresh = run._replace(
            memory=memory, world=world, stream=stream, episode=episode,
            t=jnp.zeros_like(run.t), total=jnp.zeros_like(run.total),
        )  # fmt: skip
        # What a new episode leaves as it is, tables above all, is not copied.
        return jax.tree.map(lambda new, old: old if new is old else jnp.where(over, new, old), fresh, run)

    def act(fixed: Any, run: _Run) -> _Run:
        memory, action = policy.act(fixed, run.memory)
        return run._replace(memory=memory, action=action)

    def advance(runs: _Run) -> _Run:
        runs, over = jax.vmap(step, (axes, 0))(fixed, runs)
        # Outside of vmap this is a real branch: most steps end no episode.
        again = partial(jax.vmap(restart, (axes, 0, 0, 0)), fixed, runs, over, resets)
        runs = jax.lax.cond(jnp.any(over), again, lambda: runs)
        return jax.vmap(act, (axes, 0))(fixed, runs)

    def going(runs: _Run) -> jax.Array:
        ended = (runs.episode >= episodes) | (runs.found if until_goal else False)
        return ~jnp.all(ended)

    runs = jax.vmap(begin, in_axes=(axes, 0, 0))(fixed, memory, resets)
    return jax.lax.while_loop(going, advance, runs).curves
