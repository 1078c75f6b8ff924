"""Steps to the first goal with lengthscales by the marginal likelihood, and with other numbers of features.

    python docs/notebook/scales_from_data.py --seeds 100 120 --condition likelihood --out runs.jsonl
    python docs/notebook/scales_from_data.py --table runs.jsonl

Whenever features are drawn, a condition that learns lengthscales l_1, ..., l_d multiplies the default's by

    m_i = l_i / (l_1 ... l_d)^(1 / d),     l maximising  sum_j log N(t_j | 0, K_l + nu I)

over the newest transitions, t_j the standardised s'_j - s_j (and reward, where it varies), K_l the covariance
of the Bayesian linear regression with as many features as one likes. The conditions: `default`;
`likelihood`; `early`, a draw of features every 50 steps instead of 150, and `early likelihood`; `features
250`, `features 1000`. A hook is put into the library, so that each condition is a process of its own.
Finished runs are kept and not made again.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from nothing_given import Given

import emuq
from emuq.agents.emuq import relevance
from emuq.experiments import statistics
from emuq.planning.transitions import Transitions

DOMAINS = "SinglePendulum", "MountainCar", "DoublePendulum", "CartpoleSwingUp", "DoublePendulum + noise"
CONDITIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "likelihood": {},
    "early": {"refresh": 50},
    "early likelihood": {"refresh": 50},
    "features 250": {"features": 250},
    "features 1000": {"features": 1000},
}
EPISODES, HORIZON = 100, 500
ROWS = 200  # transitions that the likelihood is of
STEPS, RATE = 60, 0.1  # of Adam, in the logarithms
WIDEST = 4.0  # a multiplier lies within a factor of this of 1


def likelihood(logs: jax.Array, states: jax.Array, actions: jax.Array, targets: jax.Array, mask: jax.Array):
    """sum_j log N(t_j | 0, K + nu I), up to a constant; `logs` are those of l_1, ..., l_d, l_A and nu."""
    dim = states.shape[1]
    scaled = jnp.concatenate([states / jnp.exp(logs[:dim]), actions / jnp.exp(logs[dim])], axis=1)
    square = jnp.sum((scaled[:, None] - scaled[None]) ** 2, axis=-1)
    both = mask[:, None] * mask[None]
    noise = jnp.exp(logs[-1]) + 1e-6
    matrix = both * jnp.exp(-square / 2) + jnp.diag(jnp.where(mask > 0, noise, 1.0))
    factor = jnp.linalg.cholesky(matrix)
    white = jax.scipy.linalg.solve_triangular(factor, targets, lower=True)
    fit = -jnp.sum(white**2) / 2 - targets.shape[1] * jnp.sum(jnp.log(jnp.diag(factor)))
    # A wide prior, so that a number of which the data say nothing stays where it is.
    return fit - jnp.sum((logs[:-1] / 2) ** 2) / 2 - ((logs[-1] - jnp.log(0.01)) / 4) ** 2 / 2


def scales(data: Transitions) -> jax.Array:
    """l_1, ..., l_d of the newest transitions; from 1 on, by Adam."""
    number = min(ROWS, data.capacity)
    first = jnp.maximum(data.count - number, 0)
    arrays = data.states, data.actions, data.rewards[:, None], data.next_states
    rows = (jax.lax.dynamic_slice_in_dim(x, first, number).astype(jnp.float64) for x in arrays)
    states, actions, rewards, following = rows
    mask = (first + jnp.arange(number) < data.count).astype(jnp.float64)
    targets = relevance._standardised(jnp.concatenate([following - states, rewards], axis=1), mask[:, None])
    slope = jax.grad(lambda logs: likelihood(logs, states, actions, targets, mask))

    def step(i: jax.Array, at: tuple[jax.Array, jax.Array, jax.Array]):
        logs, mean, square = at
        g = slope(logs)
        mean, square = 0.9 * mean + 0.1 * g, 0.99 * square + 0.01 * g**2
        away = (mean / (1 - 0.9 ** (i + 1))) / (jnp.sqrt(square / (1 - 0.99 ** (i + 1))) + 1e-12)
        return logs + RATE * away, mean, square

    start = jnp.zeros(states.shape[1] + 2).at[-1].set(jnp.log(0.01))
    logs = jax.lax.fori_loop(0, STEPS, step, (start, jnp.zeros_like(start), jnp.zeros_like(start)))[0]
    return jnp.exp(logs[: states.shape[1]])


def learned(blur: Any) -> Any:
    """In the place of `relevance.blur`: the same times the multipliers."""

    def wider(data: Transitions) -> jax.Array:
        logs, noise = jnp.log(scales(data)), blur(data)
        state = noise == 1  # what is known to be noise has its lengthscale already, and no part in the mean
        level = jnp.sum(jnp.where(state, logs, 0.0)) / jnp.maximum(jnp.sum(state), 1)
        limit = jnp.log(WIDEST)
        shape = jnp.clip(logs - level, -limit, limit)
        shape = shape - jnp.sum(jnp.where(state, shape, 0.0)) / jnp.maximum(jnp.sum(state), 1)
        return noise * jnp.where(state, jnp.exp(shape), 1.0)

    return wider


def make(domain: str, seed: int) -> gym.Env:
    name, _, noise = domain.partition(" + ")
    if noise:
        return Given(name, "noise", seed)
    return gym.make(f"emuq/{name}-v0", max_episode_steps=HORIZON)


def run(domain: str, condition: str, seed: int) -> dict:
    began = time.monotonic()
    agent = emuq.EMUQ(make(domain, seed), seed=seed, **CONDITIONS[condition])
    first = agent.learn(episodes=EPISODES, until="goal", progress=False).first_goal
    found = {"domain": domain, "condition": condition, "seed": seed, "episodes": first}
    return found | {"steps": agent.num_transitions, "seconds": round(time.monotonic() - began, 1)}


def table(paths: list[pathlib.Path]) -> str:
    """Mean episodes and steps (without a goal: the cap), and the ratio of mean steps to the default's."""
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    known = {(r["domain"], r["condition"], r["seed"]): r for r in rows}
    lines = [
        "| domain | condition | found | episodes | mean steps | ratio of steps |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for domain in DOMAINS:
        for condition in CONDITIONS:
            some = {s: r for (d, c, s), r in known.items() if (d, c) == (domain, condition)}
            if some:
                episodes = np.mean([r["episodes"] or EPISODES for r in some.values()])
                steps = statistics.mean([r["steps"] for r in some.values()])
                found = sum(r["episodes"] is not None for r in some.values())
                base = {s: known.get((domain, "default", s)) for s in some}
                pairs = [(r["steps"], b["steps"]) for s, r in some.items() if (b := base[s])]
                cells = f"{found}/{len(some)} | {episodes:.2f} | {told(steps, '.0f')} | {ratio(pairs)}"
                lines.append(f"| {domain} | {condition} | {cells} |")
    return "\n".join(lines)


def ratio(pairs: list[tuple[int, int]]) -> str:
    """Mean steps over the default's, seeds resampled together."""
    both = np.array(pairs, float)
    if not len(both) or (both[:, 0] == both[:, 1]).all():
        return "1" if len(both) else ""
    among = statistics.bootstrap_runs(lambda i: both[i, 0].mean() / both[i, 1].mean(), len(both))
    return told(among, ".2f")


def told(estimate: statistics.Estimate, form: str) -> str:
    ends = "" if estimate.interval is None else " [{:{f}}, {:{f}}]".format(*estimate.interval, f=form)
    return f"{estimate.value:{form}}{ends}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs=2, default=(100, 120), help="from, to (without it)")
    parser.add_argument("--domains", nargs="+", default=DOMAINS, choices=DOMAINS)
    parser.add_argument("--condition", default="default", choices=CONDITIONS)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("scales_from_data.jsonl"))
    parser.add_argument("--table", type=pathlib.Path, nargs="+", help="print the table of these, run nothing")
    given = parser.parse_args()
    if given.table:
        print(table(given.table))
        return
    emuq.cache.enable()
    if "likelihood" in given.condition:
        relevance.blur = learned(relevance.blur)
    done = set()
    if given.out.exists():
        rows = map(json.loads, given.out.read_text().splitlines())
        done = {(r["domain"], r["condition"], r["seed"]) for r in rows}
    with given.out.open("a") as file:
        for domain in given.domains:
            for seed in range(*given.seeds):
                if (domain, given.condition, seed) not in done:
                    print(json.dumps(run(domain, given.condition, seed)), file=file, flush=True)


if __name__ == "__main__":
    main()
