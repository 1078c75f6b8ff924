"""Transitions in and out of an agent, as arrays.

In: each episode of a dataset is learned from as if it had been played, and gets a row in the history. All of
them come with the kappa of before; then kappa's controller hears how each ended.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from emuq.agents.actions import from_unit
from emuq.agents.emuq.exact import ExactRuntime
from emuq.agents.episodes import Transition, UnderWay
from emuq.agents.readings import looks_like_a_goal, observation_of, reward_of
from emuq.errors import InputError, quoted
from emuq.kappa import Outcome

if TYPE_CHECKING:
    from emuq.agents.emuq.agent import EMUQ

COLUMNS = ("observations", "actions", "rewards", "next_observations", "terminated")


def rows_of(given: dict[str, Any]) -> Iterator[list[Transition]]:
    """Episodes of transitions from arrays with a row each; one ends where it is terminated or truncated."""
    missing = [name for name in COLUMNS if given.get(name) is None]
    if missing:
        raise InputError(f"the dataset has no {', '.join(missing)}: expected arrays {', '.join(COLUMNS)}")
    columns = [given[name] for name in COLUMNS]
    try:
        lengths = [len(column) for column in columns]
        ends = given.get("truncated")
        columns.append([False] * lengths[0] if ends is None else ends)
        lengths.append(len(columns[-1]))
    except TypeError:
        raise InputError("the dataset has a column that is no array: expected a row a transition") from None
    if len(set(lengths)) != 1:
        names = (*COLUMNS, "truncated")
        told = ", ".join(f"{name} {length}" for name, length in zip(names, lengths, strict=True))
        raise InputError(f"the dataset's arrays differ in length: {told}")
    episode: list[Transition] = []
    for observation, action, reward, following, terminated, truncated in zip(*columns, strict=True):
        ends = bool(terminated), bool(truncated)
        reward = reward_of(reward, len(episode) + 1)
        most = max((row.reward for row in episode), default=-math.inf)
        goal = looks_like_a_goal(ends[0], reward, most)
        episode.append(Transition(observation, action, reward, following, *ends, goal))
        if any(ends):
            yield episode
            episode = []
    if episode:
        yield episode


def episodes_of(dataset: Any) -> Iterator[list[Transition]]:
    """Episodes of a Minari dataset, or of anything with its `iterate_episodes`."""
    if not hasattr(dataset, "iterate_episodes"):
        raise InputError(f"dataset is {quoted(dataset)}: expected a Minari dataset, or arrays by name")
    for one in dataset.iterate_episodes():
        yield from rows_of(
            {
                "observations": one.observations[:-1],
                "actions": one.actions,
                "rewards": one.rewards,
                "next_observations": one.observations[1:],
                "terminated": one.terminations,
                "truncated": one.truncations,
            }
        )


def replay(agent: EMUQ, episodes: Iterator[list[Transition]]) -> int:
    """Learn from each episode; the number of transitions."""
    first, space = agent.num_transitions, agent.observation_space
    outcomes, kappa = [], agent.kappa
    agent._kappa = kappa or 1.0  # another's episodes say nothing of what kappa = 0 would do
    try:
        for episode in episodes:
            under_way = agent._under_way = UnderWay(agent.kappa, agent.num_transitions)
            for i, row in enumerate(episode):
                if not agent.action_space.contains(np.asarray(row.action, agent.action_space.dtype)[()]):
                    raise InputError(f"action is {quoted(row.action)}: it is not in {agent.action_space}")
                here, there = (observation_of(space, x, i) for x in (row.observation, row.next_observation))
                if i == 0:
                    agent._start(here)
                under_way.add(row.reward, row.goal)
                agent._advance(row._replace(observation=here, next_observation=there))
                under_way.learn()
            outcomes.append(_close(agent, under_way))
    finally:
        if agent._under_way is not None and agent.num_transitions > agent.history.steps:
            outcomes.append(_close(agent, agent._under_way))
        agent._under_way, agent._kappa = None, kappa
        for outcome in outcomes:
            agent._control(agent.controller.update(agent._controller_state, outcome))
    return agent.num_transitions - first


def _close(agent: EMUQ, under_way: UnderWay) -> Outcome:
    row = under_way.row(agent.num_transitions)
    agent.history.append(row)
    agent._under_way = None
    agent._finish(row)
    count = agent.controller.test_episodes
    return Outcome(row.total_return, row.goal, np.full(count, np.nan) if count else None)


def arrays_of(agent: EMUQ) -> dict[str, np.ndarray]:
    """Every transition, as `observe_dataset` takes them.

    Observations are vectors in the environment's units, as near to what was seen as single precision and the
    bounds allow; as they were seen where a range is learned, or states are known exactly.
    """
    states, units, rewards, following, terminated = transitions_of(agent)
    actions = agent._actions
    if actions.discrete:
        matches = units @ actions.candidates.T
        taken = np.array([agent._choices[i] for i in matches.argmax(axis=1)])
    else:
        taken = from_unit(actions, units)
    ended = np.zeros(len(rewards), bool)
    ended[np.cumsum([episode.length for episode in agent.history], dtype=int) - 1] = True
    columns = states, taken, rewards, following, terminated
    return dict(zip(COLUMNS, columns, strict=True)) | {"truncated": ended & ~terminated}


def transitions_of(agent: EMUQ) -> tuple[np.ndarray, ...]:
    """States and next states in the environment's units, actions as vectors, rewards, terminal."""
    if isinstance(agent._runtime, ExactRuntime):
        return agent._runtime.transitions(agent._actions.candidates)
    data, number = agent.whole_state().data, agent.num_transitions
    found = (data.states, data.actions, data.rewards, data.next_states, data.terminal)
    states, units, rewards, following, terminal = (np.asarray(x[:number]) for x in found)
    states, following = (agent._scaling.inverse(x.astype(float)) for x in (states, following))
    if agent._raw is not None:
        states, following = (x[:number].copy() for x in agent._raw[:2])
    return states, units.astype(float), rewards.astype(float), following, terminal


def trajectories_of(agent: EMUQ) -> list[np.ndarray]:
    """The states that were visited, an array for each episode."""
    if isinstance(agent._runtime, ExactRuntime):
        states = agent._runtime.visited()
    else:
        states = np.asarray(agent.whole_state().data.states[: agent.num_transitions], dtype=float)
    ends = np.cumsum([episode.length for episode in agent.history])
    return [agent._scaling.inverse(part) for part in np.split(states, ends) if len(part)]
