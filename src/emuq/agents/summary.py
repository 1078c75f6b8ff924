"""How an agent is doing, in plain words, and in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from emuq.kappa import Constant

if TYPE_CHECKING:
    from emuq.agents.base import Agent

_RECENT = 10  # episodes


@runtime_checkable
class Planner(Protocol):
    """An agent that plans on stored transitions."""

    @property
    def planned(self) -> int: ...
    @property
    def converged(self) -> tuple[bool, bool]: ...


def line(agent: Agent) -> str:
    """`EMUQ on Pendulum-v1, seed 0: 12 episodes, 1,204 steps, 11 goals, kappa 0 (UntilGoal)`."""
    goals = sum(row.goal for row in agent.history)
    seen = (
        f"{_number(len(agent.history), 'episode')}, {_number(agent.num_transitions, 'step')}, "
        f"{_number(goals, 'goal')}"
    )
    kappa = f"kappa {agent.kappa:g} ({type(agent.controller).__name__})"
    return f"<{type(agent).__name__} on {_place(agent)}, seed {agent.seed}: {seen}, {kappa}>"


def words(agent: Agent) -> str:
    """What the agent is, what it has seen, its goals, kappa and who sets it, what the last plan did."""
    parts = [f"{type(agent).__name__} on {_place(agent)}, seed {agent.seed}.", *_seen(agent), _kappa(agent)]
    if isinstance(agent, Planner):
        parts.append(_plan(agent.planned, agent.converged))
    return "\n".join(parts)


def _seen(agent: Agent) -> list[str]:
    history = agent.history
    if not history:
        return ["It has not learned anything yet: call learn(episodes=10)."]
    recent = history[-_RECENT:]
    mean = sum(row.total_return for row in recent) / len(recent)
    length = sum(row.length for row in recent) / len(recent)
    goals = sum(row.goal for row in history)
    if goals:
        last = sum(row.goal for row in recent)
        found = (
            f"The goal was reached in {_number(goals, 'episode')}, first in episode {history.first_goal}, "
            f"and in {last} of the last {len(recent)}."
        )
    else:
        found = "No episode has reached a goal yet."
    steps = _number(agent.num_transitions, "step")
    return [
        f"It has learned from {_number(len(history), 'episode')} and {steps}.",
        found,
        f"The last {_number(len(recent), 'episode')} returned {mean:g} in {length:g} steps, on average.",
    ]


def _kappa(agent: Agent) -> str:
    doing = "exploits what it knows" if agent.kappa == 0 else "explores"
    who = "a number you set" if isinstance(agent.controller, Constant) else f"set by {agent.controller}"
    return f"kappa is {agent.kappa:g} ({who}): it {doing}."


def _plan(planned: int, converged: tuple[bool, bool]) -> str:
    if not planned:
        return "It has not planned yet."
    q, u = ("settled" if settled else "were cut before they settled" for settled in converged)
    return f"The last plan saw {_number(planned, 'transition')}; the values of Q {q}, those of U {u}."


def _place(agent: Agent) -> str:
    env = agent.env
    if env is None:
        return "spaces alone" if agent._copies is None else str(agent._copies)
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
