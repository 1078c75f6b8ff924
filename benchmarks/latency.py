"""The time an agent takes between two steps of its environment, and how it grows with the data.

    python benchmarks/latency.py [--steps 10000] [--rate 1000] [--domains MountainCar CartpoleSwingUp]
                                 [--capacity 131072]

In step with the data, and beside the loop; there the loop is paced at `--rate` steps a second, as a machine
would be, since plans are made meanwhile. `--capacity` makes room for so many transitions beforehand: without
it the programs for more room are compiled beside the steps once 32,768 are stored. MountainCar explores
throughout (kappa = 1), CartpoleSwingUp has the default controller. A row has the steps since the row before
it. Where `.venv-sb3` is there (`make sb3`), Stable-Baselines3's SAC with an update each step is beside them,
for at most 10,000 steps. Compare numbers of one run on quiet cores: the load is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import emuq

MARKS = (1_000, 10_000, 40_000, 50_000, 100_000)
KAPPA = {"MountainCar": 1.0}
SB3 = Path(__file__).parents[1] / ".venv-sb3" / "bin" / "python"


class Timed(gym.Wrapper):
    """Notes the time from an answer of the environment to the next step; resets are not the agent's time."""

    def __init__(self, env: gym.Env, rate: float | None) -> None:
        super().__init__(env)
        self.period = None if rate is None else 1 / rate
        self.taken: list[float] = []
        self.answered: float | None = None
        self.tick = self.resetting = 0.0

    def reset(self, **options: Any) -> tuple:
        began = time.perf_counter()
        answer = self.env.reset(**options)
        if self.answered is None:
            self.answered = time.perf_counter()
        else:
            self.answered += time.perf_counter() - began
        return answer

    def step(self, action: Any) -> tuple:
        now = time.perf_counter()
        self.taken.append(now - (self.answered if self.answered is not None else now))
        answer = self.env.step(action)
        if self.period is not None:
            self.tick = max(self.tick + self.period, time.perf_counter())
            time.sleep(max(0.0, self.tick - time.perf_counter()))
        self.answered = time.perf_counter()
        return answer


def summary(name: str, way: str, taken: list[float]) -> list[dict]:
    """Rows up to each mark."""
    rows, first = [], 0
    for mark in MARKS:
        part = 1e3 * np.array(taken[first:mark])
        if len(part) < min(mark, 1000) // 2:
            break
        p99, rare = np.percentile(part, [99, 99.9])
        times = {
            "median": np.median(part),
            "p99": p99,
            "p99.9": rare,
            "longest": part.max(),
            "mean": part.mean(),
        }
        share = {"within 1 ms": float(np.mean(part <= 1)), "within 2 ms": float(np.mean(part <= 2))}
        rows.append({"domain": name, "planning": way, "steps": first + len(part), **times, **share})
        first = mark
    return rows


def emuq_rows(name: str, way: str, steps: int, rate: float | None, **options: Any) -> list[dict]:
    env = Timed(gym.make(f"emuq/{name}-v0"), rate if way == "beside" else None)
    # One step ahead, as a control loop wants it: a search at kappa = 0 takes milliseconds.
    agent = emuq.EMUQ(env, seed=100, planning=way, kappa=KAPPA.get(name), lookahead=1, **options)
    print(f"{name}, {way}: compiled in {agent.warmup():.1f} s", file=sys.stderr, flush=True)
    agent.learn(steps=steps, progress=False)
    return summary(name, way, env.taken)


def sac_rows(name: str, steps: int) -> list[dict]:
    """In the other environment: this file, as a program of its own."""
    if not SB3.exists():
        print("no .venv-sb3, so no SAC: make sb3", file=sys.stderr)
        return []
    command = [str(SB3), __file__, "--sac", name, "--steps", str(min(steps, 10_000))]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}  # with two, a step takes longer, and at times a second
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=alone)
    return json.loads(done.stdout.splitlines()[-1])


def sac(name: str, steps: int) -> None:
    from stable_baselines3 import SAC

    env = Timed(gym.make(f"emuq/{name}-v0"), None)
    SAC("MlpPolicy", env, learning_starts=100, train_freq=1, gradient_steps=1, seed=100).learn(steps)
    print(json.dumps(summary(name, "SB3's SAC", env.taken)))


def told(rows: list[dict], heading: bool = False) -> list[dict]:
    """The same rows, printed as soon as they are known: a run that is stopped has told what it measured."""
    if heading:
        print("  ".join(column.rjust(15) for column in rows[0]))
    for row in rows:
        cells = (f"{x:.4g}" if isinstance(x, float) else str(x) for x in row.values())
        print("  ".join(cell.rjust(15) for cell in cells), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=1000.0)
    parser.add_argument("--domains", nargs="+", default=["MountainCar", "CartpoleSwingUp"])
    parser.add_argument("--ways", nargs="+", default=["in step", "beside"])
    parser.add_argument("--capacity", type=int)
    parser.add_argument("--sac", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.sac:
        sac(args.sac, args.steps)
        return
    emuq.dispatch.inline()
    rows: list[dict] = []
    room = {} if args.capacity is None else {"capacity": args.capacity}
    for name in args.domains:
        for way in args.ways:
            rows += told(emuq_rows(name, way, args.steps, args.rate, **room), heading=not rows)
        rows += told(sac_rows(name, args.steps))
    print(f"milliseconds; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
