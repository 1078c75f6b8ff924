"""Stable-Baselines3's own `evaluate_policy` on emuq's agents: the same returns as `agent.evaluate` finds.

    .venv-sb3/bin/python benchmarks/sb3/evaluate_policy.py        (`make sb3` builds that environment)

Exits with an error where it does not work or finds other returns.
"""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

import emuq
from emuq.agents.base import Agent
from emuq.agents.rffq import RFFQ

EPISODES = 5


class Starts(gym.Wrapper):
    """Resets with the seeds that `agent.evaluate` uses, one after the other."""

    def __init__(self, env: gym.Env, agent: Agent) -> None:
        super().__init__(env)
        self._agent, self._episode = agent, 0

    def reset(self, **_):
        seed = self._agent._reset_seed(0, self._episode, test=True)
        self._episode += 1
        return self.env.reset(seed=seed)


def check(agent: Agent, make) -> None:
    agent.learn(total_timesteps=300, progress=False)
    agent.kappa = 0.0  # evaluate_policy asks for what `predict` does now, `evaluate` for kappa = 0
    ours = [row.total_return for row in agent.evaluate(EPISODES)]
    env = Monitor(Starts(make(), agent))
    theirs, _ = evaluate_policy(agent, env, n_eval_episodes=EPISODES, return_episode_rewards=True)
    np.testing.assert_allclose(theirs, ours, rtol=1e-6)
    print(
        f"{agent!r}: evaluate_policy returns {np.mean(theirs):.3g} on average, as evaluate does", flush=True
    )


def main() -> None:
    def car() -> gym.Env:
        return gym.make("emuq/MountainCar-v0", max_episode_steps=120, reward="classic")

    def chain() -> gym.Env:
        return gym.make("emuq/Chain-v0", length=8, observation="index", max_episode_steps=60)

    def walls() -> gym.Env:  # a Box of observations, discrete actions
        return gym.make("emuq/Chain-v0", length=8, max_episode_steps=60)

    for make in (car, walls):
        check(emuq.EMUQ(make(), seed=0, features=100, capacity=1024), make)
        check(RFFQ(make(), seed=0), make)
        check(emuq.DORA(make(), seed=0), make)
    check(emuq.ExplorationValues(chain(), seed=0), chain)


if __name__ == "__main__":
    main()
