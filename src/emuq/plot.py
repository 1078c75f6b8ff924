"""Pictures of an agent: its values over two dimensions of the state, its course, and what it foretells."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from emuq.agents.emuq import imagine
from emuq.agents.emuq.agent import EMUQ
from emuq.errors import InputError, MissingExtra
from emuq.history import History

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = {"u": "U: exploration value", "q": "Q: goal value", "variance": "variance of Q"}
ACCENT = "#c2410c"
NUMBERS = 12  # of an observation that are drawn: the first ones
TRACES = 8  # episodes whose trajectories are drawn: more would hide the values under them


def value_map(
    agent: EMUQ,
    path: str | os.PathLike | None = None,
    *,
    dims: tuple[int, int] = (0, 1),
    action: Any = None,
    at: Sequence[float] | None = None,
    panels: Sequence[str] = ("u", "q", "variance"),
    names: tuple[str, str] | None = None,
    trajectories: bool = True,
    resolution: int = 90,
) -> Figure:
    """U, Q and variance over two state dimensions, over them the last episodes' trajectories, the older the
    fainter.

    Args:
        agent: The agent.
        path: Where to save the picture, if anywhere.
        dims: The two dimensions of the observation.
        action: The action that values are shown for; the middle of its box, or the first one, by default.
        at: An observation whose other dimensions are used; the middle of their bounds by default.
        panels: Which of "u", "q" and "variance".
        names: What the two axes are called.
        trajectories: Whether to draw the last episodes.
        resolution: Points along each axis.

    Returns:
        The figure, which belongs to no window.

    Raises:
        InputError: If the observation has no two such dimensions, or a panel is unknown.
        MissingExtra: If matplotlib is not installed.

    Examples:
        >>> agent = emuq.EMUQ("emuq/MountainCar-v0", seed=0)
        >>> history = agent.learn(steps=50, progress=False)
        >>> figure = emuq.plot.value_map(agent, "car.png", names=("position", "velocity"), resolution=20)
    """
    figure = _figure(4.4 * len(panels), 3.7)
    unknown = set(panels) - set(PANELS)
    if unknown:
        raise InputError(f"panels has {sorted(unknown)}: expected some of {', '.join(PANELS)}")
    x, y, states = states_over(agent, dims, resolution, at)
    action = middle_action(agent) if action is None else action
    q, u, variance = agent.values(states, action)
    values: dict[str, np.ndarray] = {"q": q, "u": u, "variance": variance}
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)
    paths = agent.trajectories()[-TRACES:] if trajectories else []
    for axis, panel in zip(axes[0], panels, strict=True):
        image = axis.pcolormesh(
            x, y, values[panel].reshape(resolution, resolution), shading="auto", rasterized=True
        )
        figure.colorbar(image, ax=axis, pad=0.02)
        for i, states_seen in enumerate(paths):
            last = i == len(paths) - 1
            axis.plot(
                states_seen[:, dims[0]],
                states_seen[:, dims[1]],
                color=ACCENT if last else "white",
                linewidth=1.6 if last else 0.8,
                alpha=1.0 if last else 0.8 * (i + 1) / len(paths),
                label="last episode" if last else (_before(len(paths) - 1) if i == len(paths) - 2 else None),
            )
        axis.set(title=PANELS[panel], xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
        axis.set_xlabel(names[0] if names else f"state[{dims[0]}]")
    axes[0][0].set_ylabel(names[1] if names else f"state[{dims[1]}]")
    if paths:
        axes[0][0].legend(
            loc="lower right", fontsize=8, facecolor="#555555", labelcolor="white", framealpha=0.8
        )
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def states_over(
    agent: EMUQ, dims: tuple[int, int], resolution: int, at: Sequence[float] | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two axes and the states of the grid over them, row by row; other dimensions are `at`, or the middle."""
    low, high = agent.bounds
    if len(low) < 2:
        raise InputError(f"observations have {len(low)} dimension: value_map needs two")
    if not all(0 <= d < len(low) for d in dims) or dims[0] == dims[1]:
        raise InputError(f"dims is {dims}: expected two different numbers from 0 to {len(low) - 1}")
    x, y = (np.linspace(low[d], high[d], resolution) for d in dims)
    states = np.tile((low + high) / 2 if at is None else np.asarray(at, dtype=float), (resolution**2, 1))
    states[:, dims[0]], states[:, dims[1]] = (grid.ravel() for grid in np.meshgrid(x, y))
    return x, y, states


