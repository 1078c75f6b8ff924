"""`emuq.batch.run`: as many runs at a time as there is memory for."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from emuq.batch import programs
from emuq.batch.driver import Driver, Sizes, Task
from emuq.batch.request import precision, prepare
from emuq.batch.results import Runs, columns
from emuq.domains.base import Domain

SHARE = 0.6  # of the memory there is, for what runs keep: plans and looks need the rest


def run(
    domain: Domain | str,
    seeds: Sequence[int] | range | np.ndarray,
    *,
    episodes: int | None = None,
    steps: int | None = None,
    until: str | None = None,
    kappa: Any = None,
    sizes: Sizes | None = None,
    **settings: Any,
) -> Runs:
    """Runs of the default EMU-Q agent in a pure-JAX domain, one for each seed, as one program.

    Each is what `emuq.EMUQ(env, seed=seed, **settings).learn(...)` does, up to rounding; as both go on that
    is magnified, until trajectories part. Runs that have ended cost next to nothing.

    Args:
        domain: Its name ("MountainCar"), or what `emuq.domains.make` makes.
        seeds: One for each run, whole numbers from 0 to below 2^32.
        episodes: How many episodes at most. At least one of this and `steps` is given.
        steps: How many steps at most; the last episode is cut.
        until: "goal" ends a run after its first episode that reaches the goal.
        kappa: The weight of exploration, an array with one for each run, or a controller; the default
            agent's own without it.
        sizes: How many runs step, plan and look at a time; by the device without it.
        **settings: The fields of `emuq.agents.emuq.options.Options`. The lengthscales, precisions and
            discounts may be arrays with one number for each run.

    Returns:
        The episodes of all runs.

    Raises:
        InputError: If something is not as told, or the agent does not compile whole.

    Examples:
        >>> runs = emuq.batch.run("MountainCar", seeds=range(3), steps=8)
        >>> runs.lengths.tolist()                                      # of the one episode, cut
        [[8], [8], [8]]
    """
    task, keys, words, own = prepare(
        domain, seeds, episodes=episodes, steps=steps, until=until, kappa=kappa, sizes=sizes, **settings
    )
    with precision():
        wave = _wave(task, own, len(words))
        rows = []
        for begin in range(0, len(words), wave):
            part = slice(begin, begin + wave)
            found = Driver(task, keys[part], words[part], {name: x[part] for name, x in own.items()}).run()
            found[:, 0] += begin
            rows.append(found)
    return columns(words, np.concatenate(rows))


def _wave(task: Task, own: dict[str, np.ndarray], number: int) -> int:
    """How many runs there is memory for at once: whole groups, one at least."""
    size = task.sizes.group
    leaves = jax.eval_shape(
        lambda *runs: jax.tree.leaves(programs.first(task.kind, task.numbers, task.tables, *runs)),
        jax.eval_shape(lambda: jax.random.split(jax.random.key(0), size)),
        jax.ShapeDtypeStruct((size,), np.uint32),
        {name: jax.ShapeDtypeStruct((size,), float) for name in own},
    )
    each = sum(math.prod(x.shape) * _width(x) for x in leaves)
    groups = max(1, int(SHARE * _memory() / each))
    return min(number, groups * size)


def _width(leaf: Any) -> int:
    return 8 if jnp.issubdtype(leaf.dtype, jax.dtypes.extended) else leaf.dtype.itemsize


def _memory() -> float:
    """Bytes of the device, or of the machine."""
    stats = jax.devices()[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return stats["bytes_limit"]
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
