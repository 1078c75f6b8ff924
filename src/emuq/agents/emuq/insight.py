"""What an EMU-Q agent knows of how it is doing, in numbers; `emuq.agents.summary` puts them into words.

    unknown(s, a) = alpha phi' S phi,  phi = phi(s, a):  the share of Q's prior variance that is left

    left       the mean of unknown over the states that were visited and all actions
    novelty    the mean of unknown over the latest steps, by S of the steps before them
    error      the model of the dynamics, fitted to every other transition, on the rest: the root mean square
               of what it misses, in standard deviations of a change

All is computed when it is asked for, from the stored transitions. O(N M^2).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.linalg import solve_triangular

from emuq.agents.emuq import relevance
from emuq.agents.emuq.datasets import transitions_of
from emuq.agents.emuq.exact import ExactRuntime
from emuq.planning import dynamics, selection
from emuq.planning.transitions import Transitions
from emuq.precision import double

if TYPE_CHECKING:
    from emuq.agents.emuq.agent import EMUQ

RECENT = 10  # episodes whose steps are the latest; of fewer it is the latter half
PLACES = 256  # visited states at which all actions are asked for, evenly spaced in time
CHUNK = 2048  # rows of features in memory at once
FEWEST = 50  # transitions that a model is fitted to


class Insight(NamedTuple):
    """Numbers about an agent that has learned from something."""

    left: float  # share of the uncertainty where it has been, over all actions
    novelty: float  # share of it in the latest steps, before they were made
    latest: int  # how many steps those are
    rewarded: int  # steps whose reward was not 0
    rewards: tuple[float, float]  # the least and the greatest
    error: float | None  # of the model of the dynamics; None: too few data, or states are only named
    noise: tuple[int, ...]  # places in the observation that look like noise
    ahead: int  # steps that it looks ahead at kappa = 0; 0: none


def of(agent: EMUQ) -> Insight | None:
    """How the agent is doing; None before its first step."""
    number = agent.num_transitions
    if not number:
        return None
    observed, units, rewards, following, _ = transitions_of(agent)
    states, after = agent._scaling(observed), agent._scaling(following)
    first = agent.history[-RECENT - 1].steps if len(agent.history) > RECENT else number // 2
    with double():
        if agent._exact is True:
            left, novelty, error, noise = *_counted(agent, states, units, first), None, ()
        else:
            left, novelty = _regressed(agent, states, units, first)
            error = _error(agent) if number >= FEWEST else None
            seen = states, units, rewards, after, np.ones(number, bool)
            noise = tuple(np.flatnonzero(relevance.noise(*map(jnp.asarray, seen))).tolist())
    paid = rewards[rewards != 0]
    ends = float(rewards.min()), float(rewards.max())
    return Insight(left, novelty, number - first, len(paid), ends, error, noise, _ahead(agent))


def _ahead(agent: EMUQ) -> int:
    """How far it looks: not at all before the first look, nor by a table."""
    runtime = agent._runtime
    if isinstance(runtime, ExactRuntime) or not runtime.looked:
        return 0
    return int(agent.whole_state().lookahead.reach)


def _regressed(agent: EMUQ, states: np.ndarray, units: np.ndarray, first: int) -> tuple[float, float]:
    """What is left, and how new the steps from `first` on were, by the posterior on today's features."""
    features, nodes = agent.whole_state().basis.features, agent._actions.nodes
    alpha, beta = agent.settings.prior_precision, agent.settings.noise_precision
    frequencies = [np.asarray(part) for part in (features.state_frequencies, features.action_frequencies)]

    def phi(some: np.ndarray, actions: np.ndarray) -> np.ndarray:
        angle = some @ frequencies[0].T + actions @ frequencies[1].T
        return features.scale * np.concatenate([np.cos(angle), np.sin(angle)], axis=1)

    def gram(begin: int, end: int) -> np.ndarray:
        total = np.zeros((features.num_features, features.num_features))
        for i in range(begin, end, CHUNK):
            rows = phi(states[i : min(i + CHUNK, end)], units[i : min(i + CHUNK, end)])
            total += rows.T @ rows
        return total

    def unknown(some: np.ndarray, actions: np.ndarray, found: np.ndarray) -> np.ndarray:
        factor = np.linalg.cholesky(alpha * np.eye(len(found)) + beta * found)
        solved = solve_triangular(factor, phi(some, actions).T, lower=True)
        return alpha * np.sum(solved**2, axis=0) / features.norm

    before = gram(0, first)
    everything = before + gram(first, len(states))
    places = states[np.linspace(0, len(states) - 1, min(PLACES, len(states))).astype(int)]
    tried = np.repeat(places, len(nodes), axis=0), np.tile(nodes, (len(places), 1))
    shares = unknown(*tried, everything).reshape(len(places), len(nodes))
    latest = slice(max(first, len(states) - CHUNK), None)
    novelty = unknown(states[latest], units[latest], before)
    return float(np.mean(shares @ agent._actions.node_weights)), float(np.mean(novelty))


def _counted(agent: EMUQ, states: np.ndarray, units: np.ndarray, first: int) -> tuple[float, float]:
    """The same of a table: alpha / (alpha + beta n) where a pair of state and action was seen n times."""
    options, candidates = agent.settings, agent._actions.candidates
    places = np.unique(states, axis=0)
    tried = np.repeat(places, len(candidates), axis=0), np.tile(candidates, (len(places), 1))
    left = options.prior_precision * np.mean(agent._runtime.values(*tried)[2])
    pairs = [row.tobytes() for row in np.hstack([states, units])]
    before = Counter(pairs[:first])
    times = np.array([before[pair] for pair in pairs[first:]])
    shares = options.prior_precision / (options.prior_precision + options.noise_precision * times)
    return float(left), float(np.mean(shares))


def _error(agent: EMUQ) -> float:
    """What a model of every other transition misses on the others."""
    state = agent.whole_state()
    return float(_held_out(state.data))


@jax.jit
def _held_out(data: Transitions) -> Array:
    number = min(dynamics.ROWS, data.capacity)
    at = selection.spread(number, data.count)
    rows = (x[at] for x in (data.states, data.actions, data.rewards, data.next_states, data.terminal))
    mask, odd = jnp.arange(number) < data.count, jnp.arange(number) % 2 == 1
    sample = dynamics.Sample(*rows, mask=mask & ~odd, returns=jnp.zeros(number, jnp.float32))
    chosen = selection.select(dynamics.deviations(sample), sample.mask, dynamics.KNOWN)
    return dynamics.error(dynamics.fit(sample, *chosen), sample._replace(mask=mask & odd))
