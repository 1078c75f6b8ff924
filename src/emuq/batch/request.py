"""What a user asks of a batch, checked, as what its programs take."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from emuq import domains
from emuq.agents.actions import actions_of, from_unit
from emuq.agents.emuq.options import Options, resolve
from emuq.agents.emuq.programs import scales
from emuq.agents.emuq.state import agent_word, choices_of
from emuq.agents.flatten import Flat
from emuq.agents.spaces import flat_scaling_of
from emuq.batch.driver import Sizes, Task
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
CPU, GPU = Sizes(4, 1, 1), Sizes(512, 128, 32)


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
