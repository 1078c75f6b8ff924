"""Beyond the paper: SinglePendulum from hanging, where chance seldom gets far; the rest as in table 3."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from emuq.experiments import goals, statistics, table3_view
from emuq.experiments.base import Claim, Experiment, Row, paired, select
from emuq.experiments.table3 import AGENTS, EPISODES, HORIZON
from emuq.run.spec import RunSpec

NAME, RUNS = "hanging", 20
METHODS = {agent: AGENTS[agent] for agent in ("emuq", "emuq-paper", "random")}


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    settings = {"episodes": EPISODES, "horizon": HORIZON, "reward": "goal", "start": "hanging"}
    return tuple(
        RunSpec.of(NAME, agent, "SinglePendulum", seed, **settings) for agent in METHODS for seed in seeds
    )


def claims(rows: Sequence[Row]) -> list[Claim]:
    found = []
    for agent in ("emuq", "emuq-paper"):
        if pairs := paired(select(rows, agent=agent), select(rows, agent="random")):
            saved = statistics.mean([float(b.result["steps"] - a.result["steps"]) for a, b in pairs])
            text = f"{METHODS[agent]} finds the goal from hanging in fewer steps than a random policy"
            found.append(Claim.above(NAME, text, "steps saved", saved))
    return found


NOTES = "Not in the paper, whose pendulum starts at random: from there chance needs two episodes."
EXPERIMENTS = (
    Experiment(NAME, "SinglePendulum from hanging", RUNS, specs, goals.execute, claims, group=goals.group,
               in_batches=goals.in_batches, tables=partial(table3_view.tables, agents=METHODS),
               figure=partial(table3_view.figure, agents=METHODS), notes=NOTES, beyond=True),
)  # fmt: skip
