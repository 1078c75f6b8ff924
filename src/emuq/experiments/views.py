"""Beyond the paper: what an agent knows while it learns, as pictures; the views of the live page, kept still.

    U(s, a) and Q(s, a)    over two numbers of the state s, all others and a at the middle of their bounds

U drains where the agent has been; then kappa is 0, and Q shows the way. There is nothing to judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from emuq.experiments.base import Claim, Experiment, Result, Row, select
from emuq.run.spec import LONG_REVISIONS, RunSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from emuq.agents.emuq.agent import EMUQ

NAME, HORIZON, RESOLUTION = "views", 500, 32
STEPS = (50, 300, 1000)  # exploring, at which U is looked at; then so many exploit, and Q is
EXPLOITING = 1000
KEPT = 400  # points of a trajectory, at most: enough to draw it
# Which two numbers of the state are looked along, and what they are called.
ALONG = {
    "MountainCar": (0, 1, "position", "velocity"),
    "SinglePendulum": (1, 2, "sin of the angle", "velocity"),
    "CartpoleSwingUp": (2, 3, "angle", "angular velocity"),
}


def specs(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    return tuple(
        RunSpec.of(
            NAME, "emuq", domain, seed, revision=LONG_REVISIONS["emuq"],
            steps=list(STEPS), exploiting=EXPLOITING, horizon=HORIZON, resolution=RESOLUTION,
        )
        for domain in ALONG
        for seed in seeds
    )  # fmt: skip


def execute(specs: Sequence[RunSpec]) -> list[Result]:
    return [_run(spec) for spec in specs]


def _run(spec: RunSpec) -> Result:
    import gymnasium as gym

    from emuq.agents.emuq.agent import EMUQ

    env = gym.make(f"emuq/{spec.domain}-v0", max_episode_steps=spec["horizon"])
    agent = EMUQ(env, seed=spec.seed, kappa=1.0)
    views, done = [], 0
    for steps in spec["steps"]:
        agent.learn(steps=steps - done, progress=False)
        views.append(_view(agent, spec, "u", done))
        done = steps
    agent.kappa = 0.0
    agent.learn(steps=spec["exploiting"], progress=False)
    views.append(_view(agent, spec, "q", done))
    low, high = agent.bounds
    dims = list(ALONG[spec.domain][:2])
    return {"views": views, "low": low[dims].tolist(), "high": high[dims].tolist()}


def _view(agent: EMUQ, spec: RunSpec, which: str, since: int) -> dict[str, Any]:
    """One panel: its values, row by row, and where the agent has been since the one before."""
    import numpy as np

    from emuq.plot import middle_action, states_over

    dims = ALONG[spec.domain][:2]
    _, _, states = states_over(agent, dims, spec["resolution"])
    q, u, _ = agent.values(states, middle_action(agent))
    path = np.concatenate(agent.trajectories())[since:, list(dims)]
    path = path[:: 1 + len(path) // KEPT]
    values = u if which == "u" else q
    return {"of": which, "values": np.round(values, 3).tolist(), "path": np.round(path, 3).tolist()}


def claims(rows: Sequence[Row]) -> list[Claim]:
    return []


def figure(rows: Sequence[Row]) -> Figure:
    """A row for each domain, of the first seed that there is."""
    from emuq.experiments import plots

    shown = [found[0] for domain in ALONG if (found := select(rows, domain=domain))]
    fig, axes = plots.panels(len(STEPS) + 1, max(len(shown), 1), width=2.7, height=2.5, squeeze=False)
    for row, line in zip(shown, axes, strict=False):
        scale = min(min(view["values"]) for view in row.result["views"][:-1])
        for view, at in zip(row.result["views"], line, strict=True):
            _draw(at, row, view, scale)
        line[0].set_ylabel(f"{row.spec.domain}\n{ALONG[row.spec.domain][3]}")
        for at in line[1:]:
            at.set_yticklabels([])
    for at, steps in zip(axes[0], STEPS, strict=False):
        at.set_title(f"U after {steps:,} steps")
    axes[0][-1].set_title(f"Q, {EXPLOITING:,} steps later")
    return fig


def _draw(at: Axes, row: Row, view: dict[str, Any], scale: float) -> None:
    import numpy as np

    (left, bottom), (right, top) = row.result["low"], row.result["high"]
    side = row.spec["resolution"]
    values = np.reshape(view["values"], (side, side))
    lowest, highest = (scale, 0.0) if view["of"] == "u" else (values.min(), values.max())
    at.imshow(values, origin="lower", aspect="auto", extent=(left, right, bottom, top), cmap="viridis",
              vmin=lowest, vmax=highest)  # fmt: skip
    path = np.array(view["path"])
    at.plot(path[:, 0], path[:, 1], ".", color="white", markersize=1.5, alpha=0.7)
    at.grid(False)
    at.set_xlim(left, right)
    at.set_ylim(bottom, top)
    at.set_xlabel(ALONG[row.spec.domain][2])


NOTES = (
    "Not in the paper. U (the brighter, the more is left to explore; one scale for a row) while the default "
    "agent explores at kappa = 1, and Q (the brighter, the nearer the goal) after 1,000 steps at kappa = 0. "
    "Other numbers of the state are at the middle of their bounds. White: where the agent has been since "
    "the panel before."
)
EXPERIMENTS = (
    Experiment(NAME, "What the agent knows while it learns", 1, specs, execute, claims, figure=figure,
               notes=NOTES, beyond=True),
)  # fmt: skip
