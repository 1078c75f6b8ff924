"""Ranges of observations that have no bounds, learned from what is seen.

    range = [min, max] within [q5 - 3 (q95 - q5), q95 + 3 (q95 - q5)], and a margin on either side

A side that has a bound keeps it, and the other one is learned.

Transitions keep their raw numbers here. When a range has to change, all stored states are scaled anew and the
posterior is refitted by a plan, so that features of two scales are never mixed. What was learned is carried
over exactly: for a state s = (x - low) / width on the old range and t on the new one

    W s = W' t + c,    W' = W diag(width' / width),    c = W (low' - low) / width

and a phase c turns the weights of each cosine and sine by that angle.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from emuq.agents.emuq.options import Options
from emuq.agents.emuq.state import State
from emuq.agents.spaces import Scaling
from emuq.linear.features import Features
from emuq.planning.support import Lookahead

ENOUGH = 20  # observations from which on a few that lie far from all others are not followed
FENCE = 3.0  # how far from the bulk a range may reach, in widths of the bulk
MARGIN = 0.25  # of a new range on either side, so that ranges change seldom
SHRINK = 4.0  # a range so many times as wide as what is seen is too wide
LARGEST = 1e100  # of a raw number: widths and their ratios stay finite


class Raw(NamedTuple):
    """The raw numbers of the stored transitions, rows as in `Transitions`, and where the episode began."""

    states: np.ndarray
    next_states: np.ndarray
    start: np.ndarray
    low: np.ndarray  # the scaling that the state's features see
    width: np.ndarray


def empty(capacity: int, scaling: Scaling) -> Raw:
    """Room for `capacity` transitions."""
    rows = np.zeros((capacity, scaling.dim))
    return Raw(rows, rows.copy(), np.zeros(scaling.dim), scaling.low, scaling.width)


def add(raw: Raw, count: int, state: np.ndarray, following: np.ndarray) -> Raw:
    """Row `count`, in place; twice the room where there is none left."""
    if count >= len(raw.states):
        wider = (np.concatenate([rows, np.zeros_like(rows)]) for rows in raw[:2])
        raw = Raw._make([*wider, *raw[2:]])
    raw.states[count], raw.next_states[count] = bounded(state), bounded(following)
    return raw


def bounded(vector: np.ndarray) -> np.ndarray:
    """Raw numbers whose differences are finite."""
    return np.clip(vector, -LARGEST, LARGEST)


def seen(raw: Raw, count: int) -> np.ndarray:
    """The observations that a range is learned from: the newest start, and where `count` transitions led."""
    return np.concatenate([raw.start[None], raw.next_states[:count]])


def sized(raw: Raw, capacity: int) -> Raw:
    """Exactly `capacity` rows, for a file."""
    sized = (np.concatenate([rows, np.zeros_like(rows)])[:capacity] for rows in raw[:2])
    return Raw._make([*sized, *raw[2:]])


def fitting(scaling: Scaling, seen: np.ndarray) -> Scaling | None:
    """The scaling that these observations (rows) ask for; None where the present one will do."""
    low, high = seen.min(axis=0), seen.max(axis=0)
    if len(seen) >= ENOUGH:
        fifth, most = np.quantile(seen, (0.05, 0.95), axis=0)
        # Where nearly all values are the same there is no bulk to measure by.
        reach = np.where(most > fifth, FENCE * (most - fifth), np.inf)
        low, high = np.maximum(low, fifth - reach), np.minimum(high, most + reach)
    least, most = scaling.known or (np.full(scaling.dim, -np.inf), np.full(scaling.dim, np.inf))
    ends = np.isfinite(least), np.isfinite(most)
    low, high = np.where(ends[0], least, low), np.where(ends[1], most, high)
    low = np.where(ends[1], np.minimum(low, high), low)  # where it was seen beyond the bound
    high = np.maximum(low, high)
    assert scaling.learned is not None
    width = high - low
    outside = (low < scaling.low) | (high > scaling.low + scaling.width)
    idle = (width > 0) & (SHRINK * width < scaling.width) & (len(seen) >= ENOUGH)
    changes = (outside | idle) & scaling.learned
    if not changes.any():
        return None
    constant = width <= 1e-9 * np.maximum(np.abs(low), np.abs(high))
    margin = np.where(constant, np.maximum(1.0, np.abs(high)), MARGIN * width)
    below, above = (np.where(known, 0.0, margin) for known in ends)
    return scaling._replace(
        low=np.where(changes, low - below, scaling.low),
        width=np.where(changes, width + below + above, scaling.width),
    )


def rescaled(state: State, raw: Raw, old: Scaling, new: Scaling, options: Options) -> State:
    """The same knowledge on another scale; S is the prior's, for the plan that has to follow."""
    capacity, dtype = state.data.capacity, state.data.states.dtype

    def scaled(rows: np.ndarray) -> jnp.ndarray:
        room = np.zeros((capacity, rows.shape[1]))
        room[: len(rows)] = rows[:capacity]
        return jnp.asarray(new(room), dtype)

    features = state.basis.features
    blocked = state.blocked._replace(weights=_turned(features, state.blocked.weights, old, new))
    data = state.data._replace(states=scaled(raw.states), next_states=scaled(raw.next_states))
    return state._replace(
        basis=state.basis._replace(features=_moved(features, old, new)),
        blocked=blocked,
        gram=jnp.zeros_like(state.gram),
        covariance=jnp.eye(len(state.gram)) / options.prior_precision,
        counted=jnp.zeros_like(state.counted),
        data=data,
        start=jnp.asarray(new(raw.start)),
        lookahead=_moved_policy(state.lookahead, old, new),
    )


def _moved_policy(policy: Lookahead, old: Scaling, new: Scaling) -> Lookahead:
    """z = (s - mean) / scale is what it was, so that all else in it stays."""
    model = policy.model
    mean = (old.low + model.mean * old.width - new.low) / new.width
    scale = model.scale * (old.width / new.width)
    mean, scale = (jnp.asarray(x, jnp.float32) for x in (mean, scale))
    return policy._replace(model=model._replace(mean=mean, scale=scale))


def _moved(features: Features, old: Scaling, new: Scaling) -> Features:
    """W' = W diag(width' / width)."""
    return replace(features, state_frequencies=features.state_frequencies * (new.width / old.width))


def _turned(features: Features, weights: jnp.ndarray, old: Scaling, new: Scaling) -> jnp.ndarray:
    """Weights of cos(u + c) and sin(u + c) as weights of cos u and sin u."""
    phase = features.state_frequencies @ ((new.low - old.low) / old.width)
    phase = phase.reshape(-1, *[1] * (weights.ndim - 1))
    cosine, sine = jnp.split(weights, 2, axis=0)
    turn = jnp.cos(phase), jnp.sin(phase)
    return jnp.concatenate([cosine * turn[0] + sine * turn[1], sine * turn[0] - cosine * turn[1]])
