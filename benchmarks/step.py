"""A whole step of EMU-Q (act + observe): compiled loop, Gymnasium loop, and Algorithm 2 in plain NumPy."""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

import emuq
from emuq import dispatch
from emuq.agents.base import Transition
from emuq.agents.emuq.act import act
from emuq.agents.emuq.learn import fold, observe
from emuq.agents.emuq.schedule import BLOCK
from emuq.agents.emuq.state import State
from emuq.precision import double
from timing import floor, report, seconds

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference import Reference

STEPS = 128


def compiled_loop(agent: emuq.EMUQ) -> float:
    """Seconds a step: act and observe under scan, folding every block, planning aside."""
    options = agent.settings
    states = jnp.asarray(np.random.default_rng(0).random((STEPS + 1, 2)))

    def step(state: State, pair):
        here, there = pair
        index = act(state, here, jnp.asarray(1.0), False)
        action = state.basis.actions[index]
        state = observe(state, here, action, 0.0, there, jnp.asarray(False), jnp.asarray(1.0), options)
        return state, None

    def block(state: State, pairs):
        return fold(jax.lax.scan(step, state, pairs)[0]), None

    def loop(state: State):
        pairs = tuple(x.reshape(-1, BLOCK, 2) for x in (states[:-1], states[1:]))
        return jax.lax.scan(block, state, pairs)[0].blocked.weights

    with double():
        run = jax.jit(loop)
        return seconds(lambda: jax.block_until_ready(run(agent.whole_state()))) / STEPS


def gymnasium_loop(agent: emuq.EMUQ, steps: int = 2000) -> np.ndarray:
    """Seconds of each step through the class, the environment's own time left out."""
    states = np.random.default_rng(0).uniform([-1.2, -0.07], [0.6, 0.07], (steps + 1, 2))
    action, taken = agent._start(states[0]), []
    for here, there in itertools.pairwise(states):
        transition = Transition(here, action, 0.0, there, False, False, False)
        began = time.perf_counter()
        action = agent._advance(transition)
        taken.append(time.perf_counter() - began)
    return np.array(taken[steps // 4 :])  # compiled, and warm


def transcription(agent: emuq.EMUQ, steps: int = 40) -> float:
    """Seconds a step of Algorithm 2 as written: 15 sampled actions, 10 sampled actions a reward."""
    rng, features = np.random.default_rng(0), agent.whole_state().basis.features
    slow = Reference(
        features.state_frequencies,
        features.action_frequencies,
        rng.random((15, 1)),
        rng.random((10, 1)),
        np.full(10, 0.1),
    )
    states = rng.random((steps + 1, 2))
    began = time.perf_counter()
    for here, there in itertools.pairwise(states):
        slow.step(here, slow.policy(here), 0.0, there, False)
    return (time.perf_counter() - began) / steps


def main() -> None:
    dispatch.inline()
    rows = []
    for m in (500, 300):
        env = gym.make("emuq/MountainCar-v0")
        agent = emuq.EMUQ(env, features=m, plan_interval=None, kappa=1.0, capacity=4096)
        each = gymnasium_loop(agent)  # first: the threads of NumPy's BLAS linger after the others
        whole, least, slow = compiled_loop(agent), floor(m, np.float64), transcription(agent)
        rows.append(
            {
                "M": m,
                "symv+syr us": 1e6 * least,
                "compiled us": 1e6 * whole,
                "ratio": whole / least,
                "Gymnasium us": 1e6 * float(np.median(each)),
                "more us": 1e6 * (float(np.median(each)) - whole),
                "p99/median": float(np.percentile(each, 99) / np.median(each)),
                "NumPy us": 1e6 * slow,
                "times faster": slow / whole,
            }
        )
    note = (
        f"Block of {BLOCK}, steps in single precision. Bars at M = 500: ratio <= 4, "
        "more <= 100, p99/median <= 3; times faster >= 20 at both."
    )
    report("A step of EMU-Q, act and observe", rows, note)


if __name__ == "__main__":
    main()
