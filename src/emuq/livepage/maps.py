"""What an agent knows, over two numbers of its state: U, Q and the variance of Q, and how much is unknown.

    uncertainty left = mean over the box of states of  alpha phi(s, a)' S phi(s, a),    a the middle action,

1 before anything was seen (S = I / alpha, |phi| = 1), 0 where every state is known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    """Looks at one agent. `dims` may be chosen; agents other than EMU-Q have no map."""

    def __init__(self, agent: Agent) -> None:
        self.dims = (0, 1)
        self.size = len(agent.bounds[0]) if isinstance(agent, EMUQ) else 0
        self._probes = np.empty((0, self.size))
        if isinstance(agent, EMUQ):
            self._probes = np.random.default_rng(0).uniform(*agent.bounds, (PROBES, self.size))

    def choose(self, dims: Any) -> None:
        """Other dimensions to look along."""
        whole = isinstance(dims, list | tuple) and len(dims) == 2 and all(type(d) is int for d in dims)
        if not whole or dims[0] == dims[1] or not all(0 <= d < self.size for d in dims):
            expected = f"two different numbers from 0 to {self.size - 1}" if self.size > 1 else "none"
            raise InputError(f"dims is {quoted(dims)}: expected {expected}")
        self.dims = (dims[0], dims[1])

    def look(self, agent: Agent) -> tuple[Map | None, float | None]:
        """The map, and the uncertainty left. One call of `values` for both."""
        if not isinstance(agent, EMUQ):
            return None, None
        states, cells = self._probes, 0
        if self.size > 1:
            _, _, grid = states_over(agent, self.dims, RESOLUTION)
            states, cells = np.concatenate([grid, self._probes]), len(grid)
        q, u, variance = agent.values(states, middle_action(agent))
        left = float(np.mean(variance[cells:]) * agent.settings.prior_precision)
        if not cells:
            return None, left
        low, high = (bound[list(self.dims)] for bound in agent.bounds)
        found = {"u": u, "q": q, "variance": variance}
        panels = {name: values[:cells].reshape(RESOLUTION, RESOLUTION) for name, values in found.items()}
        return Map(self.dims, low, high, panels, -agent.exploration_range), left
