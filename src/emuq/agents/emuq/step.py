"""EMU-Q's compiled calls, made once for all agents of the same options and shapes.

A step is given one row: observation, action, reward, next observation, terminal, kappa, and two counters (the
rows of V in use, the transitions so far). One array is one transfer. Data are stored later, many at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from emuq.agents.emuq import held as holding
from emuq.agents.emuq import learn as core
from emuq.agents.emuq import redraw as emuq_fresh
from emuq.agents.emuq.held import Policy
from emuq.agents.emuq.options import Options
from emuq.agents.spaces import Actions, Scaling
from emuq.planning.transitions import Transitions

EXTRA = 4  # terminal, kappa, used, count


class Rows(NamedTuple):
    """Of how many numbers a row's parts are."""

    states: int
    actions: int

    @property
    def size(self) -> int:
        return 2 * self.states + self.actions + 1 + EXTRA

    def __call__(
        self, observation: Any, action: Any, reward: float, following: Any, *extra: float
    ) -> np.ndarray:
        """The row of a transition, as it came; `extra` is terminal, kappa, used, count."""
        s, size = self.states, self.size
        row = np.empty(size)
        row[:s] = observation
        row[s : size - EXTRA - 1 - s] = action
        row[size - EXTRA - 1 - s] = reward
        row[size - EXTRA - s : -EXTRA] = following
        row[-EXTRA:] = extra
        return row


def scales(scaling: Scaling, actions: Actions) -> np.ndarray:
    """x -> clip((x - low) / width, least, most) of rows: only observations and box actions are scaled."""
    s, a = scaling.dim, actions.dim
    size = Rows(s, a).size
    low, width = np.zeros(size), np.ones(size)
    least, most = np.full(size, -np.inf), np.full(size, np.inf)
    for part in (slice(s), slice(s + a + 1, -EXTRA)):
        low[part], width[part] = scaling.low, scaling.width
        if scaling.clip:
            least[part], most[part] = 0.0, 1.0
    if not actions.discrete:
        low[s : s + a] = actions.low
        width[s : s + a] = np.where(actions.high > actions.low, actions.high - actions.low, 1.0)
    return np.stack([low, width, least, most])


def _advance_one(
    tree: Any,
    options: Options,
    moving: core.Moving,
    read: list[jax.Array],
    scale: jax.Array,
    row: jax.Array,
    kept: Policy | None,
) -> tuple[core.Moving, jax.Array]:
    rest = core.unread(read, tree)
    features = rest.basis.features
    dims = features.state_frequencies.shape[1], features.action_frequencies.shape[1]
    transition, (kappa, used, count) = _parts(scale, row, *dims)
    data = Transitions(*[None] * 6, count=count.astype(jnp.int32))  # type: ignore[arg-type]
    rest = rest._replace(
        blocked=rest.blocked._replace(used=used.astype(jnp.int32)),
        data=data,
        key=jax.random.wrap_key_data(rest.key),
    )
    state = core.learn(core.join(moving, rest), *transition, kappa, options)
    state = state._replace(data=data._replace(count=data.count + 1))
    return core.split(state)[0], core.follow(state, kept, transition[3], kappa)


def _store_some(
    data: Transitions,
    start: jax.Array,
    scale: jax.Array,
    rows: jax.Array,
    number: jax.Array,
    options: Options,
) -> Transitions:
    def one(i: jax.Array, data: Transitions) -> Transitions:
        transition, _ = _parts(scale, rows[i], data.states.shape[1], data.actions.shape[1])
        return core.stored(data, start, *transition, options)

    return jax.lax.fori_loop(0, number, one, data)


def _parts(
    scale: jax.Array, row: jax.Array, s: int, a: int
) -> tuple[tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array], tuple[jax.Array, ...]]:
    """The transition, scaled, and kappa, used, count."""
    low, width, least, most = scale
    row = jnp.minimum(jnp.maximum((row - low) / width, least), most)
    ends = [s, s + a, s + a + 1, 2 * s + a + 1]
    observation, action, reward, following, rest = jnp.split(row, ends)
    return (observation, action, reward[0], following, rest[0] > 0), (rest[1], rest[2], rest[3])


def _begin_one(
    state: core.State, observation: jax.Array, kappa: jax.Array, rests: jax.Array
) -> tuple[core.State, jax.Array]:
    """An episode's first action; where `rests`, the held policy acts instead of a trial."""
    state = core.begin(state, observation)
    state = state._replace(held=holding.when(rests, holding.rest(state.held), state.held))
    return state, core.act(state, observation, jnp.asarray(kappa, jnp.float64))


@cache
def advance(tree: Any, options: Options) -> Callable[..., tuple[core.Moving, jax.Array]]:
    """The step of all agents with these options, as a call of its own: to look it up takes as long as a tenth
    of the step itself."""
    return jax.jit(partial(_advance_one, tree, options), donate_argnums=0)


store = jax.jit(_store_some, static_argnames="options", donate_argnums=0)
begin = jax.jit(_begin_one, donate_argnums=0)
plan = jax.jit(core.plan, static_argnames="options", donate_argnums=0)
redraw = jax.jit(emuq_fresh.redraw, static_argnames="options")
misfit = jax.jit(emuq_fresh.misfit, static_argnames="options")
committee = jax.jit(holding.committee)
retry = jax.jit(core.retry, static_argnames="options", donate_argnums=0)
finish = jax.jit(core.finish, static_argnames="options", donate_argnums=0)
greedy = jax.jit(core.greedy)
values = jax.jit(core.values)


def store_all(
    data: Transitions, start: jax.Array, scale: jax.Array, pending: Sequence[np.ndarray], options: Options
) -> Transitions:
    """Every row among the data, `block` at a time, so that any number of them needs one compiled call."""
    for i in range(0, len(pending), options.block):
        some = pending[i : i + options.block]
        rows = np.zeros((options.block, len(some[0])))
        rows[: len(some)] = some
        data = store(data, start, scale, rows, np.int32(len(some)), options)
    return data


def prepare(
    advance: Callable, moving: core.Moving, read: list[jax.Array], scale: jax.Array, kept: Policy
) -> None:
    """Compile the step that acts on a kept policy, now that time is there: no later step waits for it."""
    row = np.zeros(scale.shape[1])
    jax.block_until_ready(advance(jax.tree.map(jnp.copy, moving), read, scale, row, kept))


def renew(state: core.State, bases: Sequence[core.Basis], kappa: float, options: Options) -> core.State:
    """Planned anew on other features: on those of several draws whose Q fits the returns best.

    A trial that is about to begin is of a committee of the best.
    """
    found = [plan(redraw(state, basis, options), kappa, options) for basis in bases]
    if len(found) > 1:
        found.sort(key=lambda new: float(misfit(new, options)))
    members = itertools.islice(itertools.cycle(found), options.members)
    return retry(found[0], committee([core.live(member) for member in members]), options)
