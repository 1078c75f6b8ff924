"""One run as a value: a whole agent in its world, between two steps.

    step    the action leads to a transition, which is learned from; the next action
    end     where that was an episode's last: it is over, and the next one begins

`end` comes before the next step, not after the last one, so that what is due by the count (`schedule`) is
done between them, as it is in the agent's own loop.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from emuq.agents.emuq import whole as agents
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.state import Choices
from emuq.agents.emuq.whole import Whole
from emuq.batch.seeds import reset_seed
from emuq.domains.base import Domain, episode_keys, step_key
from emuq.kappa import Controller


class Tables(NamedTuple):
    """What all runs share: the actions, each of them as the domain's, and how numbers are scaled."""

    choices: Choices
    moves: Array  # [k, da], or k whole numbers
    scale: Float[Array, "4 ds"]  # low, width, least, most of observations


class Run(NamedTuple):
    """One run between two steps."""

    agent: Whole
    seed: Array
    numbers: dict[str, Array]  # settings of its own
    world: Any
    stream: Array  # the key of the episode's steps
    t: Int[Array, ""]
    observation: Float[Array, " ds"]
    choice: Int[Array, ""]
    over: Bool[Array, ""]  # the last step ended an episode, which is not closed yet
    goal: Bool[Array, ""]


class Row(NamedTuple):
    """An episode, if it is over."""

    over: Any
    total: Any
    length: Any
    goal: Any
    kappa: Any


def observe(domain: Domain, world: Any, scale: Array) -> Float[Array, " ds"]:
    """The scaled observation."""
    low, width, least, most = scale
    return jnp.clip((domain.observe(world) - low) / width, least, most)


def first(
    key: Array,
    seed: Array,
    numbers: dict[str, Array],
    domain: Domain,
    controller: Controller,
    options: Options,
    tables: Tables,
) -> Run:
    """A run that is about to begin its first episode."""
    options, no = options.at(numbers), jnp.zeros((), bool)
    control = numbers["kappa"] if "kappa" in numbers else controller.init()
    agent = agents.beginning(key, options, tables.scale.shape[1], tables.choices, control)
    world, stream = _reset(domain, seed, agent.episodes)
    observation = observe(domain, world, tables.scale)
    agent, choice = agents.begin(agent, observation, controller, looks=False)
    zero = jnp.zeros((), jnp.int32)
    return Run(agent, seed, numbers, world, stream, zero, observation, choice, no, no)


def step(
    run: Run, domain: Domain, controller: Controller, options: Options, tables: Tables, looks: bool
) -> tuple[Run, Row]:
    """One transition."""
    options = options.at(run.numbers)
    action = tables.moves[run.choice]
    result = domain.step(run.world, action, step_key(run.stream, run.t))
    following = observe(domain, result.state, tables.scale)
    kappa = agents.kappa_of(run.agent, controller)
    unit = jnp.asarray(tables.choices.candidates)[run.choice]
    agent, choice = agents.step(
        run.agent, run.observation, unit, jnp.asarray(result.reward, float), following, result.terminated,
        controller, options, looks,
    )  # fmt: skip
    t = run.t + 1
    over = result.terminated | (t >= domain.horizon)
    goal = over & result.goal
    run = run._replace(
        agent=agent, world=result.state, t=t, observation=following, choice=choice, over=over, goal=goal
    )
    return run, Row(over, agent.total, t, goal, kappa)


def end(
    run: Run, domain: Domain, controller: Controller, options: Options, tables: Tables, looks: bool
) -> Run:
    """Close the episode and begin the next one."""
    agent = agents.end(run.agent, run.goal, controller)
    world, stream = _reset(domain, run.seed, agent.episodes)
    observation = observe(domain, world, tables.scale)
    agent, choice = agents.begin(agent, observation, controller, looks)
    return run._replace(
        agent=agent, world=world, stream=stream, t=jnp.zeros_like(run.t), observation=observation,
        choice=choice, over=jnp.zeros_like(run.over),
    )  # fmt: skip


def _reset(domain: Domain, seed: Array, episode: Array) -> tuple[Any, Array]:
    reset, stream = episode_keys(reset_seed(seed, episode))
    return domain.reset(reset), stream
