"""Many runs as one program, on whichever device JAX has: steps, whole runs, and a batch beside single runs.

python benchmarks/batch.py                     everything, at sizes for this device
python benchmarks/batch.py steps --runs 2048   steps alone, no plan due
python benchmarks/batch.py goals --runs 4096   complete runs to their first goal, from nothing
python benchmarks/batch.py long --runs 1024    100 episodes without stopping
python benchmarks/batch.py decide --runs 1000  one decision at kappa = 0 of so many agents, which search
python benchmarks/batch.py single              20 runs as a batch, and one after the other
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from emuq import batch, dispatch
from emuq.batch import programs, request
from emuq.batch.driver import Driver, Sizes
from emuq.planning import search

DOMAIN = "MountainCar"


def steps(runs: int, features: int, ticks: int = 64, repeats: int = 5) -> dict:
    """Steps a second while no plan is due, the posterior updated at each, and the memory's own speed."""
    options = {"features": features, "plan_interval": 4096, "lookahead": 0, "capacity": 1024, "kappa": 1.0}
    sizes = request.sizes_here()._replace(group=runs)
    task, keys, seeds, own = request.prepare(DOMAIN, range(runs), steps=1024, sizes=sizes, **options)
    with request.precision():
        began = time.perf_counter()
        driver = Driver(task, keys, seeds, own)
        group = driver.groups[0]
        jax.block_until_ready(group.runs)
        made = time.perf_counter() - began

        def advance() -> float:
            clock = programs.Clock(*(np.int32(0) for _ in range(3)))
            began = time.perf_counter()
            group.runs, *_ = programs.advance(
                task.kind, False, task.numbers, task.tables, group.runs, clock, np.int32(ticks)
            )
            jax.block_until_ready(group.runs)
            return time.perf_counter() - began

        compiled = advance()
        taken = float(np.median([advance() for _ in range(repeats)])) / ticks
        moved = _seconds_to_read(group.runs.agent.state.blocked.covariance)
    return {
        "what": "steps",
        "runs": runs,
        "M": features,
        "steps a second": runs / taken,
        "ms a step of all": 1e3 * taken,
        "ms to read S once": 1e3 * moved,
        "ratio": taken / moved,
        "s to make": made,
        "s to compile": compiled,
    }


def _seconds_to_read(array: jax.Array, times: int = 20) -> float:
    read = jax.jit(lambda x: x.sum(axis=(1, 2)))
    read(array).block_until_ready()
    began = time.perf_counter()
    for _ in range(times):
        found = read(array)
    found.block_until_ready()
    return (time.perf_counter() - began) / times


def goals(runs: int, domain: str, episodes: int = 100) -> dict:
    """Complete default runs to their first goal, agents made and programs compiled."""
    began = time.perf_counter()
    found = batch.run(domain, range(100, 100 + runs), episodes=episodes, until="goal")
    return _told(f"{domain} to the goal", found, time.perf_counter() - began)


def long(runs: int, domain: str, episodes: int = 100) -> dict:
    """Default runs of so many episodes."""
    began = time.perf_counter()
    found = batch.run(domain, range(100, 100 + runs), episodes=episodes)
    return _told(f"{domain}, {episodes} episodes", found, time.perf_counter() - began)


def _told(what: str, found: batch.Runs, taken: float) -> dict:
    return {
        "what": what,
        "runs": len(found.seeds),
        "seconds": taken,
        "steps": int(found.steps.sum()),
        "steps a second": float(found.steps.sum()) / taken,
        "found": int((found.goal_episode > 0).sum()),
        "mean episodes": float(found.goal_episode.mean()),
        "share of episodes at the goal": float(found.goals.sum() / (found.lengths > 0).sum()),
    }


