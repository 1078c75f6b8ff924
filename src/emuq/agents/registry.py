"""Agents by the names they have on the command line and in experiments, and the spaces each can serve."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import gymnasium as gym

from emuq.agents.actions import actions_of
from emuq.agents.flatten import Flat
from emuq.agents.spaces import Spaces, scaling_of
from emuq.errors import InputError

if TYPE_CHECKING:
    from emuq.agents.base import Agent


class Entry(NamedTuple):
    """Where an agent is written, the options its name stands for, and what it learns from."""

    module: str  # imported when the agent is used
    cls: str
    options: dict[str, Any]
    # Vectors of any space; numbers in a Box of one axis; states that can be counted; anything.
    kind: Literal["spaces", "vectors", "table", "any"]


AGENTS: dict[str, Entry] = {
    "emuq": Entry("emuq.agents.emuq.agent", "EMUQ", {}, "spaces"),
    "emuq-paper": Entry("emuq.agents.emuq.agent", "EMUQ", {"preset": "paper"}, "spaces"),
    "rffq": Entry("emuq.agents.rffq", "RFFQ", {}, "vectors"),
    "dora": Entry("emuq.agents.dora.agent", "DORA", {}, "vectors"),
    "dora-lll": Entry("emuq.agents.dora.agent", "DORA", {"variant": "lll"}, "vectors"),
    "vime": Entry("emuq.agents.vime.agent", "VIME", {}, "vectors"),
    "rnd": Entry("emuq.agents.rnd.agent", "RND", {}, "vectors"),
    "rnd-bonus": Entry("emuq.agents.rnd.agent", "RND", {"form": "bonus"}, "vectors"),
    "exploration-values": Entry("emuq.agents.tabular.agent", "ExplorationValues", {}, "table"),
    "additive-rewards": Entry("emuq.agents.tabular.agent", "AdditiveRewards", {}, "table"),
    "epsilon-greedy": Entry("emuq.agents.tabular.agent", "EpsilonGreedy", {}, "table"),
    "random": Entry("emuq.agents.random", "RandomAgent", {}, "any"),
}


def agent_class(name: str) -> type[Agent]:
    """The class behind a name."""
    if name not in AGENTS:
        raise InputError(f"no agent {name!r}: expected one of {', '.join(AGENTS)}")
    return getattr(importlib.import_module(AGENTS[name].module), AGENTS[name].cls)


def make_agent(name: str, env: gym.Env | Spaces, *, seed: int, **options: Any) -> Agent:
    """A new agent; `options` replace those of its name."""
    return agent_class(name)(env, seed=seed, **(AGENTS[name].options | options))  # type: ignore[call-arg]


def misfit(name: str, env: gym.Env | Spaces) -> str | None:
    """Why an agent cannot serve these spaces, or None where it can.

    Bounds are another matter: an observation without finite ones fits, once they are given.
    """
    observations, actions = env.observation_space, env.action_space
    kind = AGENTS[name].kind
    try:
        if kind == "spaces":
            Flat(observations)
            actions_of(actions)
        elif kind == "vectors":
            scaling_of(Spaces(observations, actions), (0.0, 1.0))
            if actions_of(actions).discrete and name == "vime":
                return f"action space is {actions}: expected a Box"
        elif kind == "table":
            from emuq.agents.tabular.agent import sizes_of

            sizes_of(observations)
            if not isinstance(actions, gym.spaces.Discrete):
                return f"action space is {actions}: expected Discrete"
    except InputError as error:
        return str(error)
    return None


def fitting(env: gym.Env | Spaces) -> list[str]:
    """The agents that can serve these spaces; the first of them is the one to begin with."""
    fit = [name for name in AGENTS if misfit(name, env) is None]
    # Where states can be counted, tables are made for it.
    return sorted(fit, key=lambda name: AGENTS[name].kind != "table")
