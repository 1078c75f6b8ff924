"""Episodes beside one another: what EMU-Q has to do where copies of an environment step together.

Returns are seen along an episode's transitions, so that a transition counts as an episode's last while its
episode is under way (`Runtime.apart`), and nothing is made of the one that is stored after it. Once the
episode has ended its transitions lie together. After a terminal state U goes on where that episode began,
not where the latest one did: `begin` is called again before its last step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from emuq.agents.emuq import ranges
from emuq.history import Episode
from emuq.precision import double

if TYPE_CHECKING:
    from emuq.agents.emuq.agent import EMUQ


class EpisodesBeside:
    """`vector.Beside` of an EMU-Q agent."""

    def __init__(self, agent: EMUQ) -> None:
        self._agent = agent

    def open(self) -> None:
        self._agent._runtime.apart = True

    def close(self) -> None:
        runtime = self._agent._runtime
        if runtime.apart:
            with double():
                runtime.whole_state()  # what waits is stored apart
        runtime.apart = False

    def begin(self, observation: Any) -> Any:
        """U goes on from here; the features stay as they are."""
        agent = self._agent
        observed = agent._checked(agent._flat(observation))
        if agent._raw is not None:
            agent._raw = agent._raw._replace(start=ranges.bounded(observed))
        with double():
            index = agent._runtime.begin(observed, agent.kappa)
        return agent._action(index)

    def gather(self, first: int, order: list[int], length: int) -> None:
        agent = self._agent
        places = first + np.array(order, int)
        with double():
            agent._runtime.gather(first, places, length)
        if agent._raw is not None:
            for rows in agent._raw[:2]:
                rows[first : first + len(places)] = rows[places]

    def finish(self, episode: Episode) -> None:
        self._agent._finish(episode)