def decide(runs: int, domain: str, repeats: int = 20) -> dict:
    """One decision of each of so many agents, each with a policy of its own, 16 steps ahead at kappa = 0."""
    import gymnasium as gym

    import emuq

    env = gym.make(f"emuq/{domain}-v0")
    agent = emuq.EMUQ(env, seed=100)
    agent.learn(steps=600, progress=False)
    agent.look()
    with request.precision():
        state = agent.whole_state()
        policy = state.lookahead._replace(reach=np.int32(search.DEPTH))
        policies = jax.tree.map(lambda x: jnp.repeat(jnp.asarray(x)[None], runs, axis=0), policy)
        places = state.data.states[np.arange(runs) % agent.num_transitions]
        both = jax.jit(jax.vmap(lambda policy, place: search.action_values(policy, place, np.uint32(1))))
        began = time.perf_counter()
        both(policies, places).block_until_ready()
        compiled = time.perf_counter() - began
        taken = []
        for _ in range(repeats):
            began = time.perf_counter()
            both(policies, places).block_until_ready()
            taken.append(time.perf_counter() - began)
    return {
        "what": f"decisions of {domain}",
        "runs": runs,
        "actions": len(policy.actions),
        "dimensions": places.shape[1],
        "ms": 1e3 * float(np.median(taken)),
        "ms, 99th percentile": 1e3 * float(np.quantile(taken, 0.99)),
        "s to compile": compiled,
    }


def single(runs: int, domain: str, repeats: int = 3) -> dict:
    """A batch to the first goal beside the same runs one after the other: the least time of each.

    They take turns, since others may be at work on the machine; the first turn compiles, and is told apart.
    """
    import gymnasium as gym

    import emuq

    seeds = range(100, 100 + runs)

    def together() -> None:
        batch.run(domain, seeds, episodes=100, until="goal")

    def alone() -> None:
        for seed in seeds:
            agent = emuq.EMUQ(gym.make(f"emuq/{domain}-v0"), seed=seed)
            agent.learn(episodes=100, until="goal", progress=False)

    taken: dict[str, list[float]] = {}
    for turn in range(1 + repeats):
        for name, way in (("batch", together), ("single", alone)):
            began, used = time.perf_counter(), time.process_time()
            way()
            when = "" if turn else ", first time,"
            taken.setdefault(f"{name}{when} s", []).append(time.perf_counter() - began)
            taken.setdefault(f"{name}{when} CPU s", []).append(time.process_time() - used)
    least = {name: min(seconds) for name, seconds in taken.items()}
    return {"what": f"batch beside single runs of {domain}", "runs": runs, **least}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="*", help="steps, goals, long, decide, single")
    parser.add_argument("--runs", type=int, help="how many; by the device without it")
    parser.add_argument("--features", type=int, default=300, help="M, of `steps`")
    parser.add_argument("--domain", default=DOMAIN)
    parser.add_argument("--sizes", type=int, nargs=3, help="runs that step, plan and look at a time")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    args = parser.parse_args()
    dispatch.inline()
    if args.sizes:
        request.CPU = request.GPU = Sizes(*args.sizes)
    on_cpu = jax.default_backend() == "cpu"
    few = {"steps": 16, "goals": 20, "long": 4, "decide": 4}
    if not on_cpu:
        few = {"steps": 2048, "goals": 4096, "long": 1024, "decide": 1000}
    rows = []
    print(f"on {jax.devices()[0].device_kind}")
    for what in args.what or [*few, "single"]:
        runs = args.runs or few.get(what, 20)
        ways = {
            "steps": lambda n: steps(n, args.features),
            "goals": lambda n: goals(n, args.domain),
            "long": lambda n: long(n, args.domain),
            "decide": lambda n: decide(n, args.domain),
            "single": lambda n: single(n, args.domain),
        }
        row = ways[what](runs)
        rows.append(row)
        print(
            "; ".join(f"{k}: {v:,.4g}" if isinstance(v, float) else f"{k}: {v}" for k, v in row.items()),
            flush=True,
        )
        if args.json:
            args.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
