"""Runs that end at the first goal: what table3, fig6b and fig6c share.

A spec's settings: `episodes` (the cap), `horizon` (steps an episode), `reward`, `start`, `length` and
`sparsity` for domains that have them, `options` (pairs of name and value) for the agent. Results:
`goal_episode` and `goal_steps` (None: no goal), `steps` in all.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from emuq.experiments.base import Result
from emuq.run.spec import RunSpec

# Agents whose runs on a pure-JAX domain compile whole: all seeds go as one program.
LOCKSTEP = (
    "rffq", "random", "epsilon-greedy", "epsilon-greedy-first", "dora", "dora-lll", "rnd", "rnd-bonus",
)  # fmt: skip
# Where EMU-Q's default runs compile whole, too, and many of them are faster as batches.
BATCHED = ("SinglePendulum", "MountainCar", "DoublePendulum", "CartpoleSwingUp")
_DOMAIN_OPTIONS = ("reward", "start", "length", "sparsity")


def group(spec: RunSpec) -> Hashable:
    """All seeds of a condition together where they compile whole, else one by one."""
    return replace(spec, seed=0).key if _compiles(spec) else spec.key


def in_batches(spec: RunSpec) -> bool:
    """Runs of EMU-Q's default that `emuq.batch` makes; it makes none that plan at the ends of episodes."""
    plans = dict(spec.get("options", ())).get("plan_interval", 0) is not None
    return spec.agent == "emuq" and spec.domain in BATCHED and plans


def execute(specs: Sequence[RunSpec]) -> list[Result]:
    """First goals of a group."""
    alone = not _compiles(specs[0]) or (len(specs) == 1 and in_batches(specs[0]))
    return [_alone(spec) for spec in specs] if alone else _together(specs)


def _compiles(spec: RunSpec) -> bool:
    from emuq.domains import PURE

    return (spec.agent in LOCKSTEP and spec.domain in PURE) or in_batches(spec)


def _alone(spec: RunSpec) -> Result:
    """One run through the Gymnasium loop."""
    import gymnasium as gym

    from emuq.experiments.presets import make_agent

    options = _domain_options(spec)
    env = gym.make(f"emuq/{spec.domain}-v0", max_episode_steps=spec["horizon"], **options)
    agent = make_agent(spec.agent, env, seed=spec.seed, **dict(spec.get("options", ())))
    history = agent.learn(episodes=spec["episodes"], until="goal", progress=False)
    env.close()
    found, steps = history.first_goal, sum(episode.length for episode in history)
    return {"goal_episode": found, "goal_steps": None if found is None else steps, "steps": steps}


def _together(specs: Sequence[RunSpec]) -> list[Result]:
    """Seeds of a condition as one compiled program."""
    from emuq import batch
    from emuq.run import lockstep

    spec, seeds = specs[0], [spec.seed for spec in specs]
    domain = domain_of(spec)
    if spec.agent == "random":
        curves = lockstep.learn_random(domain, seeds, spec["episodes"], until_goal=True)
    elif spec.agent == "emuq":
        options = dict(spec.get("options", ()))
        curves = batch.run(domain, seeds, episodes=spec["episodes"], until="goal", **options)
    elif spec.agent in ("dora", "dora-lll", "rnd", "rnd-bonus"):
        curves = _baseline(spec, domain, seeds)
    else:
        curves = lockstep.learn_rffq(domain, rffq_options(spec), seeds, spec["episodes"], until_goal=True)
    return [_summary(lengths, goals) for lengths, goals in zip(curves.lengths, curves.goals, strict=True)]


def _baseline(spec: RunSpec, domain: Any, seeds: Sequence[int]) -> Any:
    """DORA and RND with the options and actions that their agents have on this domain."""
    import gymnasium as gym

    from emuq.experiments.presets import make_agent
    from emuq.run import lockstep

    agent: Any = make_agent(spec.agent, gym.make(f"emuq/{spec.domain}-v0"), seed=0)
    if spec.agent.startswith("rnd"):
        return lockstep.learn_rnd(domain, agent.settings, seeds, spec["episodes"], until_goal=True)
    return lockstep.learn_dora(
        domain, agent.settings, agent.actions, seeds, spec["episodes"], until_goal=True
    )


def _summary(lengths: Any, goals: Any) -> Result:
    """Runs that found their goal go on until all have: what came after does not count."""
    if not goals.any():
        return {"goal_episode": None, "goal_steps": None, "steps": int(lengths.sum())}
    first = int(goals.argmax())
    steps = int(lengths[: first + 1].sum())
    return {"goal_episode": first + 1, "goal_steps": steps, "steps": steps}


def rffq_options(spec: RunSpec) -> Any:
    """RFF-Q's options in a spec."""
    from emuq.agents.rffq import Options

    given = {name: spec[name] for name in Options._fields if spec.get(name) is not None}
    return Options(**given)


def domain_of(spec: RunSpec) -> Any:
    """The pure-JAX domain of a spec."""
    from emuq import domains

    options = _domain_options(spec)
    cost = options.get("reward") == "cost"
    if cost:
        options["reward"] = "goal"
    domain = domains.make(spec.domain, horizon=spec["horizon"], **options)
    return _costly(domain) if cost else domain


def _domain_options(spec: RunSpec) -> dict[str, Any]:
    return {name: spec[name] for name in _DOMAIN_OPTIONS if spec.get(name) is not None}


@lru_cache(maxsize=16)
def _costly(domain: Any) -> Any:
    """The domain with a cost of 1 a step until the goal: MountainCar-v0's classic reward."""
    import jax.numpy as jnp

    def step(state, action, key):
        result = domain.step(state, action, key)
        return result._replace(reward=jnp.where(result.goal, 0.0, -1.0))

    return replace(domain, step=step, family=None, numbers=())
