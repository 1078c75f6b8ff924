"""When things happen, and on which features: decided on the host, between steps and between episodes.

    fold     every time half a block of updates of S has come in
    plan     once the data have grown by `plan_interval` steps and by the share `plan_growth`
    draw     new features, as an episode begins that explores, or the first one that exploits, or one after a
             miss, or a challenger's first; and in the middle of an exploring episode that lasts

Nothing here depends on how long anything took, so that a run is the same wherever it is made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from emuq.agents.emuq.contest import CHALLENGER, Contest
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.state import Basis, draw_basis
from emuq.linear.frequencies import Lengthscale

if TYPE_CHECKING:
    from emuq.agents.spaces import Actions
    from emuq.history import History

MANY = 16384  # transitions from which on fewer features are drawn to exploit, so that it takes no longer
ENOUGH = 6  # frequencies for each dimension of the state, to exploit on the finer of two scales at first
GROWTH = 1.5  # of the data since the last draw, before a trusted policy that never missed is challenged


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


def draw_is_due(options: Options, contest: Contest, kappa: float, history: History) -> bool:
    """Whether new features are drawn as an episode begins.

    To exploit, never during a challenge; and while a policy is trusted that never missed, only for a
    challenger, once there are much more data.
    """
    if not options.fresh or not history:
        return False
    if kappa > 0:
        return True
    if never_missed(contest):
        return challenge_begins(contest) and history[-1].steps >= GROWTH * int(contest.drawn)
    if int(contest.challenger_wins):
        return False
    return challenge_begins(contest) or history[-1].kappa > 0 or not history[-1].goal


def postpones_challenge(options: Options, contest: Contest, kappa: float) -> bool:
    """Whether a challenge would begin on features that are not new, against a policy that never missed."""
    return options.fresh and kappa == 0 and never_missed(contest) and challenge_begins(contest)


def draw_is_due_within(options: Options, kappa: float, steps: int) -> bool:
    """Whether an exploring episode has gone on for long enough on features that may miss something."""
    return options.fresh and options.refresh is not None and kappa > 0 and steps >= options.refresh


def never_missed(contest: Contest) -> bool:
    """Whether there is a trusted policy, and all episodes in its record were won."""
    return 0 < int(contest.trials) == int(contest.wins)


def challenge_begins(contest: Contest) -> bool:
    """Whether the next episode is a challenger's first."""
    return int(contest.turn) == CHALLENGER and not int(contest.challenger_wins)


def draw_features(
    seed: int, history: History, kappa: float, steps: int, options: Options, state_dim: int, actions: Actions
) -> list[Basis]:
    """One draw to explore on, or several to exploit on, for the next episode or the one under way.

    `steps` is how many of it have been made, 0 as it begins. The same arguments give the same features, so
    that a resumed run goes on alike.

    Exploring begins fine and zooms out. Q alone is learned best on coarse features, smoother in the action;
    how coarse depends on the domain: so fine as the number of features allows, and each miss is answered by
    the other of two scales.
    """
    stream = (2, len(history), steps) if steps else (2, len(history))
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=stream))
    doublings, smoother, number = min(len(history), options.zoom), 1.0, 1
    if kappa == 0:
        misses = sum(episode.kappa == 0 and not episode.goal for episode in history)
        finer = (misses + (options.features >= 2 * ENOUGH**state_dim)) % 2
        doublings, smoother = max(options.zoom - finer, 0), options.smoother
        number = max(1, min(options.draws, options.draws * MANY // history[-1].steps))
    wider = {
        "state_lengthscale": _times(options.state_lengthscale, 2.0**doublings),
        "action_lengthscale": _times(options.action_lengthscale, smoother),
    }
    drawn = replace(options, **wider)
    return [draw_basis(rng, drawn, state_dim, actions) for _ in range(number)]


def _times(lengthscale: Lengthscale, factor: float) -> Lengthscale:
    scale = np.asarray(lengthscale) * factor
    return tuple(scale.tolist()) if scale.ndim else float(scale)
