"""What the field is compared on: tasks, marks, thresholds and agents, as data.

Five tasks of Gymnasium's, unmodified, with their own rewards, and the seven goal-only domains of table 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from emuq.experiments.table3 import AGENTS as NAMES
from emuq.experiments.table3 import DOMAINS, HORIZON
from emuq.run.spec import LONG_REVISIONS, RunSpec

NAME, TESTS = "field", 10
MARKS = (500, 1000, 2000, 3000, 5000, 6000, 10000)  # environment steps after which a run is tested
OURS = {agent: NAMES[agent] for agent in ("emuq", "rnd", "random")}
THEIRS = {"sac": "SAC", "ppo": "PPO"}  # Stable-Baselines3's: see field_sb3
AGENTS = OURS | THEIRS
SCALING = ("emuq", "rnd")  # agents that scale observations, and need bounds for it


class Task(NamedTuple):
    """`steps` to learn from, and the return from which on it counts as solved (None: by the first goal)."""

    steps: int
    threshold: float | None = None
    bounds: tuple[tuple[float, ...], tuple[float, ...]] | None = None  # where the space has none


GYMNASIUM = {
    "MountainCarContinuous-v0": Task(5000, 90.0),
    "CartPole-v1": Task(10000, 475.0, ((-4.8, -4.0, -0.42, -4.0), (4.8, 4.0, 0.42, 4.0))),
    "Pendulum-v1": Task(6000, -200.0),
    "Acrobot-v1": Task(3000, -100.0),
    "MountainCar-v0": Task(3000, -120.0),
}
# In table 3 EMU-Q's first goal takes over a thousand steps on LunarLander, at most a few hundred elsewhere.
GOAL_ONLY = {domain: Task(5000 if domain == "LunarLander" else 3000) for domain in DOMAINS}
TASKS = GYMNASIUM | GOAL_ONLY


def spec_of(agent: str, name: str, seed: int, *, experiment: str = NAME, **other: Any) -> RunSpec:
    """One run of an agent on the task of this name; `other` fields replace the task's."""
    task = TASKS[name]
    own: dict[str, Any] = {"horizon": HORIZON} if task.threshold is None else {"threshold": task.threshold}
    if task.bounds is not None and agent in SCALING:
        own["bounds"] = task.bounds
    marks = tuple(mark for mark in MARKS if mark <= task.steps)
    own = {"steps": task.steps, "marks": marks, "tests": TESTS, **own, **other}
    return RunSpec.of(experiment, agent, name, seed, revision=LONG_REVISIONS.get(agent), **own)


def make(spec: RunSpec) -> Any:
    """A run's environment: Gymnasium's own, or a goal-only domain of ours."""
    import gymnasium as gym

    import emuq  # noqa: F401 (registers the domains)

    if spec.domain in GYMNASIUM:
        return gym.make(spec.domain)
    return gym.make(f"emuq/{spec.domain}-v0", max_episode_steps=spec["horizon"])


def threshold_steps(spec: RunSpec, returns: Sequence[float]) -> int | None:
    """The first mark at which the tests' mean return is at the threshold, or None."""
    marked = zip(spec["marks"], returns, strict=True)
    return next((mark for mark, total in marked if total >= spec["threshold"]), None)
