"""Episodes and steps to the first goal when less is given, or more than matters.

    python docs/notebook/nothing_given.py --seeds 100 108 --domains MountainCar --out runs.jsonl
    python docs/notebook/nothing_given.py --table runs.jsonl

The conditions: `as is`; `withheld`, no observation bounds; `times 100` and `times 0.01`, rewards; `noise`,
three numbers of pure noise after the observation (uniform in [0, 1], with these bounds); `both`, normal
noise, and no bounds at all. Finished runs are kept and not made again.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time

import gymnasium as gym
import numpy as np

import emuq

DOMAINS = (
    "SinglePendulum",
    "MountainCar",
    "DoublePendulum",
    "CartpoleSwingUp",
    "LunarLander",
    "Reacher",
    "Hopper",
)
CONDITIONS = "as is", "withheld", "times 100", "times 0.01", "noise", "both"
EPISODES, HORIZON, NOISE = 100, 500, 3


class Given(gym.Env):
    """A domain under a condition. Not a wrapper: nothing of the domain but what it observes is to be seen."""

    def __init__(self, domain: str, condition: str, seed: int) -> None:
        self.inner = gym.make(f"emuq/{domain}-v0", max_episode_steps=HORIZON)
        self.action_space = self.inner.action_space
        low, high = self.inner.unwrapped.normalisation
        noisy = condition in ("noise", "both")
        self.factor = {"times 100": 100.0, "times 0.01": 0.01}.get(condition, 1.0)
        draw = np.random.default_rng([seed, 22])
        self.noise = {"noise": lambda: draw.random(NOISE), "both": lambda: draw.standard_normal(NOISE)}.get(
            condition
        )
        if noisy:
            low, high = np.append(low, np.zeros(NOISE)), np.append(high, np.ones(NOISE))
        if condition in ("withheld", "both"):
            low, high = np.full(len(low), -np.inf), np.full(len(high), np.inf)
        self.observation_space = gym.spaces.Box(low, high, dtype=np.float64)

    def _seen(self, observation: np.ndarray) -> np.ndarray:
        return observation if self.noise is None else np.append(observation, self.noise())

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        observation, info = self.inner.reset(seed=seed, options=options)
        return self._seen(observation), info

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        observation, reward, terminated, truncated, info = self.inner.step(action)
        return self._seen(observation), self.factor * float(reward), terminated, truncated, info


def run(domain: str, condition: str, seed: int, cap: int) -> dict:
    """One agent with nothing but the environment and the seed, up to its first goal."""
    began = time.monotonic()
    agent = emuq.EMUQ(Given(domain, condition, seed), seed=seed)
    history = agent.learn(episodes=cap, until="goal", progress=False)
    first = history.first_goal
    return {
        "domain": domain,
        "condition": condition,
        "seed": seed,
        "episodes": first,
        "cap": cap,
        "steps": agent.num_transitions,
        "seconds": round(time.monotonic() - began, 1),
    }


def table(paths: list[pathlib.Path]) -> str:
    """Goals found, mean episodes (without a goal: the cap), the ratio to `as is`, median steps."""
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    lines = [
        "| domain | condition | found | episodes | ratio | median steps |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for domain in DOMAINS:
        base = None
        for condition in CONDITIONS:
            some = [r for r in rows if (r["domain"], r["condition"]) == (domain, condition)]
            if not some:
                continue
            mean = np.mean([r["episodes"] or r["cap"] for r in some])
            base = mean if condition == "as is" else base
            found = f"{sum(r['episodes'] is not None for r in some)}/{len(some)}"
            ratio = f"{mean / base:.2f}" if base else ""
            steps = np.median([r["steps"] for r in some])
            lines.append(f"| {domain} | {condition} | {found} | {mean:.2f} | {ratio} | {steps:.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 20), help="from, to (without it)")
    parser.add_argument("--domains", nargs="+", default=DOMAINS)
    parser.add_argument("--conditions", nargs="+", default=CONDITIONS)
    parser.add_argument("--cap", type=int, default=EPISODES, help="episodes of a run, at most")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("nothing_given.jsonl"))
    parser.add_argument(
        "--table", type=pathlib.Path, nargs="+", help="print the table of these files, run nothing"
    )
    given = parser.parse_args()
    if given.table:
        print(table(given.table))
        return
    emuq.cache.enable()
    done = set()
    if given.out.exists():
        rows = map(json.loads, given.out.read_text().splitlines())
        done = {(r["domain"], r["condition"], r["seed"]) for r in rows}
    with given.out.open("a") as file:
        for seed in range(*given.seeds):
            for domain in given.domains:
                for condition in given.conditions:
                    if (domain, condition, seed) not in done:
                        row = run(domain, condition, seed, given.cap)
                        print(json.dumps(row), file=file, flush=True)
    print(table([given.out]))


if __name__ == "__main__":
    main()
