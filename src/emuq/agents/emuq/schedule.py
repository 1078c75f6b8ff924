"""When things happen: by the number of transitions, and by little else.

    fold     every time half a block of updates of S has come in
    plan     at counts that grow by `plan_interval` steps and by 5%, while it explores; where that is None, at
             the end of each episode
    draw     at a plan of the first kind, if an episode has begun since the last draw or that one is
             `refresh` steps old: the plan is made on new features
    look     at counts that are multiples of 20, if there is a reward other than a failure's and the data have
             grown by 20 steps and 15% since the last look

The counts at which it may plan or look are the same for every run, so that many runs that step together stop
for it together. Nothing here depends on how long anything took: a run is the same wherever it is made. All
functions take numbers or arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from emuq.agents.emuq.options import Options

# Updates of S that wait, at most. Half as many are taken in by one product, of about a millisecond: a thread
# has time for it beside 32 steps.
BLOCK = 64
# By which share the data grow between plans, so that a step's part of the cost stays bounded. Planning at
# every 2% explores no better.
PLAN_GROWTH = 0.05
LOOK_INTERVAL = 20  # steps before the agent looks ahead on new data,
LOOK_GROWTH = 15  # and by how many percent these have grown: a step's part of the cost stays bounded


class Course(NamedTuple):
    """What is to be known of a run besides its data: numbers of transitions, and what has happened."""

    began: Any = 0  # as this episode began
    drawn: Any = 0  # as features were drawn,
    planned: Any = 0  # at the last plan,
    looked: Any = 0  # and at the last look; 0: none yet
    rewarded: Any = False  # there is something to look ahead to


def begun(course: Course, count: Any) -> Course:
    """An episode begins after `count` transitions."""
    return course._replace(began=count)


def stepped(course: Course, reward: Any, terminated: Any) -> Course:
    """A transition was made."""
    return course._replace(rewarded=course.rewarded | is_worth_a_look(reward, terminated))


def next_plan(options: Options, planned: int) -> int | None:
    """The count after `planned` at which to plan again.

    They grow by a share, so that a step's part of the cost stays constant. None: only at the ends of
    episodes.
    """
    if options.plan_interval is None:
        return None
    return planned + max(options.plan_interval, int(PLAN_GROWTH * planned))


def plan_after(options: Options, count: int) -> int | None:
    """The first count after this one at which to plan."""
    due = next_plan(options, 0)
    while due is not None and due <= count:
        due = next_plan(options, due)
    return due


def plans(options: Options, kappa: Any) -> Any:
    """Whether a plan is made where it may be: an agent that looks ahead acts on none at kappa = 0."""
    return (kappa > 0) | (not options.lookahead)


def draw_is_due(options: Options, course: Course, kappa: Any, count: Any) -> Any:
    """Whether the plan that is made now is on new features: one draw may miss something."""
    if options.refresh is None:
        return (kappa > 0) & False
    return (kappa > 0) & ((course.began > course.drawn) | (count - course.drawn >= options.refresh))


def fold_is_due(used: int) -> bool:
    """Whether half of the rows that wait is full, or all of them."""
    return used % (BLOCK // 2) == 0


def may_look(options: Options, count: int) -> bool:
    """Whether it is asked at this count if a look is due."""
    return bool(options.lookahead) and count % LOOK_INTERVAL == 0


def look_is_due(course: Course, count: Any) -> Any:
    """Whether to look ahead now."""
    new = count - course.looked
    return course.rewarded & (new >= LOOK_INTERVAL) & (100 * new >= LOOK_GROWTH * course.looked)


def is_worth_a_look(reward: Any, terminated: Any) -> Any:
    """Whether a transition gives something to look ahead to: any reward but that of a failure.

    What looking ahead has not seen is worth the least to it, so that nothing but failures would keep an
    agent from exploring on.
    """
    return (reward > 0) | ((reward < 0) & (terminated == False))  # noqa: E712
