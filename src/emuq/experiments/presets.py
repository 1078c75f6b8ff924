"""Settings that belong to one of our domains, not to an agent: agents know no domain, and are given them.

agent = make_agent("emuq-paper", gym.make("emuq/MountainCar-v0"), seed=0)    # with table 2's settings
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import gymnasium as gym

    from emuq.agents.base import Agent

_FIELDS = ("features", "state_lengthscale", "action_lengthscale", "prior_precision")

# Table 2 of the paper: M, l_S, l_A (for states and actions scaled to [0, 1]), alpha.
_TABLE2: dict[str, tuple[int, float, float, float]] = {
    "SinglePendulum": (300, 0.3, 0.3, 0.001),
    "MountainCar": (300, 0.3, 10.0, 0.1),
    "DoublePendulum": (500, 0.3, 0.3, 0.01),
    "CartpoleSwingUp": (500, 0.8, 1.0, 0.01),
    "LunarLander": (500, 0.5, 0.3, 0.01),
    "Reacher": (500, 0.3, 0.3, 0.001),
    "Hopper": (500, 0.3, 0.3, 0.01),
    "Jaco": (600, 0.3, 0.3, 0.1),
}
TABLE2: dict[str, dict[str, Any]] = {
    domain: dict(zip(_FIELDS, row, strict=True)) for domain, row in _TABLE2.items()
}

# DORA's actions along each dimension, where the paper's authors did not take 3.
_DORA = {
    "SinglePendulum": {"actions_per_dimension": 5},
    "CartpoleSwingUp": {"actions_per_dimension": 2},
}
PRESETS: dict[str, dict[str, dict[str, Any]]] = {"emuq-paper": TABLE2, "dora": _DORA, "dora-lll": _DORA}


def options_for(agent: str, env: gym.Env) -> dict[str, Any]:
    """What the agent of this name is given in this environment; nothing where it is no domain of ours."""
    spec = env.spec
    if spec is None or spec.namespace != "emuq":
        return {}
    return PRESETS.get(agent, {}).get(spec.name, {})


def make_agent(name: str, env: gym.Env, *, seed: int, **options: Any) -> Agent:
    """A new agent with its settings for this environment; `options` replace them."""
    from emuq.agents import registry

    return registry.make_agent(name, env, seed=seed, **(options_for(name, env) | options))
