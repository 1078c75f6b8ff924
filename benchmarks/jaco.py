"""A step of the Jaco environment against the MuJoCo substeps that it makes.

    python benchmarks/jaco.py [--steps 2000]

Both walk through the same torques from the same start, in turns, and the median of several rounds counts.
Exit status 1 when a step costs more than 1.3 times its substeps.
"""

from __future__ import annotations

import argparse
import sys
import time

import gymnasium as gym
import mujoco
import numpy as np

import emuq  # noqa: F401 (registers the environments)
from emuq.domains.jaco import SUBSTEPS

BAR, ROUNDS = 1.3, 9


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=400, help="steps of a round")
    args = parser.parse_args()
    # A tolerance that is never met, and no time limit: one long episode.
    env = gym.make("emuq/Jaco-v0", tolerance=1e-6, max_episode_steps=10**9)
    inner = env.unwrapped
    actions = np.random.default_rng(0).uniform(-1, 1, (args.steps, 2))
    ratios, times = [], []
    for _ in range(ROUNDS):
        env.reset(seed=0)
        begin = time.perf_counter()
        for action in actions:
            env.step(action)
        whole = time.perf_counter() - begin
        env.reset(seed=0)
        data, torques = inner.data, actions * inner._torque
        begin = time.perf_counter()
        for torque in torques:
            data.ctrl[:] = torque
            mujoco.mj_step(inner.model, data, SUBSTEPS)
        substeps = time.perf_counter() - begin
        ratios.append(whole / substeps)
        times.append((whole, substeps))
    ratio = float(np.median(ratios))
    whole, substeps = np.median(times, axis=0) / args.steps * 1e6
    print(f"a step {whole:.0f} us, its {SUBSTEPS} substeps {substeps:.0f} us: {ratio:.3f} times (bar {BAR})")
    return int(ratio > BAR)


if __name__ == "__main__":
    sys.exit(main())
