"""A whole EMU-Q agent as one value: what it knows, where it is in its course, and who sets its kappa.

    begin   an episode begins: the first action
    step    a transition: observe, then the next action
    end     an episode is over, and kappa's controller hears of it
    plan    S, all exploration rewards, Q and U from all data; `plan_anew` on new features
    look    what to exploit with

The class `EMUQ` goes through the same functions of `learn`, `act`, `plan` and `schedule` in the same order,
by way of its `Runtime`. This value has no environment and asks for nothing from the host, so that it
compiles whole and many of them are one program (`emuq.batch`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from emuq.agents.emuq import act, learn, schedule
from emuq.agents.emuq import plan as planning
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.schedule import Course
from emuq.agents.emuq.state import Choices, State
from emuq.agents.emuq.state import beginning as no_knowledge
from emuq.kappa import Controller, Outcome


class Whole(NamedTuple):
    """One agent between two steps."""

    state: State
    course: Course
    control: Any  # the state of kappa's controller
    episodes: Int[Array, ""]  # that are over
    total: Float[Array, ""]  # the return so far of the one under way


class Wishes(NamedTuple):
    """What an agent would do now, were this a count at which it may."""

    plan: Bool[Array, ""]
    draw: Bool[Array, ""]
    look: Bool[Array, ""]


def beginning(key: Array, options: Options, state_dim: int, choices: Choices, control: Any) -> Whole:
    """An agent that knows nothing."""
    zero, no = jnp.zeros((), jnp.int32), jnp.zeros((), bool)
    course = Course(zero, zero, zero, zero, no)
    return Whole(no_knowledge(key, options, state_dim, choices), course, control, zero, jnp.zeros(()))


def kappa_of(whole: Whole, controller: Controller) -> Float[Array, ""]:
    """The weight of exploration in this episode."""
    return jnp.asarray(controller.value(whole.control), float)


def begin(
    whole: Whole, observation: Float[Array, " ds"], controller: Controller, looks: bool
) -> tuple[Whole, Int[Array, ""]]:
    """An episode begins at this observation: the first action, as an index.

    `looks`: some agents of a batch have looked ahead by now.
    """
    state, course = (
        learn.begin(whole.state, observation),
        schedule.begun(whole.course, whole.state.data.count),
    )
    whole = whole._replace(state=state, course=course, total=jnp.zeros_like(whole.total))
    return whole, _act(whole, observation, kappa_of(whole, controller), looks)


def step(
    whole: Whole,
    observation: Float[Array, " ds"],
    action: Float[Array, " da"],
    reward: Float[Array, ""],
    following: Float[Array, " ds"],
    terminal: Bool[Array, ""],
    controller: Controller,
    options: Options,
    looks: bool,
) -> tuple[Whole, Int[Array, ""]]:
    """Learn from a transition, then choose the next action, as an index."""
    kappa = kappa_of(whole, controller)
    state = learn.observe(whole.state, observation, action, reward, following, terminal, kappa, options)
    course = schedule.stepped(whole.course, reward, terminal)
    whole = whole._replace(state=state, course=course, total=whole.total + reward)
    return whole, _act(whole, following, kappa, looks)


def end(whole: Whole, goal: Bool[Array, ""], controller: Controller) -> Whole:
    """An episode is over, at the goal or not."""
    return whole._replace(
        state=learn.finish(whole.state),
        control=controller.update(whole.control, Outcome(whole.total, goal)),
        episodes=whole.episodes + 1,
    )


def wishes(whole: Whole, controller: Controller, options: Options) -> Wishes:
    """What `schedule` says is due."""
    kappa, count = kappa_of(whole, controller), whole.state.data.count
    look = schedule.look_is_due(whole.course, count)
    draw = schedule.draw_is_due(options, whole.course, kappa, count)
    return Wishes(schedule.plans(options, kappa) | jnp.zeros((), bool), draw, look & bool(options.lookahead))


def plan(whole: Whole, controller: Controller, options: Options) -> Whole:
    """Plan on all data."""
    state = planning.plan(whole.state, kappa_of(whole, controller), options)
    return whole._replace(state=state, course=whole.course._replace(planned=state.data.count))


def plan_anew(whole: Whole, choices: Choices, controller: Controller, options: Options) -> Whole:
    """Plan on all data, on new features."""
    kappa, count = kappa_of(whole, controller), whole.state.data.count
    state = planning.plan_anew(whole.state, choices, kappa, whole.episodes, options)
    return whole._replace(state=state, course=whole.course._replace(planned=count, drawn=count))


def look(whole: Whole, options: Options) -> Whole:
    """Look ahead on all data."""
    state = planning.look(whole.state, options)
    return whole._replace(state=state, course=whole.course._replace(looked=state.data.count))


def _act(
    whole: Whole, observation: Float[Array, " ds"], kappa: Float[Array, ""], looks: bool
) -> Int[Array, ""]:
    linear = act.act(whole.state, observation, kappa, False)
    if not looks:
        return linear
    return jnp.where(whole.course.looked > 0, act.act(whole.state, observation, kappa, True), linear)
