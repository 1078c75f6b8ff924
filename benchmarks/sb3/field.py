"""Stable-Baselines3's SAC and PPO, as they come, on the five Gymnasium tasks of `emuq reproduce field`.

    make sb3-field                                  all runs, into docs/results/field-sb3.json
    .venv-sb3/bin/python benchmarks/sb3/field.py --seeds 1 --agents ppo --tasks CartPole-v1

Steps, marks, starts and tests are those of `emuq reproduce field`, which shows these runs beside its own. At
each mark the deterministic policy of that moment plays. Nothing is tuned: every option is at its default. SAC
has no run where actions are discrete. Runs already in the file are kept, so that an interrupted campaign goes
on where it was.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time

import gymnasium as gym
import numpy as np
import torch
from compare import AGENTS, Starts, about, test, write
from stable_baselines3.common.callbacks import BaseCallback

from emuq.experiments.field_sb3 import FILE
from emuq.experiments.field_tasks import GYMNASIUM, TESTS, make, spec_of
from emuq.run.spec import RunSpec


class Record(BaseCallback):
    """Tests at the marks, and stops at the last step."""

    def __init__(self, spec: RunSpec) -> None:
        super().__init__()
        self._spec, self._envs = spec, [make(spec) for _ in range(spec["tests"])]
        self.returns: list[float] = []
        self.testing = 0.0  # seconds

    def _on_step(self) -> bool:
        if self.num_timesteps in self._spec["marks"]:
            began = time.perf_counter()
            played = test(self.model, self._envs, self._spec.seed)
            self.returns.append(float(np.mean([episode.total_return for episode in played])))
            self.testing += time.perf_counter() - began
        return self.num_timesteps < self._spec["steps"]


def run(agent: str, task: str, seed: int) -> dict:
    """One run, in the form that `emuq.experiments.field_sb3` reads."""
    spec = spec_of(agent, task, seed)
    model = AGENTS[agent]("MlpPolicy", Starts(make(spec), seed), seed=seed, device="cpu")
    record = Record(spec)
    began = time.perf_counter()
    model.learn(total_timesteps=spec["steps"], callback=record)
    seconds = round(time.perf_counter() - began - record.testing, 3)
    return {"agent": agent, "task": task, "seed": seed, "marks": spec["marks"], "returns": record.returns,
            "seconds": seconds}  # fmt: skip


def serves(agent: str, task: str) -> bool:
    """SAC acts in a Box alone."""
    return agent != "sac" or isinstance(make(spec_of(agent, task, 0)).action_space, gym.spaces.Box)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="runs of each agent on each task")
    parser.add_argument("--agents", nargs="+", choices=AGENTS, default=list(AGENTS))
    parser.add_argument("--tasks", nargs="+", choices=GYMNASIUM, default=list(GYMNASIUM))
    parser.add_argument("--out", type=pathlib.Path, default=FILE)
    given = parser.parse_args()
    torch.set_num_threads(1)
    runs = json.loads(given.out.read_text())["runs"] if given.out.exists() else []
    done = {(row["agent"], row["task"], row["seed"]) for row in runs}
    pairs = [(agent, task) for task in given.tasks for agent in given.agents if serves(agent, task)]
    # Seeds outermost: an interrupted campaign has as many runs of each.
    for seed in range(given.seeds):
        for agent, task in pairs:
            if (agent, task, seed) in done:
                continue
            row = run(agent, task, seed)
            runs.append(row)
            write({**about(test_episodes=TESTS), "runs": runs}, given.out)
            last = f"{row['returns'][-1]:.1f} at {row['marks'][-1]:,} steps"
            print(f"{task:24} {agent} seed {seed}: return {last}, {row['seconds']:.0f} s", flush=True)


if __name__ == "__main__":
    main()
