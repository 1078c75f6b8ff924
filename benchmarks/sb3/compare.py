"""Stable-Baselines3's SAC and PPO, as they come, on emuq's goal-only domains: how often tests reach the goal.

    make sb3                                        all runs, into docs/results/sb3.json
    .venv-sb3/bin/python benchmarks/sb3/compare.py --seeds 1 --agents ppo --domains MountainCar

A run is 60 training episodes of at most 500 steps. After some of them the deterministic policy of that moment
plays 20 test episodes on starts that training never sees, the same ones after every episode and the same
ones as `emuq.EMUQ(env, seed=seed).evaluate(20)`; training starts are those of an emuq agent of that seed.
Nothing is tuned: no normalised observations, no shaped rewards, every option at Stable-Baselines3's default.
Runs already in the file are kept, so that an interrupted campaign goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import re
import time
from importlib.metadata import version
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback

import emuq  # noqa: F401 (registers the domains)
from emuq.agents.episodes import reset_seed

DOMAINS = ("MountainCar", "SinglePendulum", "DoublePendulum", "CartpoleSwingUp")
AGENTS: dict[str, type[BaseAlgorithm]] = {"sac": SAC, "ppo": PPO}
EPISODES, HORIZON = 60, 500
TESTED = (1, 2, 3, 5, 8, 12, 20, 30, 40, 50, 60)
TEST_EPISODES = 20
RESULT = pathlib.Path(__file__).parents[2] / "docs" / "results" / "sb3.json"


def make(domain: str) -> gym.Env:
    return gym.make(f"emuq/{domain}-v0", max_episode_steps=HORIZON)


class Starts(gym.Wrapper):
    """Training episode e starts from `reset_seed(seed, e)`, whatever seed the caller passes, if any."""

    def __init__(self, env: gym.Env, seed: int) -> None:
        super().__init__(env)
        self._seed, self._episode = seed, 0

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        start = reset_seed(self._seed, self._episode)
        self._episode += 1
        return self.env.reset(seed=start, options=options)


class Played(NamedTuple):
    """A test episode."""

    total_return: float
    length: int
    goal: bool


def test(model: BaseAlgorithm, envs: list[gym.Env], seed: int) -> list[Played]:
    """One test episode of the deterministic policy in each environment.

    The episodes go side by side, so that the policy is asked once a step for all of them.
    """
    observations = np.stack(
        [env.reset(seed=reset_seed(seed, 0, i, test=True))[0] for i, env in enumerate(envs)]
    )
    played = [Played(0.0, 0, False)] * len(envs)
    playing = list(range(len(envs)))
    while playing:
        actions, _ = model.predict(observations[playing], deterministic=True)
        going = []
        for i, action in zip(playing, actions, strict=True):
            observations[i], reward, terminated, truncated, info = envs[i].step(action)
            total, length, goal = played[i]
            played[i] = Played(total + float(reward), length + 1, goal or info.get("is_success", False))
            if not (terminated or truncated):
                going.append(i)
        playing = going
    return played


class Record(BaseCallback):
    """Counts episodes and goals, tests after some episodes, and stops after the last."""

    def __init__(self, domain: str, seed: int) -> None:
        super().__init__()
        self._envs, self._seed = [make(domain) for _ in range(TEST_EPISODES)], seed
        self.episode = self.goals = 0
        self.first_goal: int | None = None
        self.tests: list[dict] = []

    def _on_step(self) -> bool:
        if not self.locals["dones"][0]:
            return True
        self.episode += 1
        if self.locals["infos"][0]["is_success"]:
            self.goals += 1
            self.first_goal = self.first_goal or self.episode
        if self.episode in TESTED:
            reached = [e.length for e in test(self.model, self._envs, self._seed) if e.goal]
            mean = round(float(np.mean(reached)), 2) if reached else None
            share = len(reached) / TEST_EPISODES
            self.tests.append(
                {"episode": self.episode, "success": share, "steps": mean, "env_steps": self.num_timesteps}
            )
        return self.episode < EPISODES


def run(agent: str, domain: str, seed: int) -> dict:
    """One run: what it found, when, and how its tests went."""
    began = time.perf_counter()
    model = AGENTS[agent]("MlpPolicy", Starts(make(domain), seed), seed=seed, device="cpu")
    record = Record(domain, seed)
    model.learn(total_timesteps=EPISODES * HORIZON, callback=record)
    return {
        "seed": seed,
        "first_goal": record.first_goal,
        "goals": record.goals,
        "env_steps": record.num_timesteps,
        "seconds": round(time.perf_counter() - began, 1),
        "tests": record.tests,
    }


def about(**settings: int) -> dict:
    """What the runs were made with."""
    names = ("stable-baselines3", "torch", "gymnasium", "jax", "numpy")
    return {
        **settings,
        "options": "the defaults of Stable-Baselines3, MlpPolicy, one thread on the CPU",
        "versions": {"python": platform.python_version(), **{name: version(name) for name in names}},
    }


def write(result: dict, path: pathlib.Path) -> None:
    """The whole file or the one before, never half of one. What holds no more lists is one line."""
    text = re.sub(
        r"\{[^][{}]*\}|\[[^][{}]*\]", lambda inner: " ".join(inner[0].split()), json.dumps(result, indent=1)
    )
    part = path.with_suffix(".part")
    part.write_text(text + "\n")
    os.replace(part, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="runs of each agent on each domain")
    parser.add_argument("--agents", nargs="+", choices=AGENTS, default=list(AGENTS))
    parser.add_argument("--domains", nargs="+", choices=DOMAINS, default=list(DOMAINS))
    parser.add_argument("--out", type=pathlib.Path, default=RESULT)
    given = parser.parse_args()
    torch.set_num_threads(1)
    result = json.loads(given.out.read_text()) if given.out.exists() else {"domains": {}}
    settings = about(episodes=EPISODES, horizon=HORIZON, test_episodes=TEST_EPISODES)
    result = {**settings, "domains": result["domains"]}
    # Seeds outermost: an interrupted campaign has as many runs of each.
    for seed in range(given.seeds):
        for domain in given.domains:
            for agent in given.agents:
                runs = result["domains"].setdefault(domain, {}).setdefault(agent, [])
                if any(row["seed"] == seed for row in runs):
                    continue
                row = run(agent, domain, seed)
                runs.append(row)
                runs.sort(key=lambda row: row["seed"])
                write(result, given.out)
                last = row["tests"][-1]
                print(
                    f"{domain:16} {agent} seed {seed}: first goal {row['first_goal']}, {row['goals']} goals, "
                    f"last test {last['success']:.2f} in {last['steps']} steps, "
                    f"{row['env_steps']} steps, {row['seconds']} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
