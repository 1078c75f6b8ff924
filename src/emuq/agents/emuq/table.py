"""EMU-Q's posterior on indicator features, one for each state and action: a table.

    phi(s, a) = e_(s, a),   S = diag(1 / (alpha + beta n(s, a))),   m = beta S Phi't

so that S is a table of counts n, r^e(s') = mean_a alpha / (alpha + beta n(s', a)) - 1, and a sweep of policy
iteration over all transitions costs as much as there are different ones. States are numbered as they are
first seen, and tables grow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emuq.agents.emuq.options import Options

SWEEPS = 1000  # at most, in a plan: each takes values one step farther


class Table(NamedTuple):
    """Rows of `states` are the states' numbers; (s, a) is place s A + a of what is counted and valued."""

    states: np.ndarray  # [n, d]
    visits: np.ndarray  # [n A]
    q: np.ndarray
    u: np.ndarray
    steps: np.ndarray  # [t, 4]: place, next state, terminal, how often; each different transition once
    rewards: np.ndarray  # [t]: the sum of its rewards
    log: np.ndarray  # [n, 4]: place, reward, next state and terminal of every transition, in their order
    counts: np.ndarray  # [5]: states, different transitions, all, all at the last plan, whether that settled
    q_bounds: np.ndarray


def empty(dim: int, actions: int, room: int = 256) -> Table:
    """Nothing seen: m = 0, S = I / alpha."""
    pairs = np.zeros(room * actions)
    return Table(
        np.zeros((room, dim)), pairs, pairs.copy(), pairs.copy(),
        np.zeros((room, 4), np.int64), np.zeros(room), np.zeros((room, 4)), np.zeros(5, np.int64),
        np.array([-1.0, 1.0]),
    )  # fmt: skip


def sized(table: Table, room: int, actions: int) -> Table:
    """The same table with room for so many states, different transitions and transitions."""

    def resized(rows: np.ndarray, length: int) -> np.ndarray:
        new = np.zeros((length, *rows.shape[1:]), rows.dtype)
        new[: len(rows)] = rows[:length]
        return new

    lengths = [room, *[room * actions] * 3, room, room, room]
    return Table._make([*(resized(*pair) for pair in zip(table[:7], lengths, strict=True)), *table[7:]])


def novelty(visits: np.ndarray, actions: int, options: Options) -> np.ndarray:
    """r^e of reaching each state (equation 14)."""
    share = options.prior_precision / (options.prior_precision + options.noise_precision * visits)
    return share.reshape(-1, actions).mean(axis=1) - 1.0


def planned(table: Table, actions: int, kappa: float, options: Options) -> Table:
    """Value iteration for Q and U over all different transitions, warm from what they were."""
    states, different = table.counts[:2]
    place, following, terminal, number = table.steps[:different].T
    pairs = states * actions
    visits = table.visits[:pairs]
    gain = options.noise_precision / (options.prior_precision + options.noise_precision * visits)
    bonus = novelty(visits, actions, options)[following]
    rules = options.rules
    u_on = np.where(terminal, 0.0, 1.0) if rules.u_stops else np.ones(different)
    rewards = np.bincount(place, table.rewards[:different], pairs)
    intrinsic = np.bincount(place, number * bonus, pairs)
    q, u = table.q[:pairs].copy(), table.u[:pairs].copy()
    q_weight, u_weight = number * (1.0 - terminal) * rules.discount, number * u_on * rules.u_discount
    kappa, change = kappa if kappa > 0 else 1.0, 0.0
    for _ in range(SWEEPS):
        by_q, by_u = q.reshape(-1, actions), u.reshape(-1, actions)
        best_u = balance(by_q, by_u, kappa).argmax(axis=1)
        next_q = np.clip(by_q.max(axis=1), *table.q_bounds)[following]
        next_u = np.clip(by_u[np.arange(states), best_u], *rules.u_bounds)[following]
        new_q = gain * (rewards + np.bincount(place, q_weight * next_q, pairs))
        new_u = gain * (intrinsic + np.bincount(place, u_weight * next_u, pairs))
        change = max(np.abs(new_q - q).max(initial=0.0), np.abs(new_u - u).max(initial=0.0))
        q, u = new_q, new_u
        if change <= rules.tolerance:
            break
    table.q[:pairs], table.u[:pairs] = q, u
    table.counts[3:] = table.counts[2], change <= rules.tolerance
    return table


def balance(q: np.ndarray, u: np.ndarray, kappa: float) -> np.ndarray:
    """Q + kappa U; kappa = inf is U alone."""
    return u if np.isinf(kappa) else q + kappa * u
