"""Does planning beside the loop cost exploration? Episodes to the first goal, at a machine's pace.

    python benchmarks/paced.py [--rate 50] [--seeds 20] [--domains MountainCar ...] [--json FILE]

The floor is the same agent planning in step with the data, which no clock changes. Beside the loop a step
ends at the next tick of the wall clock, so that a plan is as many steps late as it takes. Each domain has a
process of its own, all of them at once: plans share the cores.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import emuq
from emuq.experiments import statistics

DOMAINS = ("SinglePendulum", "MountainCar", "DoublePendulum", "CartpoleSwingUp")
EPISODES, HORIZON = 100, 500


class Paced(gym.Wrapper):
    """A step ends at the next tick of a clock."""

    def __init__(self, env: gym.Env, rate: float) -> None:
        super().__init__(env)
        self.period, self.tick = 1 / rate, 0.0

    def step(self, action: Any) -> tuple:
        answer = self.env.step(action)
        self.tick = max(self.tick + self.period, time.perf_counter())
        time.sleep(max(0.0, self.tick - time.perf_counter()))
        return answer


def first_goal(domain: str, seed: int, rate: float | None) -> tuple[int, int]:
    """Episodes and steps to the first goal."""
    env = gym.make(f"emuq/{domain}-v0", max_episode_steps=HORIZON)
    if rate is None:
        agent = emuq.EMUQ(env, seed=seed, lookahead=1)
    else:
        agent = emuq.EMUQ(Paced(env, rate), seed=seed, planning="beside", lookahead=1)
    history = agent.learn(episodes=EPISODES, until="goal", progress=False)
    return history.first_goal or EPISODES, history.steps


def runs(domain: str, seeds: int, rate: float) -> dict:
    emuq.dispatch.inline()
    ways = {
        way: [first_goal(domain, seed, given) for seed in range(seeds)]
        for way, given in (("in step", None), ("beside", rate))
    }
    return {"domain": domain, **ways}


def line(found: dict) -> str:
    step, beside = (np.array(found[way], float) for way in ("in step", "beside"))
    ratio = statistics.mean(np.log(beside[:, 0] / step[:, 0]).tolist())
    low, high = np.exp(ratio.interval or (np.nan, np.nan))
    means = "  ".join(f"{x:>10.2f}" for x in (step[:, 0].mean(), beside[:, 0].mean()))
    times = "  ".join(f"{x:>10.0f}" for x in (step[:, 1].mean(), beside[:, 1].mean()))
    spread = (
        f"{beside[:, 0].mean() / step[:, 0].mean():>6.2f}  {np.exp(ratio.value):.2f} [{low:.2f}, {high:.2f}]"
    )
    return f"{found['domain']:>16}  {means}  {times}  {spread}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--domains", nargs="+", default=list(DOMAINS))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    number, spawn = len(args.domains), multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(number, mp_context=spawn) as pool:
        found = list(pool.map(runs, args.domains, [args.seeds] * number, [args.rate] * number))
    print(
        "episodes and steps to the first goal: in step, beside; ratio of means, of geometric means with 95%"
    )
    for part in found:
        print(line(part))
    print(f"{args.rate:g} steps a second; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
