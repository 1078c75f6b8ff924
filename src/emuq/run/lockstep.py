"""Whole learning curves, one agent a seed, by the compiled loop of `emuq.run.loop`.

A run equals the same agent's `learn` on the Gymnasium environment: number for number where tables are
learned, up to rounding otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from emuq.agents import rffq
from emuq.agents.actions import Actions, actions_of
from emuq.agents.dora import core as dora_core
from emuq.agents.episodes import reset_seed
from emuq.agents.tabular import core as tabular_core
from emuq.agents.tabular.core import Parameters
from emuq.domains.adapter import action_space
from emuq.domains.base import Domain
from emuq.errors import InputError
from emuq.exploration import ExplorationReward, FirstVisit
from emuq.kappa import Constant, Controller, schedule
from emuq.precision import double
from emuq.run import stepping
from emuq.run.loop import Columns, walk
from emuq.run.stepping import Fixed, Memory, StepAgent, moves


class Curves(NamedTuple):
    """[runs, episodes] arrays with `History`'s columns, and what is left of agents and controllers.

    An episode that did not end has length 0.
    """

    returns: np.ndarray
    lengths: np.ndarray
    goals: np.ndarray
    kappas: np.ndarray
    memories: Any
    controllers: Any


def learn_tabular(
    domain: Domain,
    parameters: Parameters,
    seeds: Sequence[int],
    episodes: int,
    controller: Controller,
    *,
    exploration: ExplorationReward = FirstVisit(),  # noqa: B008 (a frozen value)
    freeze: bool = False,
) -> Curves:
    """A tabular agent for `episodes` episodes. A parameter is a number, or one number for each seed."""
    if domain.num_states is None or domain.num_actions is None:
        raise InputError(f"{domain.name} is not tabular: expected discrete observations and actions")
    with double():
        each = Parameters(*(np.broadcast_to(np.asarray(value), (len(seeds),)) for value in parameters))
        tables = _tables(exploration, domain.num_states, domain.num_actions, each, np.asarray(seeds))
        nowhere = jnp.zeros(len(seeds), jnp.int32)
        memory = Memory(tables, nowhere, nowhere)
        agent = stepping.for_tables(exploration, freeze)
        return _run(domain, agent, 0, each, memory, seeds, episodes, controller)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _tables(exploration, num_states: int, num_actions: int, parameters: Parameters, seeds) -> Any:
    def one(parameters: Parameters, seed: jax.Array) -> tabular_core.State:
        return tabular_core.init(parameters, exploration, num_states, num_actions, jax.random.key(seed))

    return jax.vmap(one)(parameters, seeds)


def learn_rffq(
    domain: Domain, options: rffq.Options, seeds: Sequence[int], episodes: int, *, until_goal: bool = False
) -> Curves:
    """RFF-Q for `episodes` episodes, or until each run has reached the goal."""
    actions = actions_of(action_space(domain))
    dim = len(domain.observation_low)
    with double():
        bases, agents = zip(*(rffq.init(options, seed, dim, actions) for seed in seeds), strict=True)
        nowhere = rffq.look(bases[0], jnp.zeros(dim))
        memory = _stack([Memory(agent, nowhere, jnp.zeros((), int)) for agent in agents])
        shared = options.basis == "fourier"  # the same basis for every seed
        basis = bases[0] if shared else _stack(bases)
        fixed, axes = Fixed(basis, moves(actions)), Fixed(None if shared else 0, None)  # type: ignore[arg-type]
        agent = stepping.for_rffq(options)
        return _run(domain, agent, axes, fixed, memory, seeds, episodes, until_goal=until_goal)


def learn_dora(
    domain: Domain,
    options: dora_core.Options,
    actions: Actions,
    seeds: Sequence[int],
    episodes: int,
    *,
    until_goal: bool = False,
) -> Curves:
    """DORA with kappa = 1, as `learn_rffq`; `actions` are the discretised ones."""
    with double():
        nowhere = jnp.zeros((len(actions.candidates), options.tilings), jnp.int32)
        memory = _stack(
            [Memory(dora_core.init(options, seed), nowhere, jnp.zeros((), jnp.int32)) for seed in seeds]
        )
        agent = stepping.for_dora(options)
        return _run(domain, agent, None, moves(actions), memory, seeds, episodes, until_goal=until_goal)


def learn_rnd(
    domain: Domain, options: Any, seeds: Sequence[int], episodes: int, *, until_goal: bool = False
) -> Curves:
    """RND (`options`: `emuq.agents.rnd.core.Options`) with kappa = 1, as `learn_rffq`."""
    from emuq.agents.rnd import core as rnd_core  # needs optax, which an installation may lack

    actions = actions_of(action_space(domain))
    dim = len(domain.observation_low)
    with double():
        bases, agents = zip(*(rnd_core.init(options, seed, dim, actions) for seed in seeds), strict=True)
        memory = _stack([Memory(agent, agent.start, jnp.zeros((), int)) for agent in agents])
        fixed, axes = Fixed(_stack(bases), moves(actions)), Fixed(0, None)  # type: ignore[arg-type]
        agent = stepping.for_rnd(options)
        return _run(domain, agent, axes, fixed, memory, seeds, episodes, until_goal=until_goal)


def learn_random(domain: Domain, seeds: Sequence[int], episodes: int, *, until_goal: bool = False) -> Curves:
    """The uniform random policy, as `learn_rffq`."""
    with double():
        keys = _stack([jax.random.key(reset_seed(seed, 2, 2)) for seed in seeds])
        agent = stepping.at_random(domain)
        return _run(domain, agent, None, (), keys, seeds, episodes, until_goal=until_goal)


def _run(
    domain: Domain,
    agent: StepAgent,
    axes: Any,
    fixed: Any,
    memory: Any,
    seeds: Sequence[int],
    episodes: int,
    controller: Controller | None = None,
    *,
    until_goal: bool = False,
) -> Curves:
    """Without a controller kappa is 1, and the program is compiled for that."""
    room = _room(episodes)
    kappas = None if controller is None else schedule(controller, room)
    if controller is None or kappas is not None:
        controller = Constant(1.0)
    resets = reset_seeds(tuple(seeds), episodes, controller.test_episodes)
    resets = np.pad(resets, ((0, 0), (0, room - episodes), (0, 0)))  # which nothing begins with
    form, numbers = domain.apart()
    runs = walk(
        form, agent, axes, controller, until_goal, numbers, fixed, memory, resets, kappas, np.int32(episodes)
    )
    columns = Columns(*(np.asarray(column)[:, :episodes] for column in runs.columns))
    return Curves(*columns, runs.memory, jax.tree.map(np.asarray, runs.controller))


def _room(episodes: int) -> int:
    """A program is compiled for a number of episodes at most: 50, 200, 800, ..."""
    room = 50
    while room < episodes:
        room *= 4
    return room


@lru_cache(maxsize=8)
def reset_seeds(seeds: tuple[int, ...], episodes: int, tests: int) -> np.ndarray:
    """[runs, episodes, 1 + tests]: the seeds that the Gymnasium loop resets its environment with."""
    found = np.empty((len(seeds), episodes, 1 + tests), np.uint64)
    for run, episode in np.ndindex(len(seeds), episodes):
        found[run, episode, 0] = reset_seed(seeds[run], episode)
        for i in range(tests):
            found[run, episode, 1 + i] = reset_seed(seeds[run], episode + 1, i, test=True)
    return found


def _stack(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
