"""The compiled programs of a batch: each is for a group of runs that have made equally many steps.

A `Clock` holds what is the same for all runs of a group, and is mapped over by none of them: loops over data
are then as long for all, and what is decided by the count alone stays a real branch under `vmap`.

Steps are made by all runs of a group. Plans and looks, which cost a thousand times as much, are made by
those that are `chosen`, a fixed number at a time (places beyond the group stand for nobody): one program
serves however many there are, and its memory is bounded.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from emuq.agents.emuq import learn
from emuq.agents.emuq import whole as agents
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.schedule import BLOCK
from emuq.agents.emuq.state import State
from emuq.agents.emuq.whole import Whole, Wishes
from emuq.batch import single
from emuq.batch.single import Row, Run, Tables
from emuq.domains.base import Form, together
from emuq.kappa import Controller
from emuq.planning import transitions


class Clock(NamedTuple):
    """Transitions so far, rows of V that are filled, and how many transitions the last plan saw."""

    count: Int[Array, ""]  # type: ignore[assignment]  # hides tuple.count, which nobody wants of it
    used: Int[Array, ""]
    counted: Int[Array, ""]


class Kind(NamedTuple):
    """What programs are compiled for."""

    form: Form
    controller: Controller
    options: Options


def timed(agent: Whole, clock: Clock) -> Whole:
    """The agent at this time."""
    state = agent.state
    state = state._replace(
        blocked=state.blocked._replace(used=clock.used),
        data=state.data._replace(count=clock.count),
        counted=clock.counted,
    )
    return agent._replace(state=state)


def untimed(agent: Whole) -> Whole:
    """The agent with holes (None) where the clock was: all of its arrays are its own."""
    return timed(agent, Clock(None, None, None))  # type: ignore[arg-type]


@partial(jax.jit, static_argnames="kind")
def first(
    kind: Kind, numbers: dict[str, Any], tables: Tables, keys: Array, seeds: Array, own: dict[str, Array]
) -> Run:
    """The runs of a group, about to begin."""
    domain = together(kind.form, numbers)

    def begin(key: Array, seed: Array, own: dict[str, Array]) -> Run:
        run = single.first(key, seed, own, domain, kind.controller, kind.options, tables)
        return run._replace(agent=untimed(run.agent))

    return jax.vmap(begin)(keys, seeds, own)


@partial(jax.jit, static_argnames=("kind", "looks"), donate_argnames="runs")
def advance(
    kind: Kind, looks: bool, numbers: dict[str, Any], tables: Tables, runs: Run, clock: Clock, steps: Array
) -> tuple[Run, Row, Wishes]:
    """So many steps of all runs, at most a block; the episodes that ended at each, and what is wished now."""
    domain, size = together(kind.form, numbers), runs.t.shape[0]
    rules = domain, kind.controller, kind.options, tables, looks

    def close(runs: Run, clock: Clock) -> tuple:
        """What `end` changes, where an episode is over: not the large arrays, which a branch would copy."""
        ended = jax.vmap(lambda run: _at(single.end, run, clock, *rules))(runs)
        return _where(runs.over, _ending(ended), _ending(runs))

    def tick(i: Array, carry: tuple[Run, Row]) -> tuple[Run, Row]:
        runs, log = carry
        now = clock._replace(count=clock.count + i, used=clock.used + i)
        closed = jax.lax.cond(jnp.any(runs.over), lambda: close(runs, now), lambda: _ending(runs))
        runs = _ended(runs, closed)
        runs, row = jax.vmap(lambda run: _step(run, now, *rules))(runs)
        return runs, Row(*(x.at[i].set(new) for x, new in zip(log, row, strict=True)))

    shapes = jax.eval_shape(lambda: jax.vmap(lambda run: _step(run, clock, *rules))(runs)[1])
    log = Row(*(jnp.zeros((BLOCK, size), x.dtype) for x in shapes))
    runs, log = jax.lax.fori_loop(0, steps, tick, (runs, log))
    after = clock._replace(count=clock.count + steps)

    def wish(run: Run) -> Wishes:
        return agents.wishes(timed(run.agent, after), kind.controller, kind.options.at(run.numbers))

    return runs, log, jax.vmap(wish)(runs)


def _at(function: Any, run: Run, clock: Clock, *rules: Any) -> Run:
    run = function(run._replace(agent=timed(run.agent, clock)), *rules)
    return run._replace(agent=untimed(run.agent))


def _step(run: Run, clock: Clock, *rules: Any) -> tuple[Run, Row]:
    run, row = single.step(run._replace(agent=timed(run.agent, clock)), *rules)
    return run._replace(agent=untimed(run.agent)), row


def _ending(runs: Run) -> tuple:
    agent, state = runs.agent, runs.agent.state
    return (
        (state.data.ended, state.start),
        (agent.course, agent.control, agent.episodes, agent.total),
        (runs.world, runs.stream, runs.t, runs.observation, runs.choice, runs.over),
    )


def _ended(runs: Run, parts: tuple) -> Run:
    (ended, start), (course, control, episodes, total), rest = parts
    state = runs.agent.state
    state = state._replace(data=state.data._replace(ended=ended), start=start)
    agent = Whole(state, course, control, episodes, total)
    return Run(agent, runs.seed, runs.numbers, *rest, goal=runs.goal)


def _where(which: Array, new: Any, old: Any) -> Any:
    def choose(x: Array, y: Array) -> Array:
        return jnp.where(which.reshape(-1, *[1] * (x.ndim - 1)), x, y)

    return jax.tree.map(choose, new, old)


# What some of the runs do -----------------------------------------------------------------------------------


@partial(jax.jit, static_argnames=("kind", "anew"), donate_argnames="runs")
def plan(kind: Kind, anew: bool, tables: Tables, runs: Run, clock: Clock, chosen: Int[Array, " p"]) -> Run:
    """The chosen ones plan, on new features or on their own."""

    def one(agent: Whole, own: dict[str, Array]) -> Whole:
        options, agent = kind.options.at(own), timed(agent, clock)
        if anew:
            return untimed(agents.plan_anew(agent, tables.choices, kind.controller, options))
        return untimed(agents.plan(agent, kind.controller, options))

    new = jax.vmap(one)(*_some((runs.agent, runs.numbers), chosen))
    state, old = new.state, runs.agent.state
    names = ("basis", "blocked", "form", "gram", "covariance", "converged")
    parts = {
        name: _put(getattr(old, name), getattr(state, name), chosen) for name in names[0 if anew else 1 :]
    }
    course = _put(runs.agent.course, new.course, chosen)
    return runs._replace(agent=runs.agent._replace(state=old._replace(**parts), course=course))


@partial(jax.jit, static_argnames="kind", donate_argnames="runs")
def look(kind: Kind, runs: Run, clock: Clock, chosen: Int[Array, " p"]) -> Run:
    """The chosen ones look ahead."""

    def one(agent: Whole, own: dict[str, Array]) -> Whole:
        return untimed(agents.look(timed(agent, clock), kind.options.at(own)))

    new = jax.vmap(one)(*_some((runs.agent, runs.numbers), chosen))
    lookahead = _put(runs.agent.state.lookahead, new.state.lookahead, chosen)
    course = _put(runs.agent.course, new.course, chosen)
    state = runs.agent.state._replace(lookahead=lookahead)
    return runs._replace(agent=runs.agent._replace(state=state, course=course))


@partial(jax.jit, static_argnames="kind", donate_argnames="runs")
def recount(kind: Kind, runs: Run, which: Array) -> Run:
    """These runs did not make the last plans: the next one sums Phi'Phi of all data."""

    def none(state: State, own: dict[str, Array]) -> tuple[Array, Array]:
        return jnp.zeros_like(state.gram), jnp.eye(len(state.gram)) / kind.options.at(own).prior_precision

    state = runs.agent.state
    gram, covariance = _where(which, jax.vmap(none)(state, runs.numbers), (state.gram, state.covariance))
    state = state._replace(gram=gram, covariance=covariance)
    return runs._replace(agent=runs.agent._replace(state=state))


