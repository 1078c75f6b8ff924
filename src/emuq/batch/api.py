"""`emuq.batch.run`: what a user gives, checked, and what comes back."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from emuq import domains
from emuq.agents.emuq.options import Options, resolve
from emuq.agents.emuq.programs import scales
from emuq.agents.emuq.state import agent_word, choices_of
from emuq.agents.flatten import Flat
from emuq.agents.spaces import actions_of, flat_scaling_of, from_unit
from emuq.batch import programs
from emuq.batch.driver import Driver, Sizes, Task
from emuq.batch.programs import Kind
from emuq.batch.single import Tables
from emuq.domains.adapter import Environment
from emuq.domains.base import Domain
from emuq.errors import InputError
from emuq.kappa import Automatic, Controller, as_controller
from emuq.kappa.protocol import check_whole
from emuq.precision import double

# Settings that may differ from run to run: numbers that programs compute with, and are not compiled for.
NUMBERS = (
    "state_lengthscale", "action_lengthscale", "prior_precision", "noise_precision", "discount",
    "exploration_discount",
)  # fmt: skip
ROOM = 4096  # transitions that there is room for at first
SHARE = 0.6  # of the memory there is, for what runs keep: plans and looks need the rest
CPU, GPU = Sizes(4, 1, 1), Sizes(512, 128, 32)


class Runs(NamedTuple):
    """What became of the runs: a row each, a column for each episode; one that was not made has length 0.

    Attributes:
        seeds: The seed of each run.
        returns: [runs, episodes]
        lengths: Their steps.
        goals: Whether the goal was reached.
        kappas: The weight of exploration in them.

    Examples:
        >>> import numpy as np
        >>> lengths, goals = np.array([[500, 90], [500, 500]]), np.array([[False, True], [False, False]])
        >>> runs = emuq.batch.Runs(np.arange(2), goals * 1.0, lengths, goals, np.ones((2, 2)))
        >>> runs.goal_episode.tolist(), runs.goal_steps.tolist()
        ([2, 0], [590, 0])
    """

    seeds: np.ndarray
    returns: np.ndarray
    lengths: np.ndarray
    goals: np.ndarray
    kappas: np.ndarray

    @property
    def goal_episode(self) -> np.ndarray:
        """The number of the first episode that reached the goal, from 1 on; 0 where none did."""
        return np.where(self.goals.any(axis=1), self.goals.argmax(axis=1) + 1, 0)

    @property
    def goal_steps(self) -> np.ndarray:
        """Steps to the first goal, from the beginning on; 0 where there was none."""
        steps = np.cumsum(self.lengths, axis=1)
        found = self.goal_episode
        return np.where(found > 0, np.take_along_axis(steps, np.maximum(found - 1, 0)[:, None], 1)[:, 0], 0)

    @property
    def steps(self) -> np.ndarray:
        """All steps of each run."""
        return self.lengths.sum(axis=1)


@dataclass(frozen=True)
class Own:
    """A controller whose state is the run's own kappa."""

    test_episodes = 0

    def init(self) -> jax.Array:
        return jnp.ones(())

    def value(self, state: jax.Array) -> jax.Array:
        return state

    def update(self, state: jax.Array, outcome: Any) -> jax.Array:
        return state


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
    return _columns(words, np.concatenate(rows))


def prepare(
    domain: Domain | str,
    seeds: Any,
    *,
    episodes: int | None = None,
    steps: int | None = None,
    until: str | None = None,
    kappa: Any = None,
    sizes: Sizes | None = None,
    **settings: Any,
) -> tuple[Task, jax.Array, np.ndarray, dict[str, np.ndarray]]:
    """What `run` was given, checked: the task, the runs' keys, their seeds, and settings of their own."""
    words = _seeds(seeds)
    _check_lengths(episodes, steps, until)
    made = domains.make(domain) if isinstance(domain, str) else domain
    if made.num_states is not None:
        raise InputError(f"{made.name} has states that can be counted: expected a domain of continuous ones")
    own, rest = _apart(settings, len(words))
    options = _options(rest, own, made, episodes, steps)
    controller = _controller(kappa, own, len(words))
    with precision():
        form, numbers = made.apart()
        sizes = sizes or sizes_here()
        sizes = sizes._replace(group=min(sizes.group, len(words)))
        kind = Kind(form, controller, options)
        task = Task(kind, numbers, _tables(made, options), sizes, episodes, steps, until == "goal")
        keys = jax.vmap(jax.random.key)(np.array([agent_word(int(word)) for word in words]))
    return task, keys, words, own


