"""Beyond the paper: ten environments that the project does not contain, with nothing set but the seed.

An agent is made with the environment and the seed alone, and learns for so many steps. Then the policy of
kappa = 0 plays the task's tests. Results: `solved` (the tests' mean return is at the task's threshold, or 9
of 10 reach the goal), `returns` (the mean), `goals` (tests with a goal), `goal_steps` (of learning; None: no
goal), `seconds`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence

import numpy as np

from emuq.experiments import statistics
from emuq.experiments.base import Claim, Experiment, Result, Row, Table, paired, select
from emuq.experiments.foreign_tasks import TASKS, make
from emuq.run.spec import LONG_REVISIONS, RunSpec

NAME, RUNS, ENOUGH = "foreign", 20, 9
AGENTS = {"emuq": "EMU-Q, default", "random": "random policy"}


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    return tuple(
        RunSpec.of(
            NAME, agent, name, seed, revision=LONG_REVISIONS.get(agent), steps=task.steps, tests=task.tests,
            threshold=task.threshold,
        )
        for name, task in TASKS.items()
        for agent in AGENTS
        for seed in seeds
    )  # fmt: skip


def execute(specs: Sequence[RunSpec]) -> list[Result]:
    return [_run(spec) for spec in specs]


def _run(spec: RunSpec) -> Result:
    from emuq.agents.registry import make_agent
    from emuq.errors import LearningWarning

    env = make(spec.domain)
    agent = make_agent(spec.agent, env, seed=spec.seed)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LearningWarning)  # nothing is to be set, whatever it says
        history = agent.learn(steps=spec["steps"], progress=False)
        seconds = round(time.perf_counter() - began, 3)
        tests = agent.evaluate(spec["tests"])
    env.close()
    mean = sum(episode.total_return for episode in tests) / len(tests)
    goals, first = sum(episode.goal for episode in tests), history.first_goal
    threshold = spec["threshold"]
    return {
        "solved": goals >= ENOUGH if threshold is None else mean >= threshold,
        "returns": mean,
        "goals": goals,
        "goal_steps": None if first is None else history[first - 1].steps,
        "seconds": seconds,
    }


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Ours: EMU-Q solves more than chance does, on the same seeds."""
    found = []
    for name in TASKS:
        pairs = paired(select(rows, agent="emuq", domain=name), select(rows, agent="random", domain=name))
        if pairs:
            gain = statistics.mean([float(a.result["solved"]) - b.result["solved"] for a, b in pairs])
            text = f"EMU-Q with nothing set solves {name} more often than a random policy"
            found.append(Claim.above(NAME, text, "difference in the share of runs", gain))
    return found


def tables(rows: Sequence[Row]) -> list[Table]:
    whose = (f"{who}: {what}" for who in AGENTS.values() for what in ("goal found", "solved", "return"))
    header = ("environment", "steps", "solved means", *whose)
    lines = []
    for name, task in TASKS.items():
        at = f"{ENOUGH} of" if task.threshold is None else f"a mean of {task.threshold:g} in"
        goal = f"{at} {task.tests} tests" + " at the goal" * (task.threshold is None)
        cells = [cell for agent in AGENTS for cell in _cells(select(rows, agent=agent, domain=name))]
        if any(cells):
            lines.append((name, f"{task.steps:,}", goal, *cells))
    note = (
        "A goal is found while the agent learns: in so many runs, after so many steps in their median. "
        "Tests are at kappa = 0, and returns are their means, over runs. Every agent has its defaults."
    )
    return (
        [Table("Environments that the project does not contain", header, tuple(lines), note)] if lines else []
    )


def _cells(rows: Sequence[Row]) -> tuple[str, str, str]:
    """Goals found while learning, runs whose tests are solved, and the tests' return."""
    if not rows:
        return "", "", ""
    found = [row.result["goal_steps"] for row in rows if row.result["goal_steps"] is not None]
    when = f", {np.median(found):,.0f} steps" if found else ""
    solved = sum(row.result["solved"] for row in rows)
    mean = sum(row.result["returns"] for row in rows) / len(rows)
    return f"{len(found)}/{len(rows)}{when}", f"{solved}/{len(rows)}", f"{mean:.3g}"


NOTES = (
    "Not in the paper. Nothing is given but the environment and the seed. Tasks with a threshold, which is "
    "Gymnasium's own, pay as they always do; FrozenLake8x8 does not slip. The others are goal-only: a "
    "maze's end, a speed that a random policy does not reach in ten episodes, the acrobot's tip up or the "
    "ball caught ends the episode with the only reward there is. A maze has a fixed start and a fixed goal, "
    "one at either end, and the goal is left out of what is observed."
)
EXPERIMENTS = (
    Experiment(NAME, "Environments that the project does not contain", RUNS, specs, execute, claims,
               tables=tables, notes=NOTES, beyond=True),
)  # fmt: skip