@partial(jax.jit, donate_argnames="runs")
def fold(runs: Run) -> Run:
    """S_0 takes in what waits, in all runs."""

    def one(state: State) -> tuple:
        state = learn.fold(state._replace(blocked=state.blocked._replace(used=jnp.int32(0))))
        return state.blocked._replace(used=None), state.form

    blocked, form = jax.vmap(one)(runs.agent.state)
    state = runs.agent.state._replace(blocked=blocked, form=form)
    return runs._replace(agent=runs.agent._replace(state=state))


def _some(tree: Any, chosen: Int[Array, " p"]) -> Any:
    return jax.tree.map(lambda x: x.at[chosen].get(mode="clip"), tree)


def _put(tree: Any, new: Any, chosen: Int[Array, " p"]) -> Any:
    return jax.tree.map(lambda x, y: x.at[chosen].set(y, mode="drop"), tree, new)


# Groups -----------------------------------------------------------------------------------------------------


@partial(jax.jit, donate_argnums=0)
def merged(left: Run, right: Run, chosen: Int[Array, " c"]) -> Run:
    """One group of two: places from 0 on are of the left one, and then of the right one."""
    return jax.tree.map(lambda x, y: jnp.concatenate([x, y])[chosen], left, right)


@partial(jax.jit, static_argnums=1)
def grown(runs: Run, times: int) -> Run:
    """So many times the room for transitions."""
    data = runs.agent.state.data
    for _ in range(times.bit_length() - 1):
        data = jax.vmap(transitions.grown)(data)
    state = runs.agent.state._replace(data=data)
    return runs._replace(agent=runs.agent._replace(state=state))
