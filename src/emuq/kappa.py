"""Who sets kappa, and when: Q + kappa U, with kappa a function of what has happened (Section 4).

A controller is a frozen value with pure methods over a small state, so that one implementation serves
Gymnasium loops, compiled loops and vmapped seeds, and its state is saved with the agent's.
`kappa = 1` is the natural scale everywhere: exploration rewards lie in [-1, 0] for every agent here.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp


class Outcome(NamedTuple):
    """What a controller learns when a learning episode ends."""

    total_return: jax.Array | float
    goal: jax.Array | bool
    test_returns: jax.Array | None = None  # kappa = 0 test episodes, for controllers that ask for them


@runtime_checkable
class Controller(Protocol):
    """`value(state)` is kappa for the next episode; `update` is called once after each episode."""

    @property
    def test_episodes(self) -> int:
        """How many kappa = 0 test episodes (not learned from) to run after each learning episode."""
        ...

    def init(self) -> Any: ...
    def value(self, state: Any) -> jax.Array: ...
    def update(self, state: Any, outcome: Outcome) -> Any: ...
