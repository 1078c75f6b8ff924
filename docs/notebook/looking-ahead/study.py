"""Learning by looking ahead: what docs/notebook/looking-ahead.md tells of, one task and seed at a time.

    python docs/notebook/looking-ahead/study.py Pendulum-v1 100 --steps 2000

The first steps explore: EMU-Q's U alone, until an episode has ended by itself, or rewards have differed and
400 steps have been made. Then every episode acts on the newest plan, which is made anew whenever the data have
grown by 20 steps and a tenth, and is tested on starts of their own every 250 steps.
"""

from __future__ import annotations

import argparse

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import support
from dynamics import draw_frequencies

import emuq
from emuq.agents.spaces import actions_of, from_index
from emuq.planning import transitions
from emuq.precision import double

plan = jax.jit(support.plan, static_argnames="discount")
values = jax.jit(support.action_values)
append = jax.jit(transitions.append, donate_argnums=0)


class Learner:
    """The data, and the newest plan of them."""

    def __init__(self, env: gym.Env, seed: int, capacity: int = 8192) -> None:
        self.actions, dim = actions_of(env.action_space), env.observation_space.shape[0]
        self.choices = [
            from_index(self.actions, i, env.action_space.dtype) for i in range(len(self.actions.candidates))
        ]
        with double():
            frequencies = draw_frequencies(np.random.default_rng(seed), 250, dim, self.actions.dim)
            self.policy = support.nothing(frequencies, jnp.asarray(self.actions.candidates), dim)
            self.data = transitions.empty(capacity, dim, self.actions.dim)
        self.count = self.planned = 0

    def act(self, observation: np.ndarray) -> int:
        with double():
            return int(np.argmax(np.asarray(values(self.policy, jnp.asarray(observation)))))

    def observe(self, observation, unit, reward, following, terminated) -> None:
        with double():
            self.data = append(self.data, observation, unit, float(reward), following, bool(terminated))
        self.count += 1

    def plan(self, times: int = 1) -> None:
        with double():
            for _ in range(times):
                self.policy = plan(self.policy, self.data, 0.99)
        self.planned = self.count


def explore(env: gym.Env, learner: Learner, seed: int, bounds) -> None:
    """U alone, until there is something to exploit."""
    rewards: set[float] = set()

    def keep(event) -> bool:
        if event.kind == "step":
            t = event.transition
            unit = learner.actions.candidates[
                int(np.argmin([np.sum((np.asarray(c) - np.asarray(t.action)) ** 2) for c in learner.choices]))
            ]
            learner.observe(t.observation, unit, t.reward, t.next_observation, t.terminated)
            rewards.add(t.reward)
            return not (t.terminated or (len(rewards) > 1 and learner.count >= 400))
        return True

    agent = emuq.EMUQ(env, seed=seed, kappa=float("inf"), observation_bounds=bounds)
    agent.learn(steps=2000, callback=keep, progress=False)


def episode(env: gym.Env, learner: Learner, seed: int, *, learns: bool) -> float:
    observation, _ = env.reset(seed=seed)
    total = 0.0
    while True:
        index = learner.act(observation)
        following, reward, terminated, truncated, _ = env.step(learner.choices[index])
        total += float(reward)
        if learns:
            learner.observe(observation, learner.actions.candidates[index], reward, following, terminated)
            if learner.count >= learner.planned + max(20, learner.planned // 10):
                learner.plan()
        observation = following
        if terminated or truncated:
            return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task")
    parser.add_argument("seed", type=int)
    parser.add_argument("--steps", type=int, default=2000)
    given = parser.parse_args()
    env, bounds = gym.make(given.task), None
    if given.task == "CartPole-v1":
        bounds = ([-4.8, -4, -0.42, -4], [4.8, 4, 0.42, 4])
    learner = Learner(env, given.seed)
    explore(env, learner, given.seed, bounds)
    learner.plan(times=5)
    number, tested = 0, learner.count
    while learner.count < given.steps:
        episode(env, learner, 1000 * given.seed + number, learns=True)
        number += 1
        if learner.count - tested >= 250:
            tested = learner.count
            returns = [episode(env, learner, 10**6 + i, learns=False) for i in range(10)]
            print(f"{tested} steps: {np.mean(returns):.1f} (10 tests)", flush=True)


if __name__ == "__main__":
    main()
