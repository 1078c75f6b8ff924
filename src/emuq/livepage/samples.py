"""What viewers see of an agent that learns: taken between two steps, by the learning thread, now and then.

Nothing is sampled more often than `Pace` allows, and next to nothing while nobody watches.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from emuq.agents.base import Agent
from emuq.agents.episodes import Event
from emuq.livepage.maps import Maps
from emuq.livepage.pace import Pace
from emuq.livepage.pictures import shrunk
from emuq.livepage.series import Series

TRACES = 8  # episodes whose trajectories are shown
LONGEST = 2000  # steps of an episode that are shown
LARGEST = 64  # numbers of an observation, of which trajectories are kept


class Audience(Protocol):
    """Whom samples are for."""

    @property
    def watching(self) -> bool: ...
    def publish(self, kind: str, sample: Any) -> None:
        """Take a sample of a kind, in place of the one before; never waits."""
        ...


class Samples:
    """Sees every step, and publishes three kinds of samples: `state`, `frame` and `map`."""

    def __init__(self, agent: Agent, audience: Audience) -> None:
        self.maps = Maps(agent)
        self.kappa, self.uncertainty = Series(), Series()
        self.no_picture = ""  # why there is none, in words
        self._agent, self._audience = agent, audience
        self._paths: deque[list[np.ndarray]] = deque(maxlen=TRACES)
        self._begins = True  # the next step is the first of an episode
        self._moved = False  # before its first reset an environment cannot be drawn
        self._state, self._frame, self._map = Pace(5, 0.03), Pace(10, 0.03), Pace(5, 0.08)
        self._unwatched = Pace(0.5, 0.01)
        self._counted, self.rate = (0.0, 0), 0.0

    def see(self, event: Event) -> None:
        """Remember a step; done at every one, so that it does next to nothing."""
        agent, transition = event.agent, event.transition
        self._moved, kappa = True, self.kappa.points
        if not kappa or kappa[-1][1] != agent.kappa:
            self.kappa.add(agent.num_transitions, agent.kappa)
        if transition is None:
            self._begins = True
        elif self.maps.size and self.maps.size <= LARGEST:
            if self._begins:
                self._paths.append([np.ravel(transition.observation)])
                self._begins = False
            if len(self._paths[-1]) < LONGEST:
                self._paths[-1].append(np.ravel(transition.next_observation))

    def went_back(self) -> None:
        """The agent is what it was earlier: what came after never happened."""
        steps = self._agent.num_transitions
        self.kappa.cut(steps)
        self.uncertainty.cut(steps)
        self._paths.clear()
        self._begins, self._counted = True, (time.perf_counter(), steps)

    def take(self, state: Callable[[], dict[str, Any]], *, now: bool = False) -> None:
        """Publish what is due, or all of it `now`."""
        clock, publish = time.perf_counter, self._audience.publish
        began = clock()
        if not self._audience.watching:
            if self._unwatched.due(began):
                self._look()
                self._unwatched.took(began, clock())
            return
        if now or self._frame.due(began):
            if (frame := self._rendered()) is not None:
                publish("frame", frame)
            self._frame.took(began, clock())
        if now or self._map.due(began := clock()):
            if (found := self._look()) is not None:
                paths = [np.asarray(path)[:, list(found.dims)] for path in self._paths]
                publish("map", (found, paths))
            self._map.took(began, clock())
        if now or self._state.due(began := clock()):
            self._count(began)
            publish("state", state())
            self._state.took(began, clock())

    def _look(self) -> Any:
        found, left = self.maps.look(self._agent)
        if left is not None:
            self.uncertainty.add(self._agent.num_transitions, left)
        return found

    def _count(self, now: float) -> None:
        """Steps a second, over a second or more."""
        then, before = self._counted
        steps = self._agent.num_transitions
        if now - then >= 1.0:
            self.rate = (steps - before) / (now - then) if then else 0.0
            self._counted = now, steps

    def _rendered(self) -> np.ndarray | None:
        """The environment's own picture. One that cannot be drawn is not tried again."""
        env = self._agent.env
        if self.no_picture or env is None or not self._moved:
            return None
        if env.render_mode != "rgb_array":
            self.no_picture = 'make the environment with render_mode="rgb_array" to see it here'
            return None
        try:
            frame: Any = env.render()
            return shrunk(np.asarray(frame))
        except Exception as error:  # an environment is somebody's own code: learning goes on without
            self.no_picture = " ".join(f"it cannot be drawn: {error}".split())
            return None
