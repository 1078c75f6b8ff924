"""Whole learning curves of tabular agents as one compiled program, a batch of runs in lockstep.

Every run takes one step at a time and begins its next episode by itself, so that no run waits for another's
episode to end; padding each episode to the horizon instead would cost several times as much. A run equals the
same agent's `learn` on the Gymnasium environment, number for number.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from emuq import precision
from emuq.agents.episodes import reset_seed
from emuq.agents.tabular import core
from emuq.agents.tabular.core import Parameters
from emuq.domains.base import Domain, episode_keys, step_key, together
from emuq.errors import InputError
from emuq.exploration import ExplorationReward, FirstVisit
from emuq.kappa import Controller, Outcome, schedule, settles


class Curves(NamedTuple):
    """[runs, episodes] arrays with `History`'s columns; the agents and their controllers at the end."""

    returns: Any
    lengths: Any
    goals: Any
    kappas: Any
    states: core.State
    controllers: Any


class _Schedule(NamedTuple):
    """A controller that hears nothing: kappa of each episode, so that one program serves for all of them."""

    kappas: jax.Array

    @property
    def test_episodes(self) -> int:
        return 0

    def init(self) -> jax.Array:
        return jnp.int32(0)

    def value(self, state: jax.Array) -> jax.Array:
        return self.kappas[jnp.minimum(state, len(self.kappas) - 1)]

    def update(self, state: jax.Array, outcome: Outcome) -> jax.Array:
        return state + 1


class _Run(NamedTuple):
    """One run in the middle of an episode; `slot` 0 learns, 1 .. T are the tests that follow."""

    agent: core.State
    controller: Any
    world: Any
    steps_key: jax.Array
    t: jax.Array
    episode: jax.Array
    slot: jax.Array
    total: jax.Array
    tests: jax.Array
    curves: tuple[jax.Array, jax.Array, jax.Array, jax.Array]


def learn(
    domain: Domain,
    parameters: Parameters,
    seeds: Sequence[int],
    episodes: int,
    controller: Controller,
    *,
    exploration: ExplorationReward = FirstVisit(),  # noqa: B008 (a frozen value)
    freeze: bool = False,
) -> Curves:
    """One agent a seed, for `episodes` episodes. A parameter is a number, or one number for each seed."""
    if domain.num_states is None or domain.num_actions is None:
        raise InputError(f"{domain.name} is not tabular: expected discrete observations and actions")
    resets = reset_seeds(tuple(seeds), episodes, controller.test_episodes)
    resets = np.pad(resets, ((0, 0), (0, _room(episodes) - episodes), (0, 0)))  # which nothing begins with
    form, numbers = domain.apart()
    with precision.double():
        batch = Parameters(*(np.broadcast_to(np.asarray(value), (len(seeds),)) for value in parameters))
        kappas = schedule(controller, _room(episodes))
        curves = _learn(
            form, (domain.num_states, domain.num_actions), None if kappas is not None else controller,
            exploration, bool(freeze), numbers, batch, np.asarray(seeds), resets, kappas, np.int32(episodes),
        )  # fmt: skip
        curves = jax.tree.map(np.asarray, curves)
    return curves._replace(**{name: getattr(curves, name)[:, :episodes] for name in Curves._fields[:4]})


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


@partial(jax.jit, static_argnames=("form", "sizes", "controller", "exploration", "freeze"))
def _learn(
    form, sizes, controller, exploration, freeze, numbers, parameters, seeds, resets, kappas, episodes
) -> Curves:
    domain, room = together(form, numbers), resets.shape[1]
    controller = _Schedule(kappas) if controller is None else controller
    num_tests = controller.test_episodes

    def begin(seed):
        reset, steps = episode_keys(seed)
        return domain.reset(reset), jax.random.key_data(steps)

    worlds, step_keys = jax.vmap(jax.vmap(jax.vmap(begin)))(resets)

    def start(parameters, seed, worlds, step_keys) -> _Run:
        agent = core.init(parameters, exploration, sizes[0], sizes[1], jax.random.key(seed))
        zero = jnp.int32(0)
        curves = (
            jnp.zeros(room),
            jnp.zeros(room, jnp.int32),
            jnp.zeros(room, bool),
            jnp.zeros(room),
        )
        world = jax.tree.map(lambda leaf: leaf[0, 0], worlds)
        tests = jnp.full(num_tests, jnp.nan)
        return _Run(
            agent, controller.init(), world, step_keys[0, 0], zero, zero, zero, jnp.zeros(()), tests, curves
        )

    def step(parameters, worlds, step_keys, run: _Run) -> _Run:
        testing = run.slot > 0
        own = jnp.asarray(controller.value(run.controller), float)
        kappa = jnp.where(testing, 0.0, own)
        s = domain.observe(run.world)
        a = core.act(parameters, run.agent, s, kappa)
        key = step_key(jax.random.wrap_key_data(run.steps_key), run.t)
        world, reward, terminated, goal = domain.step(run.world, a, key)
        # A finished run goes on until the others are done, learning nothing.
        learning = ~testing & (run.episode < episodes) & ((kappa > 0) | (not freeze))
        s_next = domain.observe(world)
        agent = core.observe(
            parameters, exploration, run.agent, s, a, reward, s_next, terminated, kappa, learning
        )
        agent = agent._replace(steps=jnp.where(testing, run.agent.steps, agent.steps))
        t, total = run.t + 1, run.total + reward
        over = terminated | (t >= domain.horizon)

        row = jnp.where(over & ~testing & (run.episode < episodes), run.episode, room)  # beyond: dropped
        curves = tuple(
            column.at[row].set(value, mode="drop")
            for column, value in zip(run.curves, (total, t, goal, kappa), strict=True)
        )
        tests = run.tests
        if num_tests:
            tests = tests.at[jnp.where(over & testing, run.slot - 1, num_tests)].set(total, mode="drop")
            settled = (run.slot == num_tests) | settles(controller, total)
            done = over & jnp.where(testing, settled, own == 0)
        else:
            done = over
        # What the controller hears is the learning episode's outcome, which is in the curves by now.
        last = jnp.minimum(run.episode, episodes - 1)
        outcome = Outcome(curves[0][last], curves[2][last], tests if num_tests else None)
        updated = controller.update(run.controller, outcome)
        controlled = jax.tree.map(lambda new, old: jnp.where(done, new, old), updated, run.controller)
        episode = run.episode + done
        slot = jnp.where(done, 0, run.slot + over)
        tests = jnp.where(done, jnp.nan, tests)
        at = (jnp.minimum(episode, episodes - 1), slot)
        world = jax.tree.map(lambda first, old: jnp.where(over, first[at], old), worlds, world)
        return _Run(
            agent,
            controlled,
            world,
            jnp.where(over, step_keys[at], run.steps_key),
            jnp.where(over, 0, t),
            episode,
            slot,
            jnp.where(over, 0.0, total),
            tests,
            curves,  # type: ignore[arg-type]
        )

    runs = jax.vmap(start)(parameters, seeds, worlds, step_keys)
    runs = jax.lax.while_loop(
        lambda runs: jnp.any(runs.episode < episodes),
        partial(jax.vmap(step), parameters, worlds, step_keys),
        runs,
    )
    agents = runs.agent._replace(key=jax.random.key_data(runs.agent.key))
    return Curves(*runs.curves, agents, runs.controller)
