"""What an agent knows, over two numbers of its state: U, Q and the variance of Q, and how much is unknown.

    uncertainty left = mean over the box of states of  alpha phi(s, a)' S phi(s, a),    a the middle action,

1 before anything was seen (S = I / alpha, |phi| = 1), 0 where every state is known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from emuq.agents.base import Agent
from emuq.agents.emuq.agent import EMUQ
from emuq.errors import InputError, quoted
from emuq.plot import middle_action, states_over

RESOLUTION = 32  # cells along a side; 40 take a third longer to compute and look no better
PROBES = 256  # states that the uncertainty is a mean over


class Map(NamedTuple):
    """`panels` are (rows, columns); `low` and `high` are the bounds of the two dimensions."""

    dims: tuple[int, int]
    low: np.ndarray
    high: np.ndarray
    panels: dict[str, np.ndarray]
    lowest: float  # U from here to 0: one scale of colours for all times, on which U drains


class Maps:
    """Looks along `dims`, which may be chosen. Only EMU-Q on states that are a vector has a map."""

    def __init__(self, agent: Agent) -> None:
        self.dims = (0, 1)
        shape = agent.observation_space.shape if isinstance(agent.observation_space, gym.spaces.Box) else None
        flat = isinstance(agent, EMUQ) and shape == agent.bounds[0].shape  # as the agent sees it
        self.size = shape[0] if flat and shape else 0
        self._probes = np.random.default_rng(0).random((PROBES, self.size))  # of the box, as it is then

    def choose(self, dims: Any) -> None:
        """Other dimensions to look along."""
        whole = isinstance(dims, list | tuple) and len(dims) == 2 and all(type(d) is int for d in dims)
        if not whole or dims[0] == dims[1] or not all(0 <= d < self.size for d in dims):
            expected = f"two different numbers from 0 to {self.size - 1}" if self.size > 1 else "none"
            raise InputError(f"dims is {quoted(dims)}: expected {expected}")
        self.dims = (dims[0], dims[1])

    def look(self, agent: Agent) -> tuple[Map | None, float | None]:
        """The map, and the uncertainty left. One call of `values` for both."""
        if not isinstance(agent, EMUQ) or not self.size:
            return None, None
        lowest, highest = agent.bounds  # where the space has none they are learned, and change
        if not np.isfinite(highest - lowest).all():
            return None, None
        states, cells = lowest + self._probes * (highest - lowest), 0
        if self.size > 1:
            _, _, grid = states_over(agent, self.dims, RESOLUTION)
            states, cells = np.concatenate([grid, states]), len(grid)
        q, u, variance = agent.values(states, middle_action(agent))
        left = float(np.mean(variance[cells:]) * agent.settings.prior_precision)
        if not cells:
            return None, left
        low, high = (bound[list(self.dims)] for bound in agent.bounds)
        found = {"u": u, "q": q, "variance": variance}
        panels = {name: values[:cells].reshape(RESOLUTION, RESOLUTION) for name, values in found.items()}
        return Map(self.dims, low, high, panels, -agent.exploration_range), left
