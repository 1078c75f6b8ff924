"""Table 3: episodes to the first goal in seven domains of continuous control."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from emuq.experiments import goals, statistics, table3_view
from emuq.experiments.base import Claim, Experiment, Row, paired, select
from emuq.experiments.paper import TABLE3
from emuq.experiments.presets import TABLE2
from emuq.run.spec import RunSpec

NAME, RUNS, EPISODES, HORIZON = "table3", 20, 100, 500

DOMAINS = tuple(domain for agent, domain in TABLE3 if agent == "emuq")
# Table 2's features, also for RFF-Q, which the paper runs on the same ones as EMU-Q.
FEATURES = ("features", "state_lengthscale", "action_lengthscale")
# Agents in the order of the table, and how they are called in it. RFF-Q alone learns from classic rewards.
AGENTS = {
    "emuq": "EMU-Q, default",
    "emuq-paper": "EMU-Q, paper's preset",
    "random": "random policy",
    "rffq": "RFF-Q, classic reward",
    "vime": "VIME",
    "dora": "DORA, bonus",
    "dora-lll": "DORA, LLL",
    "rnd": "RND, values",
    "rnd-bonus": "RND, bonus",
}
BASELINES = ("vime", "dora", "dora-lll", "rnd", "rnd-bonus")  # run when asked for: --agents vime dora rnd
RIVALS = ("vime", "dora")  # the paper's other goal-only methods


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    return tuple(
        RunSpec.of(NAME, agent, domain, seed, episodes=EPISODES, horizon=HORIZON, **_settings(agent, domain))
        for domain in DOMAINS
        for agent in AGENTS
        for seed in seeds
    )


def _settings(agent: str, domain: str) -> dict:
    if agent != "rffq":
        return {"reward": "goal"}
    # MountainCarContinuous's own reward tells nothing before the goal; MountainCar's costs 1 a step.
    reward = "cost" if domain == "MountainCar" else "classic"
    return {"reward": reward, **{name: TABLE2[domain][name] for name in FEATURES}}


def _found(row: Row) -> bool:
    return row.result["goal_episode"] is not None


def _capped(row: Row) -> int:
    """Episodes to the first goal; a run without one counts as the cap."""
    return row.result["goal_episode"] or EPISODES


def claims(rows: Sequence[Row]) -> list[Claim]:
    ours = [agent for agent in ("emuq", "emuq-paper") if select(rows, agent=agent)]
    found = []
    for agent in ours:
        cells = {domain: select(rows, agent=agent, domain=domain) for domain in DOMAINS}
        found += _against_rivals(rows, agent, cells)
        found += _against_random(rows, agent, cells)
        if all(cells.values()):
            found += [_success(agent, list(cells.values())), *_against_classic(rows, agent, cells)]
    return found


def _against_rivals(rows: Sequence[Row], agent: str, cells: dict[str, list[Row]]) -> list[Claim]:
    """The paper's: the highest success rate of the goal-only methods, in every domain."""
    found = []
    for domain, cell in cells.items():
        for rival in RIVALS:
            if pairs := paired(cell, select(rows, agent=rival, domain=domain)):
                gain = statistics.mean([float(_found(a)) - _found(b) for a, b in pairs])
                text = f"{AGENTS[agent]} succeeds at least as often as {AGENTS[rival]} on {domain}"
                found.append(Claim.above(NAME, text, "difference in success rate", gain))
    return found


def _against_random(rows: Sequence[Row], agent: str, cells: dict[str, list[Row]]) -> list[Claim]:
    """Ours: a goal that chance finds as soon is no test of exploration."""
    found = []
    for domain, cell in cells.items():
        if pairs := paired(cell, select(rows, agent="random", domain=domain)):
            saved = statistics.mean([_capped(b) - _capped(a) for a, b in pairs])
            text = f"{AGENTS[agent]} finds the goal of {domain} in fewer episodes than a random policy"
            found.append(Claim.above(NAME, text, f"episodes saved, of {EPISODES}", saved))
    return found


def _success(agent: str, cells: list[list[Row]]) -> Claim:
    paper = float(np.mean([TABLE3["emuq", domain]["success"] or 0.0 for domain in DOMAINS]))
    hits = [np.array([_found(row) for row in cell], float) for cell in cells]
    rate = statistics.bootstrap_runs(
        lambda i: float(np.mean([hit[i].mean() for hit in hits])), min(len(hit) for hit in hits)
    )
    text = f"{AGENTS[agent]} finds the goal in at least {paper:.0%} of runs over all domains, as in the paper"
    return Claim.above(NAME, text, "success rate over domains", rate, threshold=paper)


def _against_classic(rows: Sequence[Row], agent: str, cells: dict[str, list[Row]]) -> list[Claim]:
    """The paper's: goal-only rewards without sacrificing performance."""
    rffq = {domain: select(rows, agent="rffq", domain=domain) for domain in cells}
    pairs = [pair for domain, cell in cells.items() for pair in paired(cell, rffq[domain])]
    if not pairs:
        return []
    saved = statistics.mean([_capped(b) - _capped(a) for a, b in pairs])
    saved = saved._replace(runs=len({ours.spec.seed for ours, _ in pairs}))  # of each method on a domain
    text = f"{AGENTS[agent]} with goal-only rewards needs no more episodes than RFF-Q with classic ones"
    return [Claim.above(NAME, text, f"episodes saved, of {EPISODES}, over domains", saved)]


NOTES = (
    "Episodes have at most 500 steps. EMU-Q's default is one setting for every domain; the paper's preset "
    "is Algorithm 2 with the parameters of table 2. RFF-Q learns from Gymnasium's classic rewards; on "
    "MountainCar from MountainCar-v0's cost of 1 a step, since MountainCarContinuous's reward is silent "
    "before the goal. The random policy is ours: it shows how hard a domain is."
)
EXPERIMENTS = (
    Experiment(
        NAME,
        "Episodes to the first goal in seven domains",
        RUNS,
        specs,
        goals.execute,
        claims,
        group=goals.group,
        in_batches=goals.in_batches,
        on_request=BASELINES,
        tables=partial(table3_view.tables, agents=AGENTS),
        figure=partial(table3_view.figure, agents=AGENTS),
        paper=TABLE3,
        notes=NOTES,
    ),
)
