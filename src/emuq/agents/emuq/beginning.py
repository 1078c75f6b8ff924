"""What an agent begins with: smooth features, or a table where states are known by their exact numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from emuq.agents.actions import Actions
from emuq.agents.emuq import programs, ranges
from emuq.agents.emuq.exact import LARGEST, ExactRuntime
from emuq.agents.emuq.runtime import Runtime
from emuq.agents.emuq.state import agent_key, choices_of
from emuq.agents.flatten import Flat
from emuq.agents.spaces import Scaling
from emuq.errors import InputError
from emuq.precision import double

if TYPE_CHECKING:
    from emuq.agents.emuq.agent import EMUQ

ROOM = 256  # rows of a table at first


def is_exact(given: bool | int | None, preset: str, flat: Flat, actions: Actions, space: Any) -> bool | None:
    """Whether states are known by their numbers; None: the first observation decides."""
    if given is not None:
        if given and not actions.discrete:
            raise InputError(f"exact is {given}, but actions are in {space}: expected Discrete")
        return bool(given)
    if preset != "default" or not actions.discrete:
        return False
    if np.isfinite(flat.count):
        return flat.count <= LARGEST
    unit = np.all(flat.low >= 0) and np.all(flat.high <= 1)
    return None if unit else False


def smooth_runtime(agent: EMUQ, capacity: int | None = None) -> Runtime:
    """Features of an agent that knows nothing; with this much room."""
    settings, scaling, actions = agent.settings, agent._scaling, agent._actions
    options = settings if capacity is None else replace(settings, capacity=capacity)
    choices = choices_of(actions, settings)
    with double():
        state = programs.beginning(agent_key(agent.seed), options, scaling.dim, choices)
        return Runtime(state, programs.scales(scaling, actions), choices, settings)


def become_smooth(agent: EMUQ) -> None:
    """Features that change smoothly, so that what is near counts; ranges without bounds are learned."""
    agent._runtime = smooth_runtime(agent)
    if agent._scaling.learned is not None:
        agent._raw = ranges.empty(agent._runtime.capacity, agent._scaling)


def become_exact(agent: EMUQ, room: int = ROOM) -> None:
    """Indicator features: numbers are taken as they are, and features never drawn again."""
    agent._exact, agent._raw, agent._visited = True, None, None
    agent.options["exact"] = room
    agent.settings = replace(agent.settings, refresh=None, lookahead=0)
    dim = agent._flat.dim
    agent._scaling = Scaling(np.zeros(dim), np.ones(dim))
    agent._runtime = ExactRuntime(dim, agent._actions, agent.settings, agent.seed, room)
