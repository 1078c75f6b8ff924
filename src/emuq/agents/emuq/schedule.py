"""When things happen, and on which features: decided on the host, between steps and between episodes.

    fold     every time half a block of updates of S has come in
    plan     once the data have grown by `plan_interval` steps and by the share `plan_growth`
    look     once there is a reward other than a failure's, and the data have grown by 20 steps and a seventh
    draw     new features, as an episode begins that explores, and in the middle of one that lasts

Nothing here depends on how long anything took, so that a run is the same wherever it is made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from emuq.agents.emuq.options import Options
from emuq.agents.emuq.state import Basis, draw_basis
from emuq.linear.frequencies import Lengthscale

if TYPE_CHECKING:
    from emuq.agents.spaces import Actions
    from emuq.history import History

LOOK_INTERVAL = 20  # steps before the agent looks ahead on new data,
LOOK_GROWTH = 0.15  # and the share by which these have grown: a step's part of the cost stays bounded


def next_plan(options: Options, planned: int) -> int | None:
    """The number of transitions at which to plan again, where the last plan saw `planned`.

    They grow by a share, so that a step's part of the cost stays constant. None: only at the ends of
    episodes.
    """
    if options.plan_interval is None:
        return None
    return planned + max(options.plan_interval, int(options.plan_growth * planned))


def plan_is_due(options: Options, count: int, planned: int) -> bool:
    """Whether `count` transitions are enough to plan again."""
    due = next_plan(options, planned)
    return due is not None and count >= due


def fold_is_due(options: Options, used: int) -> bool:
    """Whether half of the rows that wait is full, or all of them."""
    return used % (options.block // 2) == 0


def look_is_due(options: Options, count: int, looked: int) -> bool:
    """Whether `count` transitions are enough to look again, where the last look saw `looked`."""
    return bool(options.lookahead) and count >= looked + max(LOOK_INTERVAL, int(LOOK_GROWTH * looked))


def is_worth_a_look(reward: float | np.ndarray, terminated: bool | np.ndarray) -> bool | np.ndarray:
    """Whether a transition gives something to look ahead to: any reward but that of a failure.

    What looking ahead has not seen is worth the least to it, so that nothing but failures would keep an
    agent from exploring on.
    """
    return (reward > 0) | ((reward < 0) & ~np.asarray(terminated, bool))


def draw_is_due(options: Options, kappa: float, history: History) -> bool:
    """Whether new features are drawn as an episode begins: each that explores has its own."""
    return options.fresh and kappa > 0 and len(history) > 0


def draw_is_due_within(options: Options, kappa: float, steps: int) -> bool:
    """Whether an exploring episode has gone on for long enough on features that may miss something."""
    return options.fresh and options.refresh is not None and kappa > 0 and steps >= options.refresh


def draw_features(
    seed: int, history: History, steps: int, options: Options, state_dim: int, actions: Actions
) -> Basis:
    """Features to explore on, for the next episode or the one under way. They begin fine and zoom out.

    `steps` is how many of it have been made, 0 as it begins. The same arguments give the same features, so
    that a resumed run goes on alike.
    """
    stream = (2, len(history), steps) if steps else (2, len(history))
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=stream))
    doublings = min(len(history), options.zoom)
    wider = _times(options.state_lengthscale, 2.0**doublings)
    return draw_basis(rng, replace(options, state_lengthscale=wider), state_dim, actions)


def _times(lengthscale: Lengthscale, factor: float) -> Lengthscale:
    scale = np.asarray(lengthscale) * factor
    return tuple(scale.tolist()) if scale.ndim else float(scale)