def middle_action(agent: EMUQ) -> Any:
    """The middle of a box of actions, the first of discrete ones."""
    spaces = agent._actions
    return spaces.start if spaces.discrete else spaces.low * 0.5 + spaces.high * 0.5


def _before(number: int) -> str:
    return "the one before" if number == 1 else f"the {number} before"


def learning_curve(history: History, path: str | os.PathLike | None = None) -> Figure:
    """Steps of each episode, goals marked, with kappa below.

    Args:
        history: What `learn` returned, or an agent's `history`.
        path: Where to save the picture, if anywhere.

    Returns:
        The figure, which belongs to no window.

    Raises:
        MissingExtra: If matplotlib is not installed.

    Examples:
        >>> figure = emuq.plot.learning_curve(agent.history, "curve.png")
    """
    figure = _figure(7, 4.2)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    number = np.arange(1, len(history) + 1)
    lengths = np.array([episode.length for episode in history])
    goals = np.array([episode.goal for episode in history], dtype=bool)
    top.plot(number, lengths, color="0.7", linewidth=1)
    top.plot(number[~goals], lengths[~goals], "x", color="0.45", label="no goal")
    top.plot(number[goals], lengths[goals], "o", color=ACCENT, markersize=4, label="goal reached")
    top.set(ylabel="steps", ylim=(0, None))
    top.legend(fontsize=8)
    bottom.step(number, [episode.kappa for episode in history], where="mid", color="#1d4ed8")
    bottom.set(xlabel="episode", ylabel="kappa", ylim=(-0.05, None))
    bottom.xaxis.get_major_locator().set_params(integer=True)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def imagined(
    agent: EMUQ,
    path: str | os.PathLike | None = None,
    *,
    steps: int = 25,
    level: float = 0.9,
    names: Sequence[str] | None = None,
) -> Figure:
    """What a model foretells of the last steps of an episode, which it has not seen, and what happened.

    The model is made as the agent's, of all transitions but the newest eighth; the stretch is the last one in
    that eighth that is so long.

    Args:
        agent: The agent, of 100 transitions or more.
        path: Where to save the picture, if anywhere.
        steps: How many steps.
        level: The share of what happens that the band holds, number by number.
        names: What the numbers of the observation are called.

    Returns:
        The figure, which belongs to no window.

    Raises:
        InputError: If no episode goes on for as long, or states are known by their numbers alone.
        MissingExtra: If matplotlib is not installed.

    Examples:
        >>> agent = emuq.EMUQ("emuq/MountainCar-v0", seed=0)
        >>> history = agent.learn(steps=200, progress=False)
        >>> figure = emuq.plot.imagined(agent, "foretold.png", steps=10, names=("position", "velocity"))
    """
    real, told = imagine.of_the_newest(agent, steps, level)
    shown = min(real.shape[1], NUMBERS)
    down = -(-shown // 4)
    across = -(-shown // down)
    figure = _figure(3.4 * across + 0.4, 2.6 * down + 0.4)
    axes = figure.subplots(down, across, squeeze=False, sharex=True).ravel()
    after = np.arange(steps + 1)
    for i, axis in enumerate(axes[:shown]):
        start = real[:1, i]
        low, high = (np.concatenate([start, end[:, i]]) for end in (told.low, told.high))
        axis.fill_between(after, low, high, color=ACCENT, alpha=0.18, linewidth=0)
        axis.plot(after, real[:, i], color="0.25", linewidth=1.8)
        axis.plot(after, np.concatenate([start, told.states[:, i]]), color=ACCENT, linestyle="--")
        axis.set_title(names[i] if names else f"observation[{i}]", fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[shown:]:
        axis.remove()
    for axis in axes[max(shown - across, 0) : shown]:
        axis.set_xlabel("steps ahead")
        axis.xaxis.set_tick_params(labelbottom=True)
    axes[0].plot([], [], color="0.25", linewidth=1.8, label="happened")
    axes[0].plot([], [], color=ACCENT, linestyle="--", label=f"foretold, and {level:.0%}")
    axes[0].legend(fontsize=8, frameon=False)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _figure(width: float, height: float) -> Figure:
    """A figure without a window, made without pyplot: a program's backend stays its own."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plot") from None
    return Figure(figsize=(width, height), layout="constrained")
