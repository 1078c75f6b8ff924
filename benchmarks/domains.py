"""256 copies of a domain under vmap against 256 of Gymnasium's originals in a loop.

    python benchmarks/domains.py [--copies 256] [--steps 500] [--json]

Both step with uniform actions drawn beforehand and start anew where an episode ends. `scan`: the loop over
steps is compiled too, as in batched runs; `call`: one compiled call a step, from Python. Double precision
throughout. Exit status 1 when a domain is less than 20 times faster under `scan`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from emuq import domains
from emuq.domains.base import Domain
from emuq.precision import double

ORIGINALS = {
    "SinglePendulum": "Pendulum-v1",
    "MountainCar": "MountainCarContinuous-v0",
    "DoublePendulum": "Acrobot-v1",
    "CartpoleSwingUp": "CartPole-v1",
    "CliffWalking": "CliffWalking-v1",
    "Taxi": "Taxi-v4",
}
BAR = 20.0
REPEATS = 5


def loop_seconds(name: str, copies: int, steps: int) -> float:
    """Seconds for one step of one copy of Gymnasium's original, without its wrappers."""
    envs = [gym.make(name).unwrapped for _ in range(copies)]
    for i, env in enumerate(envs):
        env.reset(seed=i)
        env.action_space.seed(i)
    actions = [[env.action_space.sample() for env in envs] for _ in range(steps)]
    begin = time.perf_counter()
    for row in actions:
        for env, action in zip(envs, row, strict=True):
            if env.step(action)[2]:
                env.reset()
    return (time.perf_counter() - begin) / (steps * copies)


def advance(domain: Domain):
    """One step of every copy, with a new start where an episode ends."""

    def step(states, actions, keys):
        result = jax.vmap(domain.step)(states, actions, keys)

        def restart(after):
            starts = jax.vmap(domain.reset)(keys)
            return jax.tree.map(lambda new, old: jnp.where(result.terminated, new, old), starts, after)

        # Starts are drawn only in the steps that need one, as in the loop.
        after = jax.lax.cond(result.terminated.any(), restart, lambda after: after, result.state)
        return after, jax.vmap(domain.observe)(result.state), result.reward, result.terminated

    return step


def vmap_seconds(domain: Domain, copies: int, steps: int) -> tuple[float, float]:
    """Seconds for one step of one copy: a call a step, and the whole loop compiled. The best of five runs."""
    key = jax.random.key(0)
    shape = (steps, copies)
    if domain.num_actions is None:
        actions = jax.random.uniform(key, (*shape, 1), minval=-1.0, maxval=1.0)
    else:
        actions = jax.random.randint(key, shape, 0, domain.num_actions)
    keys = jax.random.split(key, shape)
    first = jax.jit(jax.vmap(domain.reset))(jax.random.split(key, copies))
    step = jax.jit(advance(domain))

    @jax.jit
    def scan(state, actions, keys):
        def body(state, inputs):
            state, observation, reward, _ = advance(domain)(state, *inputs)
            return state, (observation, reward)

        return jax.lax.scan(body, state, (actions, keys))

    rows = [(actions[t], keys[t]) for t in range(steps)]
    jax.block_until_ready((step(first, *rows[0]), scan(first, actions, keys), rows))
    calls, scans = [], []
    for _ in range(REPEATS):
        begin, state = time.perf_counter(), first
        for row in rows:
            state, observation, _, _ = step(state, *row)
            np.asarray(observation)  # As a Python loop would: it waits for what it sees.
        calls.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        jax.block_until_ready(scan(first, actions, keys))
        scans.append(time.perf_counter() - begin)
    return min(calls) / (steps * copies), min(scans) / (steps * copies)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--copies", type=int, default=256)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = []
    if not args.json:
        print("domain            Gymnasium  call, vmap  scan, vmap   (ns a step)   faster: call   scan")
    for name, original in ORIGINALS.items():
        slow = loop_seconds(original, args.copies, min(args.steps, 100))
        with double():
            call, scan = vmap_seconds(domains.make(name), args.copies, args.steps)
        rows.append({"domain": name, "loop_s": slow, "call_s": call, "scan_s": scan, "call_x": slow / call,
                     "scan_x": slow / scan})  # fmt: skip
        if not args.json:
            times = f"{slow * 1e9:9.0f}  {call * 1e9:10.0f}  {scan * 1e9:10.0f}"
            print(f"{name:16s}  {times} {slow / call:29.0f} {slow / scan:6.0f}", flush=True)
    if args.json:
        print(json.dumps(rows, indent=2))
    return int(min(row["scan_x"] for row in rows) < BAR)


if __name__ == "__main__":
    sys.exit(main())
