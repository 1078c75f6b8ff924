"""Your own environment, made goal-only: how long does chance take to find the goal?

    python examples/goal_only.py

CartPole's reward is 1 a step for as long as the pole stands. Here the goal is to take the cart 30 cm to
the right instead, and losing the pole or the track on the way is a failure.
"""

from __future__ import annotations

import gymnasium as gym
import numpy as np

import emuq


def far_right(observation: np.ndarray, reward: float, info: dict) -> bool:
    """A goal is any function of what a step returned."""
    return bool(observation[0] > 0.3)


def main(episodes: int = 2000) -> None:
    env = emuq.GoalOnly(gym.make("CartPole-v1"), goal=far_right, failure="termination")
    env.action_space.seed(0)
    outcomes = []
    for episode in range(episodes):
        env.reset(seed=episode)
        over = False
        while not over:
            _, reward, terminated, truncated, info = env.step(env.action_space.sample())
            over = terminated or truncated
        outcomes.append((info["is_success"], reward))
    goals = sum(success for success, _ in outcomes)
    failures = sum(reward < 0 for _, reward in outcomes)
    print(f"uniform random policy, {episodes} episodes: {goals} reached the goal, {failures} failed")


if __name__ == "__main__":
    main()
