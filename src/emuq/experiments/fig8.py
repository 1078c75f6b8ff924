"""Figure 8: a damaged Jaco arm learns to reach again; episodes solved over time, EMU-Q against RFF-Q."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from emuq.experiments import plots, statistics
from emuq.experiments.base import Claim, Experiment, Result, Row, Table, paired, select
from emuq.experiments.presets import TABLE2
from emuq.run.spec import LONG_REVISIONS, RunSpec

NAME, RUNS, EPISODES, HORIZON = "fig8", 10, 200, 50
FEATURES = TABLE2["Jaco"]["features"]
AGENTS = {
    "emuq": "EMU-Q, default",
    "emuq-paper": "EMU-Q, paper's parameters",
    "rffq": "RFF-Q",
    "random": "random policy",
}
OURS = ("emuq", "emuq-paper")
LAST = 50
CHECKPOINTS = tuple(np.linspace(40, EPISODES, 10).round().astype(int).tolist())
WINDOW = 10  # episodes over which the curve is averaged


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    return tuple(
        RunSpec.of(
            NAME, agent, "Jaco", seed, revision=LONG_REVISIONS.get(agent),
            episodes=EPISODES, horizon=HORIZON, **_settings(agent),
        )
        for agent in AGENTS
        for seed in seeds
    )  # fmt: skip


def _settings(agent: str) -> dict:
    """All have the paper's number of features; the paper's kappa of 0.1 is 1 / V_max, which is 1 here."""
    if agent == "random":
        return {}
    return {"features": FEATURES, **({"kappa": 1.0} if agent == "emuq-paper" else {})}


def execute(specs: Sequence[RunSpec]) -> list[Result]:
    return [_run(spec) for spec in specs]


def _run(spec: RunSpec) -> Result:
    """One run: the seed draws the target too, so that all methods meet the same one."""
    import gymnasium as gym

    from emuq.experiments.presets import make_agent

    env = gym.make("emuq/Jaco-v0", target_seed=spec.seed, max_episode_steps=spec["horizon"])
    options = {name: spec[name] for name in ("features", "kappa") if spec.get(name) is not None}
    agent: Any = make_agent(spec.agent, env, seed=spec.seed, **options)
    history = agent.learn(episodes=spec["episodes"], progress=False)
    env.close()
    first = history.first_goal
    return {
        "goals": [int(episode.goal) for episode in history],
        "lengths": [episode.length for episode in history],
        "goal_episode": first,
        "goal_steps": None if first is None else history[first - 1].steps,
    }


def _solved(row: Row, until: int) -> int:
    """Episodes solved among the first `until`."""
    return sum(row.result["goals"][:until])


def _late(row: Row) -> float:
    """The share of the last 50 episodes that were solved."""
    return float(np.mean(row.result["goals"][-LAST:]))


def claims(rows: Sequence[Row]) -> list[Claim]:
    found = []
    for agent in OURS:
        cell = select(rows, agent=agent)
        for rival, why in (("rffq", ", as in the paper"), ("random", "")):
            pairs = paired(cell, select(rows, agent=rival))
            if not pairs:
                continue
            gain = statistics.mean([_solved(a, EPISODES) - _solved(b, EPISODES) for a, b in pairs])
            text = f"{AGENTS[agent]} solves more episodes than {AGENTS[rival]}{why}"
            found.append(Claim.above(NAME, text, f"episodes more, of {EPISODES}", gain))
        if pairs := paired(cell, select(rows, agent="rffq")):
            ahead = [np.mean([_solved(a, c) - _solved(b, c) for a, b in pairs]) for c in CHECKPOINTS]
            worst = CHECKPOINTS[int(np.argmin(ahead))]
            gain = statistics.mean([_solved(a, worst) - _solved(b, worst) for a, b in pairs])
            text = f"{AGENTS[agent]} is ahead of RFF-Q at each of ten checkpoints from 40 episodes on"
            found.append(Claim.above(NAME, text, f"episodes more by episode {worst}, the narrowest", gain))
        if cell:
            late = statistics.mean([_late(row) for row in cell])
            text = (
                f"{AGENTS[agent]} completes the task consistently: at least 80% of the last {LAST} episodes"
            )
            found.append(Claim.above(NAME, text, "share solved", late, threshold=0.8))
    return found


def tables(rows: Sequence[Row]) -> list[Table]:
    body = []
    for agent, name in AGENTS.items():
        if cell := select(rows, agent=agent):
            first = [row.result["goal_episode"] for row in cell]
            found = [episode for episode in first if episode]
            good = sum(_late(row) >= 0.8 for row in cell)
            body.append(
                (
                    name,
                    f"{len(found)}/{len(cell)}",
                    f"{np.median(found):.0f}" if found else "-",
                    f"{np.mean([_solved(row, EPISODES) for row in cell]):.1f}",
                    f"{np.mean([_late(row) for row in cell]):.0%}",
                    f"{good}/{len(cell)}",
                )
            )
    header = ("agent", "runs with a goal", "first in episode (median)", f"solved of {EPISODES} (mean)",
              f"of the last {LAST}", f"runs with 80% of the last {LAST}")  # fmt: skip
    return [
        Table(f"Jaco with four joints locked, {EPISODES} episodes of at most 50 steps", header, tuple(body))
    ]


def figure(rows: Sequence[Row]):
    """Episodes solved so far, and the share solved in a moving window."""
    drawing, (total, share) = plots.panels(2)
    x = np.arange(1, EPISODES + 1)
    for i, (agent, name) in enumerate(AGENTS.items()):
        if cell := select(rows, agent=agent):
            goals = np.array([row.result["goals"] for row in cell], float)
            solved = np.cumsum(goals, axis=1)
            plots.curve(total, x, solved, name, i)
            before = np.pad(solved, ((0, 0), (WINDOW, 0)))[:, :EPISODES]
            plots.curve(share, x, (solved - before) / np.minimum(x, WINDOW), name, i)
    total.set(title="episodes solved so far", xlabel="episode")
    share.set(title=f"share solved, last {WINDOW} episodes", xlabel="episode", ylim=(-0.02, 1.02))
    total.legend(fontsize=8)
    return drawing


NOTES = (
    "dm_control's Jaco arm and hand on MuJoCo. Elbow and wrist are locked; base and shoulder move by torque, "
    "30 substeps of 5 ms a step. Each run has its own target, drawn by forward kinematics at least 0.4 m "
    "from the start, the same for all methods; it is reached within 0.15 m. The paper gives none of these. "
    "Rewards are goal-only for all methods, and all have 600 features; kappa = 0.1 in the paper is 1 here, "
    "since exploration rewards are divided by V_max = 1 / alpha = 10."
)
EXPERIMENTS = (
    Experiment(NAME, "A damaged Jaco arm: episodes solved over time", RUNS, specs, execute, claims,
               tables=tables, figure=figure, notes=NOTES),
)  # fmt: skip
