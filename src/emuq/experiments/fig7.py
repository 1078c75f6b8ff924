"""Figure 7: what EMU-Q explores on goal-only MountainCar, and how soon it reaches the goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from emuq.experiments import plots, statistics
from emuq.experiments.base import Claim, Experiment, Result, Row, Table, select
from emuq.run.spec import LONG_REVISIONS, RunSpec

NAME, RUNS, EPISODES, HORIZON = "fig7", 30, 10, 500
AGENTS = {"emuq-paper": "EMU-Q, paper's preset", "emuq": "EMU-Q, default"}
PICTURES = 3  # episodes after which U is looked at
GRID = 41
LOW, HIGH = (-1.2, -0.07), (0.6, 0.07)
SHOWN = 0  # the seed whose U is drawn
LAST = 3


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    return tuple(
        RunSpec.of(
            NAME, agent, "MountainCar", seed, revision=LONG_REVISIONS[agent],
            episodes=EPISODES, horizon=HORIZON,
        )
        for agent in AGENTS
        for seed in seeds
    )  # fmt: skip


def execute(specs: Sequence[RunSpec]) -> list[Result]:
    return [_run(spec) for spec in specs]


def _run(spec: RunSpec) -> Result:
    """A run with its trajectories and, after each of the first episodes, U for no force on a grid."""
    import gymnasium as gym

    from emuq.experiments.presets import make_agent

    env = gym.make("emuq/MountainCar-v0", max_episode_steps=HORIZON)
    agent: Any = make_agent(spec.agent, env, seed=spec.seed)
    grid = _grid()
    paths: list[list] = [[]]
    pictures: list[dict] = []

    def watch(event: Any) -> None:
        if event.kind == "step" and len(pictures) < PICTURES:
            paths[-1].append([round(float(x), 4) for x in event.transition.observation])
        elif event.kind == "episode" and len(pictures) < PICTURES:
            if agent.settings.plan_interval is not None:
                agent.plan()  # U as it stands after the episode, for the picture
            u = agent.values(grid, np.zeros(1))[1]
            pictures.append(
                {
                    "u": [round(float(x), 3) for x in u],
                    "contrast": _contrast(u, [point for path in paths for point in path]),
                }
            )
            paths.append([])

    history = agent.learn(episodes=EPISODES, callback=watch, progress=False)
    first = history.first_goal
    result = {
        "goal_episode": first,
        "goal_steps": None if first is None else history[first - 1].steps,
        "lengths": [episode.length for episode in history],
        "contrast": [picture["contrast"] for picture in pictures],
    }
    if spec.seed == SHOWN:
        result |= {"u": [picture["u"] for picture in pictures], "paths": paths[:PICTURES]}
    return result


def _grid() -> np.ndarray:
    position, velocity = (np.linspace(low, high, GRID) for low, high in zip(LOW, HIGH, strict=True))
    return np.stack(np.meshgrid(position, velocity), -1).reshape(-1, 2)


def _contrast(u: np.ndarray, path: list) -> float:
    """Mean U over cells never visited minus mean U over visited ones."""
    scaled = (np.array(path) - LOW) / (np.array(HIGH) - LOW) * (GRID - 1)
    column, row = np.clip(np.round(scaled).astype(int), 0, GRID - 1).T
    visited = np.zeros((GRID, GRID), bool)
    visited[row, column] = True
    field = u.reshape(GRID, GRID)
    return float(field[~visited].mean() - field[visited].mean())


def claims(rows: Sequence[Row]) -> list[Claim]:
    found = []
    for agent, name in AGENTS.items():
        cell = select(rows, agent=agent)
        if not cell:
            continue
        early = sum((row.result["goal_episode"] or EPISODES + 1) <= 3 for row in cell)
        text = f"{name} finds the goal of MountainCar within one or two episodes after the first"
        found.append(
            Claim.above(
                NAME,
                text,
                "share of runs with a goal by episode 3",
                statistics.wilson(early, len(cell)),
                0.5,
            )
        )
        contrast = statistics.mean([row.result["contrast"][-1] for row in cell])
        text = f"{name}: U is low where the agent has been and high where it has not"
        found.append(Claim.above(NAME, text, "U, unvisited minus visited cells, after 3 episodes", contrast))
        gains = [_refined(row) for row in cell]
        refined = statistics.mean([gain for gain in gains if gain is not None])
        text = f"{name} refines its policy after the goal is found"
        found.append(
            Claim.above(
                NAME, text, f"steps saved, last {LAST} episodes against the first with a goal", refined
            )
        )
    return found


def _refined(row: Row) -> float | None:
    first = row.result["goal_episode"]
    if first is None or first > EPISODES - LAST:
        return None
    return float(row.result["lengths"][first - 1] - np.mean(row.result["lengths"][-LAST:]))


def tables(rows: Sequence[Row]) -> list[Table]:
    body = []
    for agent, name in AGENTS.items():
        if cell := select(rows, agent=agent):
            first = [row.result["goal_episode"] for row in cell]
            found = [episode for episode in first if episode]
            last = np.mean([row.result["lengths"][-LAST:] for row in cell])
            mean = f"{np.mean(found):.2f}" if found else "-"
            body.append((name, f"{len(found)}/{len(cell)}", mean, f"{last:.0f}"))
    header = ("agent", "runs with a goal", "first in episode (mean)", f"steps, last {LAST} episodes (mean)")
    return [Table("MountainCar, 10 episodes of at most 500 steps", header, tuple(body))]


def figure(rows: Sequence[Row]):
    """U with the trajectories so far, and steps to the goal over episodes."""
    shown = [row for agent in AGENTS for row in select(rows, agent=agent) if "u" in row.result]
    drawing, axes = plots.panels(4, max(1, len(shown)), width=2.7, height=2.6, squeeze=False)
    paths = ("#ffd23f", "#000000", "#ffffff")  # as in the paper: yellow, black, white
    for line, row in zip(axes, shown, strict=False):
        for k, axis in enumerate(line[:3]):
            field = np.reshape(row.result["u"][k], (GRID, GRID))
            axis.imshow(field, origin="lower", aspect="auto", cmap="viridis",
                        extent=(LOW[0], HIGH[0], LOW[1], HIGH[1]), interpolation="bilinear")  # fmt: skip
            for path, colour in zip(row.result["paths"][: k + 1], paths, strict=False):
                axis.plot(*np.array(path).T, color=colour, linewidth=0.9)
            axis.axvline(0.45, color="white", linestyle=":", linewidth=1)
            axis.set(
                title=f"U after episode {k + 1}",
                xlabel="position",
                xlim=(LOW[0], HIGH[0]),
                ylim=(LOW[1], HIGH[1]),
            )
            axis.grid(visible=False)
        line[0].set_ylabel(f"{AGENTS[row.spec.agent]}\nvelocity")
    for line, (i, (agent, name)) in zip(axes, enumerate(AGENTS.items()), strict=False):
        if cell := select(rows, agent=agent):
            lengths = [row.result["lengths"] for row in cell]
            plots.curve(line[3], np.arange(1, EPISODES + 1), lengths, name, i)
            line[3].set(title="steps to the goal", xlabel="episode", ylim=(0, HORIZON * 1.03))
    return drawing


NOTES = (
    "Exploration rewards are divided by the largest variance, so that U lies between -100 and 0 at discount "
    "0.99. The pictures are of seed 0; trajectories of episodes 1, 2 and 3 are yellow, black and white, the "
    "goal a dotted line. The default preset plans during an episode and usually arrives in the first."
)
EXPERIMENTS = (
    Experiment(NAME, "MountainCar: U after 1, 2 and 3 episodes, and steps to the goal", RUNS, specs, execute,
               claims, tables=tables, figure=figure, notes=NOTES),
)  # fmt: skip
