"""Beyond the paper: the field, side by side. What has each agent learned after so many environment steps?

At each mark (a number of environment steps) the policy of kappa = 0 plays 10 test episodes on starts of their
own, in a second environment, while the learning episode waits: tests change nothing in what is learned.
Results: `returns` (the tests' mean at each mark), `seconds` (of learning, without tests), and
`threshold_steps` (the first mark at which the mean is at the task's threshold) or, where rewards are
goal-only, `goal_episode` and `goal_steps` (None: never).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

from emuq.experiments import field_sb3, field_view, statistics
from emuq.experiments.base import Claim, Experiment, Result, Row, paired, select
from emuq.experiments.field_tasks import AGENTS, NAME, OURS, TASKS, make, spec_of, threshold_steps
from emuq.run.spec import RunSpec

RUNS = 20


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    return tuple(spec_of(agent, task, seed) for task in TASKS for agent in OURS for seed in seeds)


def execute(specs: Sequence[RunSpec]) -> list[Result]:
    return [_run(spec) for spec in specs]


def _run(spec: RunSpec) -> Result:
    return run_in(make(spec), make(spec), spec)


def run_in(env: Any, apart: Any, spec: RunSpec) -> Result:
    """One run, which learns in `env` and is tested in `apart`; both are closed."""
    from emuq.agents.registry import make_agent
    from emuq.errors import LearningWarning

    options = {} if spec.get("bounds") is None else {"observation_bounds": spec["bounds"]}
    agent = make_agent(spec.agent, env, seed=spec.seed, **options, **dict(spec.get("options", ())))
    returns: list[float] = []
    testing = 0.0

    def watch(event) -> None:
        nonlocal testing
        if event.kind == "step" and agent.num_transitions in spec["marks"]:
            began = time.perf_counter()
            tests = agent.evaluate(spec["tests"], env=apart)
            returns.append(sum(episode.total_return for episode in tests) / len(tests))
            testing += time.perf_counter() - began

    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LearningWarning)  # these rewards are what the tasks are known for
        history = agent.learn(steps=spec["steps"], callback=watch, progress=False)
    seconds = round(time.perf_counter() - began - testing, 3)
    env.close()
    apart.close()
    result: Result = {"returns": returns, "seconds": seconds}
    if spec.get("threshold") is not None:
        return result | {"threshold_steps": threshold_steps(spec, returns)}
    first = history.first_goal
    return result | {"goal_episode": first, "goal_steps": None if first is None else history[first - 1].steps}


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Ours: EMU-Q against each of the others, on the same seeds."""
    every = [*rows, *field_sb3.rows()]
    found = []
    for task in TASKS:
        cell = select(every, agent="emuq", domain=task)
        for rival in AGENTS:
            pairs = paired(cell, select(every, agent=rival, domain=task)) if rival != "emuq" else []
            if pairs:
                found.append(_against(rival, task, pairs))
    return found


def _against(rival: str, task: str, pairs: Sequence[tuple[Row, Row]]) -> Claim:
    ours, steps = AGENTS["emuq"], TASKS[task].steps
    theirs = "a random policy" if rival == "random" else AGENTS[rival]
    if TASKS[task].threshold is None:
        saved = statistics.mean([_capped(b) - _capped(a) for a, b in pairs])
        text = f"{ours} finds the goal of {task} in fewer steps than {theirs}"
        return Claim.above(NAME, text, f"steps saved, of {steps:,}", saved)
    gain = statistics.mean([a.result["returns"][-1] - b.result["returns"][-1] for a, b in pairs])
    text = f"{ours} has a higher return on {task} than {theirs}"
    return Claim.above(NAME, text, f"difference in tests after {steps:,} steps", gain)


def _capped(row: Row) -> int:
    """Steps to the first goal; a run without one counts as all of its steps."""
    return row.result["goal_steps"] or row.spec["steps"]


NOTES = (
    "Not in the paper. Gymnasium's tasks are unmodified, with their own rewards. Every agent has its "
    "defaults, and nothing is set for a task but bounds of the observations of CartPole-v1, whose space has "
    "none. Tests are 10 episodes at kappa = 0, on starts that learning never sees and that are the same for "
    "every agent of a seed. In the figure lines are means over seeds with their 95% interval, and a dotted "
    "line is the threshold."
)
EXPERIMENTS = (
    Experiment(NAME, "The field, side by side: returns over environment steps", RUNS, specs, execute, claims,
               tables=field_view.tables, figure=field_view.figure, notes=NOTES, beyond=True),
)  # fmt: skip
