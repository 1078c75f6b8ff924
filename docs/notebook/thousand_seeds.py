"""Lengthscale x kappa x features of the default agent: steps to the first goal, a thousand seeds a cell.

    python docs/notebook/thousand_seeds.py --out runs.jsonl
    python docs/notebook/thousand_seeds.py --domains CartpoleSwingUp --features 500 --out cartpole.jsonl
    python docs/notebook/thousand_seeds.py --table runs.jsonl cartpole.jsonl

A cell is a line of JSON, written as soon as it is done; cells that the file has are not made again. All
lengthscales of one domain, kappa and number of features are one batch. Several processes may share a GPU,
each with a file of its own, if none of them takes all of its memory:

    XLA_PYTHON_CLIENT_PREALLOCATE=false XLA_PYTHON_CLIENT_MEM_FRACTION=0.2 python ...

Before the first goal all rewards are 0, and Q with them, but on CartpoleSwingUp, where leaving the track
costs 1. The action with the greatest Q + kappa U is then that with the greatest U, whatever kappa is: so
kappa is varied on CartpoleSwingUp alone, and is 1 elsewhere.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from collections.abc import Sequence

import numpy as np

import emuq
from emuq import dispatch
from emuq.experiments import statistics
from emuq.experiments.statistics import Estimate

DOMAINS = "SinglePendulum", "MountainCar", "DoublePendulum", "CartpoleSwingUp"
PUNISHED = ("CartpoleSwingUp",)  # domains with a reward before the first goal
LENGTHSCALES, KAPPAS, FEATURES = (0.25, 0.5, 1.0), (1.0, 0.3, 3.0), (500, 300, 150)
EPISODES = 100  # of a run at most
NAMES = "domain", "features", "kappa", "lengthscale", "seeds"  # what tells cells apart


def calls(given: argparse.Namespace) -> list[tuple[str, int, float]]:
    """Domain, features and kappa of each batch: those with kappa = 1 first, which all domains have."""
    return [
        (domain, features, kappa)
        for kappa in given.kappas
        for features in given.features
        for domain in given.domains
        if kappa == 1 or domain in PUNISHED
    ]


def cells(
    domain: str, features: int, kappa: float, lengthscales: Sequence[float], seeds: tuple[int, int]
) -> list[dict]:
    """One batch: a cell for each lengthscale, with all seeds."""
    words, began = np.arange(*seeds), time.perf_counter()
    runs = emuq.batch.run(
        domain, np.tile(words, len(lengthscales)), episodes=EPISODES, until="goal", features=features,
        kappa=np.full(len(words) * len(lengthscales), kappa),
        state_lengthscale=np.repeat(lengthscales, len(words)),
    )  # fmt: skip
    seconds = time.perf_counter() - began
    found = []
    for i, lengthscale in enumerate(lengthscales):
        at = slice(i * len(words), (i + 1) * len(words))
        cell = dict(zip(NAMES, (domain, features, kappa, lengthscale, list(seeds)), strict=True))
        cell["seconds_of_batch"] = round(seconds, 1)
        found.append(cell | summary(runs.goal_episode[at], runs.steps[at]))
    return found


def summary(episode: np.ndarray, steps: np.ndarray) -> dict:
    """A run without a goal counts with all its episodes and steps; its `goal_steps` are 0."""
    capped = np.where(episode > 0, episode, EPISODES)
    return {
        "runs": len(episode),
        "success": _told(statistics.wilson(int((episode > 0).sum()), len(episode))),
        "mean_episodes": _told(statistics.mean(capped)),
        "mean_steps": _told(statistics.mean(steps)),
        "median_steps": _told(statistics.bootstrap(steps, np.median)),
        "goal_episode": episode.tolist(),
        "goal_steps": np.where(episode > 0, steps, 0).tolist(),
    }


def _told(estimate: Estimate) -> dict:
    """The number and its 95% interval, which is None of fewer than six runs."""
    return {"value": estimate.value, "interval": estimate.interval}


def table(paths: Sequence[pathlib.Path]) -> str:
    """Rows of all files, sorted; an interval in square brackets is a 95% interval."""
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    rows = list({_name(row): row for row in rows}.values())
    rows.sort(
        key=lambda r: (DOMAINS.index(r["domain"]), r["features"], r["kappa"], r["lengthscale"], r["seeds"])
    )
    head = "domain", "features", "kappa", "lengthscale", "goal found", "mean episodes", "median steps"
    lines = [[*head, "mean steps"], ["---"] * (len(head) + 1)]
    for row in rows:
        missing = sum(episode == 0 for episode in row["goal_episode"])
        lines.append(
            [
                row["domain"], row["features"], f"{row['kappa']:g}", f"{row['lengthscale']:g}",
                f"{row['runs'] - missing}/{row['runs']}", _cell(row["mean_episodes"], ".2f"),
                _cell(row["median_steps"], ".0f"), _cell(row["mean_steps"], ".0f"),
            ]
        )  # fmt: skip
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _cell(told: dict, form: str) -> str:
    interval = told["interval"]
    ends = "" if interval is None else f" [{interval[0]:{form}}, {interval[1]:{form}}]"
    return f"{told['value']:{form}}{ends}"


def _name(row: dict) -> tuple:
    return tuple(str(row[name]) for name in NAMES)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs=2, default=(1000, 2000), help="from, to (without it)")
    parser.add_argument("--domains", nargs="+", default=DOMAINS, choices=DOMAINS)
    parser.add_argument("--features", type=int, nargs="+", default=FEATURES)
    parser.add_argument("--kappas", type=float, nargs="+", default=KAPPAS)
    parser.add_argument("--lengthscales", type=float, nargs="+", default=LENGTHSCALES)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("thousand_seeds.jsonl"))
    parser.add_argument("--table", type=pathlib.Path, nargs="+", help="print the table of these, run nothing")
    given = parser.parse_args()
    if given.table:
        print(table(given.table))
        return
    dispatch.inline()
    emuq.cache.enable()
    done = set()
    if given.out.exists():
        done = {_name(json.loads(line)) for line in given.out.read_text().splitlines()}
    seeds = tuple(given.seeds)
    with given.out.open("a") as file:
        for domain, features, kappa in calls(given):
            missing = [
                scale
                for scale in given.lengthscales
                if tuple(map(str, (domain, features, kappa, scale, list(seeds)))) not in done
            ]
            if not missing:
                continue
            made = cells(domain, features, kappa, missing, seeds)
            for cell in made:
                print(json.dumps(cell), file=file, flush=True)
            print(f"{domain}, M = {features}, kappa = {kappa:g}: {made[0]['seconds_of_batch']} s", flush=True)


if __name__ == "__main__":
    main()
