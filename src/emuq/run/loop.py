"""The loop over episodes as one compiled program, many runs in lockstep, for agents without planning.

Every run takes one step at a time and begins its next episode by itself, so that no run waits for another's
episode to end; padding each episode to the horizon instead would cost several times as much. An episode that
is learned from may be followed by test episodes at kappa = 0, as many as the controller of kappa asks for.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from emuq.domains.base import Form, episode_keys, step_key, together
from emuq.kappa import Controller, Outcome, settles
from emuq.run.stepping import StepAgent


class Columns(NamedTuple):
    """[runs, episodes] arrays with `History`'s columns; an episode that did not end has length 0."""

    returns: Any
    lengths: Any
    goals: Any
    kappas: Any


class Schedule(NamedTuple):
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


class Run(NamedTuple):
    """One run in the middle of an episode; `slot` 0 learns, 1 .. T are the tests that follow."""

    memory: Any
    controller: Any
    world: Any
    stream: jax.Array  # the key of the episode's steps
    t: jax.Array
    total: jax.Array
    episode: jax.Array
    slot: jax.Array
    tests: jax.Array
    found: jax.Array
    columns: Columns


def where(this: jax.Array, new: Any, old: Any) -> Any:
    """`new` where `this` is true. What they share, as tables between two episodes, is not copied."""
    return jax.tree.map(lambda x, y: y if x is y else jnp.where(this, x, y), new, old)


@partial(jax.jit, static_argnames=("form", "agent", "axes", "controller", "until_goal"))
def walk(
    form: Form,
    agent: StepAgent,
    axes: Any,
    controller: Controller,
    until_goal: bool,
    numbers: dict[str, Any],
    fixed: Any,
    memory: Any,
    resets: jax.Array,
    kappas: jax.Array | None,
    episodes: jax.Array,
) -> Run:
    """All runs, `episodes` episodes each or until each has reached the goal, as they are at the end.

    `resets` are the seeds [runs, room, 1 + tests] of the episodes, with room for more than there are. A
    schedule `kappas`, where there is one, stands in for the controller: one program serves for all schedules.
    """
    domain, room = together(form, numbers), resets.shape[1]
    control = controller if kappas is None else Schedule(kappas)
    num_tests = control.test_episodes

    def start(seed: jax.Array) -> tuple[Any, jax.Array]:
        reset, stream = episode_keys(seed)
        return domain.reset(reset), stream

    def observe(world: Any) -> jax.Array:
        return domain.scaled(world) if domain.num_states is None else domain.observe(world)

    def kappa_of(controller: Any, slot: jax.Array) -> jax.Array:
        own = jnp.asarray(control.value(controller), float)
        return jnp.where(slot > 0, 0.0, own) if num_tests else own

    def begin(fixed: Any, memory: Any, starts: tuple[Any, jax.Array]) -> Run:
        world, stream = jax.tree.map(lambda leaf: leaf[0, 0], starts)
        zero, state = jnp.int32(0), control.init()
        memory = agent.look(fixed, memory, observe(world), kappa_of(state, zero))
        columns = Columns(jnp.zeros(room), jnp.zeros(room, jnp.int32), jnp.zeros(room, bool), jnp.zeros(room))
        return Run(
            memory, state, world, stream, zero, jnp.zeros(()), zero, zero,
            jnp.full(num_tests, jnp.nan), jnp.zeros((), bool), columns,
        )  # fmt: skip

    def step(fixed: Any, run: Run) -> tuple[Run, jax.Array, jax.Array]:
        """One transition, learned from; whether it ended the episode, and whether at the goal."""
        kappa = kappa_of(run.controller, run.slot)
        memory, action = agent.act(fixed, run.memory, kappa)
        result = domain.step(run.world, action, step_key(run.stream, run.t))
        # A finished run goes on until the others are done, learning nothing.
        learning = (run.slot == 0) & (run.episode < episodes)
        memory = agent.learn(
            fixed, memory, result.reward, observe(result.state), result.terminated, kappa, learning
        )
        t, total = run.t + 1, run.total + result.reward
        run = run._replace(memory=memory, world=result.state, t=t, total=total)
        return run, result.terminated | (t >= domain.horizon), result.goal

    def end(fixed: Any, run: Run, over: jax.Array, goal: jax.Array, starts: tuple[Any, jax.Array]) -> Run:
        """Where an episode is over: it is recorded, the controller hears of it, and the next one begins."""
        kappa = kappa_of(run.controller, run.slot)
        learned = over & (run.slot == 0) & (run.episode < episodes)
        row = jnp.where(learned, run.episode, room)  # beyond the room: dropped
        values = (run.total, run.t, goal, kappa)
        columns = Columns(
            *(x.at[row].set(new, mode="drop") for x, new in zip(run.columns, values, strict=True))
        )
        tests, done = run.tests, over
        if num_tests:
            testing = run.slot > 0
            tests = tests.at[jnp.where(over & testing, run.slot - 1, num_tests)].set(run.total, mode="drop")
            settled = (run.slot == num_tests) | settles(control, run.total)
            done = over & jnp.where(testing, settled, kappa == 0)
        # What the controller hears is the learning episode's outcome, which is in the columns by now.
        last = jnp.minimum(run.episode, episodes - 1)
        outcome = Outcome(columns.returns[last], columns.goals[last], tests if num_tests else None)
        controlled = where(done, control.update(run.controller, outcome), run.controller)
        episode, slot = run.episode + done, jnp.where(done, 0, run.slot + over)
        at = (jnp.minimum(episode, episodes - 1), slot)
        world, stream = jax.tree.map(lambda leaf: leaf[at], starts)
        kappa = kappa_of(controlled, slot)
        memory = agent.look(fixed, agent.skip(run.memory), observe(world), kappa)
        return Run(
            where(over, memory, run.memory),
            controlled,
            where(over, world, run.world),
            where(over, stream, run.stream),
            jnp.where(over, 0, run.t),
            jnp.where(over, 0.0, run.total),
            episode,
            slot,
            jnp.where(done, jnp.nan, tests),
            run.found | (learned & goal),
            columns,
        )

    starts = jax.vmap(jax.vmap(jax.vmap(start)))(resets)

    def advance(runs: Run) -> Run:
        runs, over, goal = jax.vmap(step, (axes, 0))(fixed, runs)
        # Outside of vmap this is a real branch: most steps end no episode.
        ended = partial(jax.vmap(end, (axes, 0, 0, 0, 0)), fixed, runs, over, goal, starts)
        return jax.lax.cond(jnp.any(over), ended, lambda: runs)

    def going(runs: Run) -> jax.Array:
        left = runs.episode < episodes
        return jnp.any(left & ~runs.found if until_goal else left)

    runs = jax.vmap(begin, (axes, 0, 0))(fixed, memory, starts)
    return jax.lax.while_loop(going, advance, runs)
