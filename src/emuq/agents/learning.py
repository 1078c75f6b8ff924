"""One call of `learn`: how long it is, where it learns, and what is settled when it returns.

The loops themselves are in `walk` (one environment) and in `vector` (copies that step together).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from emuq.agents.copies import Copies
from emuq.agents.deadline import Deadline, deadline_of
from emuq.agents.episodes import as_callback
from emuq.agents.interrupts import Interrupts
from emuq.agents.spaces import learning_environment
from emuq.agents.vector import Together
from emuq.agents.walk import Walk
from emuq.errors import InputError
from emuq.history import History
from emuq.kappa.protocol import check_whole
from emuq.progress import Progress

if TYPE_CHECKING:
    from emuq.agents.base import Agent


class Length(NamedTuple):
    """How long to learn: for so many episodes, or so many steps; and until when at most."""

    episodes: int | None
    steps: int | None
    until: str | None  # "goal": not beyond the first episode that reaches it


def length_of(until: str | None, **lengths: int | None) -> Length:
    """What `learn` was given (episodes, steps, total_timesteps), checked."""
    given = {name: number for name, number in lengths.items() if number is not None}
    if len(given) != 1:
        text = ", ".join(f"{name}={number}" for name, number in given.items())
        raise InputError(f"learn({text}): expected exactly one of the two, episodes=... or steps=...")
    for name, number in given.items():
        check_whole(name, number, 1)
    if until not in (None, "goal"):
        raise InputError(f"until is {until!r}: expected None or 'goal'")
    episodes = given.pop("episodes", None)
    return Length(episodes, next(iter(given.values()), None), until)


def learn(
    agent: Agent,
    env: Any,
    callback: Any,
    progress: bool,
    deadline: float | None,
    safe_action: Any,
    until: str | None,
    **lengths: int | None,
) -> History:
    """What `Agent.learn` does, once all that it was given is checked: the episodes of this call."""
    where, tell = learning_environment(agent, env), as_callback(callback)
    length = length_of(until, **lengths)
    timing = deadline_of(agent, deadline, safe_action)
    if isinstance(where, Copies):
        _check_copies(agent, timing)
    first = len(agent.history)
    bar = Progress(progress, episodes=length.episodes, steps=length.steps)
    with bar, Interrupts() as ears, _settled(agent):
        ears.during(agent.warmup)
        if isinstance(where, Copies):
            Together(agent, where, tell, bar, ears).learn(*length)
        else:
            with closing(Walk(agent, where, tell, bar, ears, timing)) as walk:
                _go(walk, agent.history, length)
    return agent.history[first:]


def _go(walk: Walk, history: History, length: Length) -> None:
    """Episode after episode, until there were as many as are wanted."""
    first, done = len(history), 0
    while (length.episodes is None or len(history) - first < length.episodes) and (
        length.steps is None or done < length.steps
    ):
        row, go_on = walk.episode(None if length.steps is None else length.steps - done)
        done += row.length
        if not go_on or (length.until == "goal" and row.goal):
            return


def _check_copies(agent: Agent, timing: Deadline | None) -> None:
    """Nothing is asked for that copies which step together cannot do."""
    asked = {
        "deadline is given": timing is not None,
        "action_rate is given": agent.limits is not None,
        "planning is 'beside'": agent.options.get("planning") == "beside",
    }
    for what, found in asked.items():
        if found:
            raise InputError(f"{what} where copies step together: expected a single environment")


@contextmanager
def _settled(agent: Agent) -> Iterator[None]:
    """However learning ends, nothing is under way after it."""
    try:
        yield
    finally:
        agent._settle()
