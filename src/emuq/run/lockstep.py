"""Whole learning curves as one compiled program, all seeds in lockstep, for agents without planning.

Every run takes one step at a time and begins its next episode by itself, so that no run waits for
another's episode to end. A run of RFF-Q equals `RFFQ.learn` on the Gymnasium environment, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from emuq.agents import rffq
from emuq.agents.dora import core as dora_core
from emuq.agents.episodes import reset_seed
from emuq.agents.spaces import Actions, actions_of
from emuq.domains.adapter import action_space
from emuq.domains.base import Domain, Form, episode_keys, step_key, together
from emuq.precision import double
from emuq.run import policies
from emuq.run.policies import Fixed, Policy, Seen, Tiled, Walk


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
        memories = [Walk(agent, rffq.look(bases[0], jnp.zeros(dim)), jnp.zeros((), int)) for agent in agents]
        shared = options.basis == "fourier"  # the same basis for every seed
        basis = bases[0] if shared else _stack(bases)
        fixed, axes = Fixed(basis, _moves(actions)), Fixed(None if shared else 0, None)  # type: ignore[arg-type]
        return _run(domain, policies.of_rffq(options), axes, fixed, memories, seeds, episodes, until_goal)


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
        moves = _moves(actions)
        zeros = jnp.zeros((len(actions.candidates), options.tilings), jnp.int32)
        memories = [Tiled(dora_core.init(options, seed), zeros, jnp.zeros((), jnp.int32)) for seed in seeds]
        return _run(domain, policies.of_dora(options), None, moves, memories, seeds, episodes, until_goal)


def learn_rnd(
    domain: Domain, options: Any, seeds: Sequence[int], episodes: int, *, until_goal: bool = False
) -> Curves:
    """RND (`options`: `rnd_core.Options`) with kappa = 1, one agent a seed."""
    from emuq.agents.rnd import core as rnd_core  # needs optax, which an installation may lack

    actions = actions_of(action_space(domain))
    dim = len(domain.observation_low)
    with double():
        bases, agents = zip(*(rnd_core.init(options, seed, dim, actions) for seed in seeds), strict=True)
        memories = [Seen(agent, agent.start, jnp.zeros((), int)) for agent in agents]
        fixed, axes = Fixed(_stack(bases), _moves(actions)), Fixed(0, None)  # type: ignore[arg-type]
        return _run(domain, policies.of_rnd(options), axes, fixed, memories, seeds, episodes, until_goal)


def learn_random(domain: Domain, seeds: Sequence[int], episodes: int, *, until_goal: bool = False) -> Curves:
    """The uniform random policy, as `learn_rffq`."""
    with double():
        keys = [jax.random.key(reset_seed(seed, 2, 2)) for seed in seeds]
        return _run(domain, policies.uniform(domain), None, (), keys, seeds, episodes, until_goal)


def _run(domain, policy, axes, fixed, memories, seeds, episodes, until_goal) -> Curves:
    resets = np.array([[reset_seed(seed, i) for i in range(episodes + 1)] for seed in seeds])
    form, numbers = domain.apart()
    curves = _learn(form, policy, axes, until_goal, numbers, fixed, _stack(memories), jnp.asarray(resets))
    return Curves(*(np.asarray(curve) for curve in curves))


def _stack(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _moves(actions: Actions) -> jax.Array:
    """Each candidate as the environment's action."""
    if actions.discrete:
        return jnp.arange(actions.dim)
    return jnp.asarray(actions.low + actions.candidates * (actions.high - actions.low))


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _learn(
    form: Form,
    policy: Policy,
    axes: Any,
    until_goal: bool,
    numbers: dict[str, Any],
    fixed: Any,
    memory: Any,
    resets: jax.Array,
) -> Curves:
    domain = together(form, numbers)
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
