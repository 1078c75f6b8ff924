"""Each baseline where its authors say that it works: sparse MountainCar, at their own budget.

    python examples/baselines.py dora-lll [SEEDS]   # MountainCar-v0, three actions, 1000 steps an episode
    python examples/baselines.py vime [SEEDS]       # MountainCarContinuous, batches of 5000 steps

Prints, for each seed, the first goal and how often the goal was reached over time.
"""

from __future__ import annotations

import sys

import gymnasium as gym
import numpy as np

import emuq

EPISODES, STEPS = 300, 100_000


def dora(variant: str, seed: int) -> emuq.DORA:
    """The discrete car with +1 at the goal and 0 elsewhere."""
    env = emuq.GoalOnly(gym.make("MountainCar-v0", max_episode_steps=1000), goal="termination")
    agent = emuq.DORA(env, variant=variant, memory=2048, seed=seed)
    agent.learn(episodes=EPISODES, progress=False)
    return agent


def vime(seed: int) -> emuq.VIME:
    """The continuous car with +1 at the goal and 0 elsewhere, 500 steps an episode."""
    agent = emuq.VIME(gym.make("emuq/MountainCar-v0"), seed=seed)
    agent.learn(steps=STEPS, progress=False)
    return agent


def main() -> None:
    name, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    for seed in range(seeds):
        agent = vime(seed) if name == "vime" else dora(name.removeprefix("dora-"), seed)
        rows = agent.history.to_dict()
        goals, steps = np.array(rows["goal"]), np.array(rows["steps"])
        quarters = np.array_split(goals, 4)
        shares = ", ".join(f"{quarter.mean():.0%}" for quarter in quarters)
        first = agent.history.first_goal
        found = "no goal" if first is None else f"first goal in episode {first}, step {steps[first - 1]:,}"
        last = np.mean(rows["length"][-50:])
        print(f"{name} seed {seed}: {found}; goal reached in {shares} of episodes, by quarters; "
              f"mean length of the last 50: {last:.0f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
