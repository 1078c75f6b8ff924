"""Episodes in which nothing is learned: the policy is tested on starts that learning never uses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import gymnasium as gym

from emuq.agents import readings
from emuq.agents.spaces import environment
from emuq.history import Episode, History
from emuq.kappa.protocol import check_whole

if TYPE_CHECKING:
    from emuq.agents.policy import Policy


def evaluate(policy: Policy, env: gym.Env | str | None, episodes: int, kappa: float, seed: int) -> History:
    """What `Policy.evaluate` does: a row for each of these episodes."""
    check_whole("episodes", episodes, 0)
    found, history, steps = environment(policy, env), History(), 0
    where = found if policy.limits is None else policy.limits.on(found)
    for i in range(int(episodes)):
        total, length, goal = rollout(policy, where, kappa, seed, i)
        steps += length
        history.append(Episode(total, length, goal, kappa, steps))
    return history


def rollout(policy: Policy, env: readings.Environment, kappa: float, *stream: int) -> tuple[float, int, bool]:
    """One such episode, its start drawn from `stream`: return, length, whether the goal was reached."""
    space = policy.observation_space
    observation = readings.reset(env, space, policy._reset_seed(*stream, test=True))
    total, length, most = 0.0, 0, -math.inf
    while True:
        length += 1
        step = readings.step(env, space, policy._greedy(observation, kappa), length, most)
        most = max(most, step.reward)
        observation, total = step.observation, total + step.reward
        if step.terminated or step.truncated:
            return total, length, step.goal
