"""A plan of EMU-Q beside Algorithm 2's end of an episode in plain NumPy; time and memory as data grow."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import gymnasium as gym
import jax
import numpy as np

import emuq
from emuq.agents.emuq.plan import plan
from emuq.precision import double
from timing import report

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference import Reference

M = 500


def filled(count: int, capacity: int) -> emuq.EMUQ:
    """An agent with `count` transitions of a random walk in its memory; one in 500 found the goal."""
    agent = emuq.EMUQ(
        gym.make("emuq/MountainCar-v0"), features=M, kappa=1.0, capacity=capacity, plan_interval=None
    )
    rng = np.random.default_rng(0)
    states = np.zeros((agent.whole_state().data.capacity, 2), np.float32)
    states[:count] = rng.random((count, 2))
    following = np.clip(states + rng.normal(scale=0.02, size=states.shape).astype(np.float32), 0, 1)
    goals = np.arange(len(states)) % 500 == 499
    with double():
        data = agent.whole_state().data._replace(
            rewards=jax.numpy.asarray(goals, dtype=np.float32),
            terminal=jax.numpy.asarray(goals),
            ended=jax.numpy.asarray(goals),
            states=jax.numpy.asarray(states),
            next_states=jax.numpy.asarray(following),
            actions=jax.numpy.asarray(rng.random((len(states), 1)), dtype=np.float32),
            count=jax.numpy.int32(count),
        )
        agent._runtime.replace(agent.whole_state()._replace(data=data))
    return agent


def plan_seconds(agent: emuq.EMUQ, repeats: int = 3) -> float:
    run = jax.jit(plan, static_argnames="options")
    with double():
        samples = []
        for _ in range(repeats + 1):
            began = time.perf_counter()
            jax.block_until_ready(run(agent.whole_state(), 1.0, agent.settings))
            samples.append(time.perf_counter() - began)
    return float(np.median(samples[1:]))


def transcription_seconds(agent: emuq.EMUQ, count: int, sweeps: int = 60) -> float:
    """Lines 15 to 18 as written, with as many sweeps as a plan may make."""
    features, rng = agent.whole_state().basis.features, np.random.default_rng(0)
    slow = Reference(
        features.state_frequencies,
        features.action_frequencies,
        rng.random((15, 1)),
        rng.random((10, 1)),
        np.full(10, 0.1),
    )
    data = agent.whole_state().data
    rows = zip(
        *(np.asarray(x[:count], float) for x in data[:4]), np.asarray(data.terminal[:count]), strict=True
    )
    slow.data = list(rows)
    began = time.perf_counter()
    slow.end_episode(tolerance=1e-4, sweeps=sweeps)
    return time.perf_counter() - began


def main() -> None:
    rows = []
    for count in (1_000, 5_000, 20_000, 100_000, 200_000):
        agent = filled(count, count)
        taken = plan_seconds(agent, 3 if count <= 20_000 else 1)
        slow = transcription_seconds(agent, count) if count <= 5_000 else float("nan")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append(
            {
                "transitions": count,
                "plan s": taken,
                "us a transition": 1e6 * taken / count,
                "NumPy s": slow,
                "times faster": slow / taken,
                "peak memory GB": peak,
            }
        )
    report(
        f"A plan at M = {M}: refit, exploration rewards, two policy improvements",
        rows,
        "Bars: 20 times faster at 5,000; time linear to 100,000; memory under 1 GB at 200,000.",
    )


if __name__ == "__main__":
    main()
