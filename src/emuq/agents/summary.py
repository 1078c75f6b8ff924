"""How an agent is doing, in plain words, and in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from emuq.kappa import Constant

if TYPE_CHECKING:
    from emuq.agents.base import Agent

_RECENT = 10  # episodes
_LITTLE = 0.02  # of the uncertainty, or of the last steps' novelty: there is hardly anything left to find
_POOR = 0.5  # standard deviations of a change: half of what a step does is not predicted


@runtime_checkable
class Planner(Protocol):
    """An agent that plans on stored transitions."""

    @property
    def planned(self) -> int: ...
    @property
    def converged(self) -> tuple[bool, bool]: ...


class Insight(Protocol):
    """Numbers about what an agent knows, as `emuq.agents.emuq.insight` has them."""

    @property
    def left(self) -> float: ...
    @property
    def novelty(self) -> float: ...
    @property
    def latest(self) -> int: ...
    @property
    def rewarded(self) -> int: ...
    @property
    def rewards(self) -> tuple[float, float]: ...
    @property
    def error(self) -> float | None: ...
    @property
    def noise(self) -> tuple[int, ...]: ...
    @property
    def ahead(self) -> int: ...


@runtime_checkable
class Insightful(Protocol):
    """An agent that can say how much of what it may reach it knows."""

    def insight(self) -> Insight | None: ...


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
    """What it is, has seen and has found, kappa, what it knows, its last plan, what to try if stuck."""
    parts = [f"{type(agent).__name__} on {_place(agent)}, seed {agent.seed}.", *_seen(agent), _kappa(agent)]
    insight = agent.insight() if isinstance(agent, Insightful) else None
    if insight is not None:
        parts += [_known(insight), _paid(agent, insight), *_model(insight)]
    if isinstance(agent, Planner):
        parts.append(_plan(agent.planned, agent.converged))
    if insight is not None:
        parts += _advice(agent, insight)
    return "\n".join(parts)


def remark(agent: Agent) -> str | None:
    """One line for a run's progress: what is left to explore, what was new, what the model misses."""
    insight = agent.insight() if isinstance(agent, Insightful) else None
    if insight is None:
        return None
    misses = "" if insight.error is None else f"; its model misses {insight.error:.0%} of a change"
    return (
        f"after {_number(len(agent.history), 'episode')}: {insight.left:.0%} unknown where it has been, "
        f"the last {_number(insight.latest, 'step')} {insight.novelty:.0%} new{misses}"
    )


def _known(insight: Insight) -> str:
    return (
        f"Where it has been, {insight.left:.1%} of what actions may lead to is still unknown; its last "
        f"{_number(insight.latest, 'step')} were {insight.novelty:.1%} new to it."
    )


def _paid(agent: Agent, insight: Insight) -> str:
    if not insight.rewarded:
        return "Every reward so far was 0: Q has nothing to tell actions apart by."
    low, high = insight.rewards
    steps = _number(insight.rewarded, "step")
    return f"{steps} of {agent.num_transitions:,} paid something; rewards were within [{low:g}, {high:g}]."


def _model(insight: Insight) -> list[str]:
    if insight.error is None:
        return []
    ahead = f" At kappa = 0 it looks {_number(insight.ahead, 'step')} ahead." if insight.ahead else ""
    misses = f"Its model of the dynamics misses {insight.error:.1%} of a step's change (on steps held out)."
    return [misses + ahead]


def _advice(agent: Agent, insight: Insight) -> list[str]:
    """What to try, where something is the matter."""
    found, stuck = [], not any(row.goal for row in agent.history[-_RECENT:])
    if insight.noise:
        places = ", ".join(map(str, insight.noise))
        found.append(f"These numbers of the observation (the first is 0) look like noise: {places}.")
    if insight.error is not None and insight.error > _POOR:
        found.append(
            "What a step does is hard to predict: does the observation lack something (a speed), or has it "
            "an angle that jumps (angles=[...])?"
        )
    if agent.kappa > 0 and stuck and insight.left < _LITTLE and insight.novelty < _LITTLE:
        found.append(
            "It finds nothing new any more: if the goal can be reached at all, let it see more finely "
            "(observation_bounds=... nearer to what it visits, a smaller state_lengthscale, more features)."
        )
    elif agent.kappa > 0 and stuck and not insight.rewarded:
        found.append("It still finds new things: let it learn on.")
    if agent.kappa == 0 and stuck and not insight.rewarded:
        found.append("It exploits, but nothing has paid yet: set kappa to 1 to explore.")
    return found


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