@contextmanager
def precision() -> Iterator[None]:
    """Double where it is asked for, and single that is single: a GPU's default would round S to 11 bits."""
    with double(), jax.default_matmul_precision("highest"):
        yield


def sizes_here() -> Sizes:
    """How many runs step, plan and look at a time on this device."""
    return CPU if jax.default_backend() == "cpu" else GPU


def _seeds(seeds: Any) -> np.ndarray:
    found = np.asarray(seeds)
    if found.ndim != 1 or not len(found) or found.dtype.kind not in "iu":
        raise InputError(f"seeds is {seeds!r}: expected whole numbers, such as range(100)")
    if found.min() < 0 or found.max() >= 2**32:
        raise InputError(f"seeds go from {found.min()} to {found.max()}: expected from 0 to below 2^32")
    return found.astype(np.uint32)


def _check_lengths(episodes: int | None, steps: int | None, until: str | None) -> None:
    if episodes is None and steps is None:
        raise InputError("run() has no end: expected episodes=..., steps=... or both")
    for name, number in (("episodes", episodes), ("steps", steps)):
        if number is not None:
            check_whole(name, number, 1)
    if until not in (None, "goal"):
        raise InputError(f"until is {until!r}: expected None or 'goal'")


def _apart(settings: dict[str, Any], number: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Settings that differ from run to run, and the others."""
    own, rest = {}, {}
    for name, value in settings.items():
        if not isinstance(value, np.ndarray | jax.Array | list) or np.ndim(value) == 0:
            rest[name] = value
            continue
        if name not in NUMBERS:
            raise InputError(f"{name} is an array: expected one value; arrays may be {', '.join(NUMBERS)}")
        own[name] = _for_each(name, value, number)
    return own, rest


def _for_each(name: str, value: Any, number: int) -> np.ndarray:
    found = np.asarray(value, float)
    if found.shape != (number,):
        raise InputError(f"{name} has shape {found.shape}: expected one number for each of {number} runs")
    return found


def _options(
    rest: dict[str, Any], own: dict[str, np.ndarray], domain: Domain, episodes: int | None, steps: int | None
) -> Options:
    most = min(steps or math.inf, (episodes or math.inf) * domain.horizon)
    options = resolve("default", {"capacity": int(min(most, ROOM)), **rest})
    for name, values in own.items():  # each is checked as if it were given alone
        for value in np.unique(values):
            dataclasses.replace(options, **{name: float(value)})
            if "lengthscale" in name and not 0 < value < math.inf:
                raise InputError(f"{name} has {value}: expected positive finite numbers")
    if options.plan_interval is None:
        raise InputError("plan_interval is None: expected a number, since runs plan together; use emuq.EMUQ")
    return options


def _controller(kappa: Any, own: dict[str, np.ndarray], number: int) -> Controller:
    if isinstance(kappa, np.ndarray | jax.Array | list) and np.ndim(kappa):
        values = _for_each("kappa", kappa, number)
        if not np.all(values >= 0):
            raise InputError(f"kappa has {values.min()}: expected numbers from 0, or inf")
        own["kappa"] = values
        return Own()
    controller = Automatic() if kappa is None else as_controller(kappa)  # type: ignore[arg-type]
    if controller.test_episodes:
        raise InputError(f"kappa is {controller}, which asks for test episodes: expected one that does not")
    return controller


def _tables(domain: Domain, options: Options) -> Tables:
    env = Environment(domain)
    actions = actions_of(env.action_space)
    scaling = flat_scaling_of(env, None, Flat(env.observation_space))._replace(clip=options.clip)
    moves = np.arange(actions.dim) if actions.discrete else from_unit(actions, actions.candidates)
    scale = jnp.asarray(scales(scaling, actions)[:, : scaling.dim])
    return Tables(jax.tree.map(jnp.asarray, choices_of(actions, options)), jnp.asarray(moves), scale)


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


def _columns(seeds: np.ndarray, rows: np.ndarray) -> Runs:
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    who = rows[:, 0].astype(int)
    numbers = np.bincount(who, minlength=len(seeds))
    place = np.arange(len(rows)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    shape = len(seeds), int(numbers.max(initial=0))
    returns, lengths, kappas = np.zeros(shape), np.zeros(shape, int), np.zeros(shape)
    goals = np.zeros(shape, bool)
    for column, values in (
        (returns, rows[:, 1]),
        (lengths, rows[:, 2]),
        (goals, rows[:, 3]),
        (kappas, rows[:, 4]),
    ):
        column[who, place] = values
    return Runs(seeds.astype(int), returns, lengths, goals, kappas)
