"""Random spaces and observations, each handled or refused in one line.

`python tests/fuzzing.py --cases 100000 --processes 16` tries the seeds 0 to 99,999 and counts the
answers. Any exception but InputError, and any value that is not a number between 0 and 1 behind the scaling,
is a failure: its seed is printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from collections import Counter
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from emuq.agents.actions import actions_of, from_index, to_unit
from emuq.agents.emuq import ranges
from emuq.agents.flatten import Flat
from emuq.agents.spaces import Spaces, flat_scaling_of
from emuq.errors import InputError, finite

EXTREMES = (-np.inf, -3.4e38, -1e9, -1.0, 0.0, 1e-12, 1.0, 255.0, 1e9, 3.4e38, np.inf)
BROKEN = (
    None,
    "a",
    np.nan,
    np.inf,
    1e308,
    -1,
    10**30,
    [],
    {},
    (1, 2),
    np.zeros(3),
    [[1], [2, 3]],
    1j,
    object(),
)


def random_space(rng: np.random.Generator, depth: int = 0) -> gym.Space:
    """A space of any kind, nested up to three deep."""
    kind = rng.integers(12 if depth < 3 else 7)
    if kind < 3:
        shape = tuple(rng.integers(0, 4, rng.integers(0, 4)).tolist())
        dtype = rng.choice([np.float32, np.float64, np.uint8, np.int64])
        if dtype in (np.uint8, np.int64):
            return spaces.Box(0, 255, shape, dtype)
        low, high = np.sort(rng.choice(EXTREMES, 2))
        if high == -np.inf:
            high = np.inf
        return spaces.Box(dtype(low), dtype(high if high > low else low + 1), shape, dtype)
    if kind == 3:
        return spaces.Discrete(int(rng.choice([1, 2, 10, 500, 10**9])), start=int(rng.integers(-5, 5)))
    if kind == 4:
        return spaces.MultiDiscrete(rng.choice([1, 2, 9, 300], rng.integers(1, 6)))
    if kind == 5:
        return spaces.MultiBinary(int(rng.choice([1, 4, 30, 9000])))
    if kind == 6:
        other = (spaces.Text(5), spaces.Sequence(spaces.Discrete(3)), spaces.Graph(spaces.Discrete(3), None))
        return other[rng.integers(3)]
    parts = [random_space(rng, depth + 1) for _ in range(rng.integers(0, 4))]
    if kind < 9:
        return spaces.Tuple(parts)
    names = ["observation", "achieved_goal", "desired_goal", "x"]
    return spaces.Dict(dict(zip(rng.permutation(names)[: len(parts)], parts, strict=True)))


def random_observation(rng: np.random.Generator, space: gym.Space) -> Any:
    """A sample of the space, or one that is broken somewhere."""
    if rng.random() < 0.3:
        return BROKEN[rng.integers(len(BROKEN))]
    sample = space.sample()
    if rng.random() < 0.3 and isinstance(sample, np.ndarray) and sample.dtype.kind == "f" and sample.size:
        sample.flat[rng.integers(sample.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e30])
    return sample


def case(seed: int) -> str:
    """One random environment's spaces and four observations: "handled" or why it was refused."""
    rng = np.random.default_rng(seed)
    space = random_space(rng)
    # Half of them act as agents can, or hardly a case would come to its observations and be handled.
    acting = random_space(rng) if rng.random() < 0.5 else spaces.Discrete(int(rng.integers(1, 9)))
    for each in (space, acting):
        each.seed(seed)
    try:
        flat = Flat(space)
        scaling = flat_scaling_of(Spaces(space, acting), None, flat)._replace(clip=True)
    except InputError as error:
        return str(error)
    told = "handled"
    try:
        actions = actions_of(acting)
        units = to_unit(actions, np.stack([from_index(actions, i, acting.dtype) for i in range(2)])[:1])
        assert np.all(np.isfinite(units))
        assert acting.contains(from_index(actions, len(actions.candidates) - 1, acting.dtype))
    except InputError as error:
        told = str(error)
    except IndexError:  # one candidate alone
        assert len(actions.candidates) == 1
    seen, lines = [], [told]
    for _ in range(4):
        try:
            seen.append(ranges.bounded(finite(flat(random_observation(rng, space)), "observation")))
        except InputError as error:
            lines.append(str(error))
            continue
        if scaling.learned is not None:
            scaling = ranges.fitting(scaling, np.stack(seen)) or scaling
        scaled = scaling(seen[-1])
        assert np.all((scaled >= 0) & (scaled <= 1)), "NaN, or beyond its range"
        assert np.all(scaling.width > 0)
    assert all("\n" not in line for line in lines)
    return told


def answer(seed: int) -> tuple[int, str, bool]:
    """A case's answer, or the exception that nobody may see."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Gymnasium's, of its own spaces
        try:
            told = case(seed)
            return seed, told, "\n" not in told
        except Exception as error:
            return seed, f"{type(error).__name__}: {error}", False


def main(cases: int, seed: int, processes: int) -> int:
    """How many cases failed."""
    began = time.perf_counter()
    refused: Counter[str] = Counter()
    handled, failed = 0, 0
    # A forked process would share the locks of JAX's threads.
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for which, told, fine in pool.imap_unordered(answer, range(seed, seed + cases), chunksize=100):
            if not fine:
                failed += 1
                print(f"seed {which} failed: {told}", flush=True)
            elif told == "handled":
                handled += 1
            else:
                refused[told.split(":")[-1][:60]] += 1
    seconds = time.perf_counter() - began
    print(f"{cases:,} cases in {seconds:.0f} s: {handled:,} handled, {failed:,} failed; the others refused:")
    for reason, times in refused.most_common(40):
        print(f"{times:8,}  ...{reason}")
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    raise SystemExit(main(asked.cases, asked.seed, asked.processes) > 0)
