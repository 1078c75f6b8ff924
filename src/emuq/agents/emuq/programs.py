"""EMU-Q's compiled programs, made once for all agents of the same options and shapes; `runtime` calls them.

A step is given one row of numbers, since one array is one transfer:

    observation, action, reward, next observation, terminal, kappa, used, count

as the environment gave them; it scales them itself. `used` is how many rows of V are filled, `count` how
many transitions there were. What else it reads of a state, the small arrays packed into one, is a `Reading`;
what it changes is `Moving`, three arrays that are donated: they are gone once they have been passed on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from emuq.agents.actions import Actions
from emuq.agents.emuq import act, learn
from emuq.agents.emuq import plan as planning
from emuq.agents.emuq import state as states
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.state import Basis, State
from emuq.agents.spaces import Scaling
from emuq.linear.expectation import quadratic_form
from emuq.linear.posterior import Blocked
from emuq.planning import support, transitions
from emuq.planning.support import Lookahead
from emuq.planning.transitions import Transitions

EXTRA = 4  # the numbers at the end of a row: terminal, kappa, used, count
USED = -2  # the place of `used`


# A program that runs beside the loop keeps to its own thread: the threads that XLA would share its work with
# are those that a step needs.
ALONE = {"xla_cpu_multi_thread_eigen": False}


# What a step changes, and what it reads -------------------------------------------------------------------


class Moving(NamedTuple):
    """What a step changes, but for counters and the data's new row, which its caller knows."""

    weights: Float[Array, "m 2"]
    rows: Float[Array, "b m"]
    q_bounds: Float[Array, " 2"]


class Small(NamedTuple):
    """What a step reads and nothing changes before the next plan: small arrays, all of them double."""

    basis: Basis  # without the tables that only `quadratic_form` needs


class Reading(NamedTuple):
    """What a step reads. It takes time to pass an array on, so that these are few."""

    small: Float[Array, " n"]  # `Small` as one array
    covariance: Float[Array, "m m"]  # S_0, and its T: a fold replaces these two
    form: Float[Array, "n n"]
    start: Float[Array, " ds"]  # where the episode began
    key: Array  # as plain numbers


def split(state: State) -> tuple[Moving, State]:
    """What a step changes, and the state with holes (None) in these places."""
    moving = Moving(state.blocked.weights, state.blocked.rows, state.q_bounds)
    return moving, join(Moving(*[None] * len(moving)), state)  # type: ignore[arg-type]


def join(moving: Moving, fixed: State) -> State:
    """The inverse of `split`."""
    blocked = fixed.blocked._replace(weights=moving.weights, rows=moving.rows)
    return fixed._replace(blocked=blocked, q_bounds=moving.q_bounds)


def small(state: State) -> Small:
    basis = state.basis
    moments = basis.moments._replace(cos_cos=None, sin_sin=None, cos_sin=None)
    return Small(basis._replace(moments=moments, actions=None))  # type: ignore[arg-type]


def reading(fixed: State) -> Reading:
    """What a step reads of a state."""
    key = jax.random.key_data(fixed.key)
    return Reading(_pack(small(fixed)), fixed.blocked.covariance, fixed.form, fixed.start, key)


@jax.jit
def _pack(tree: Small) -> Float[Array, " n"]:
    return ravel_pytree(tree)[0]


def unpacking(state: State) -> Callable[[Array], Small]:
    """The inverse of packing, for all states of these shapes; equal for equal shapes, so that it is a key."""
    return ravel_pytree(small(state))[1]


# A step ---------------------------------------------------------------------------------------------------


@cache
def step(unpack: Callable[[Array], Small], options: Options) -> Callable[..., tuple[Moving, jax.Array]]:
    """The step of all agents with these shapes and options, as a call of its own: to look it up takes as long
    as a tenth of the step itself.

    step(moving, reading, scale, row, policy) -> moving, index of the next action; `policy` None: newest
    weights.
    """
    return jax.jit(partial(_step, unpack, options), donate_argnums=0)


def _step(
    unpack: Callable[[Array], Small],
    options: Options,
    moving: Moving,
    reading: Reading,
    scale: jax.Array,
    row: jax.Array,
    policy: Lookahead | None,
) -> tuple[Moving, jax.Array]:
    state, transition, kappa = _at(unpack, moving, reading, scale, row)
    state = learn.update(state, *transition, kappa, options)
    state = state._replace(data=state.data._replace(count=state.data.count + 1))
    return split(state)[0], act.act_on(state, policy, transition[3], kappa)


def _at(
    unpack: Callable[[Array], Small], moving: Moving, reading: Reading, scale: jax.Array, row: jax.Array
) -> tuple[State, tuple[Array, Array, Array, Array, Array], Array]:
    """The state as a step sees it, the transition, and kappa."""
    (basis,) = unpack(reading.small)
    dims = basis.features.state_frequencies.shape[1], basis.features.action_frequencies.shape[1]
    transition, (kappa, used, count) = _parts(scale, row, *dims)
    blocked = Blocked(reading.covariance, moving.weights, moving.rows, used.astype(jnp.int32))
    data = Transitions(*[None] * 6, count=count.astype(jnp.int32))  # type: ignore[arg-type]
    state = State(
        basis=basis,
        blocked=blocked,
        form=reading.form,
        data=data,
        q_bounds=moving.q_bounds,
        start=reading.start,
        key=jax.random.wrap_key_data(reading.key),
        **dict.fromkeys(("gram", "covariance", "counted", "lookahead", "converged")),  # type: ignore[arg-type]
    )
    return state, transition, kappa


@cache
def begin(unpack: Callable[[Array], Small]) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """begin(moving, reading, scale, row, policy) -> where the episode begins, index of its first action.

    The row's first state is where; its other numbers are no transition.
    """

    def first(moving: Moving, reading: Reading, scale: Array, row: Array, policy: Lookahead | None):
        state, (start, *_), kappa = _at(unpack, moving, reading, scale, row)
        return start, act.act_on(learn.begin(state, start), policy, start, kappa)

    return jax.jit(first)


@cache
def follow(unpack: Callable[[Array], Small], options: Options) -> Callable[..., Moving]:
    """follow(moving, reading, scale, rows, starts, number) -> moving: learn from the first `number` rows.

    As that many steps, but that no action is chosen; each row's episode has a start of its own.
    """

    def rows_of(moving: Moving, reading: Reading, scale: Array, rows: Array, starts: Array, number: Array):
        def one(i: Array, moving: Moving) -> Moving:
            state, transition, kappa = _at(unpack, moving, reading, scale, rows[i])
            return split(learn.update(state._replace(start=starts[i]), *transition, kappa, options))[0]

        return jax.lax.fori_loop(0, number, one, moving)

    return jax.jit(rows_of, compiler_options=ALONE)


def scales(scaling: Scaling, actions: Actions) -> np.ndarray:
    """x -> clip((x - low) / width, least, most) of rows: only observations and box actions are scaled."""
    s, a = scaling.dim, actions.dim
    size = 2 * s + a + 1 + EXTRA
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


def _scaled(scale: jax.Array, row: jax.Array) -> jax.Array:
    low, width, least, most = scale
    return jnp.minimum(jnp.maximum((row - low) / width, least), most)


def _parts(
    scale: jax.Array, row: jax.Array, s: int, a: int
) -> tuple[tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array], tuple[jax.Array, ...]]:
    """The transition, scaled, and kappa, used, count."""
    ends = [s, s + a, s + a + 1, 2 * s + a + 1]
    observation, action, reward, following, extra = jnp.split(_scaled(scale, row), ends)
    return (observation, action, reward[0], following, extra[0] > 0), (extra[1], extra[2], extra[3])


# Between steps --------------------------------------------------------------------------------------------


def _fold(covariance: Float[Array, "m m"], rows: Float[Array, "h m"], basis: Basis):
    """S_0 with these rows in it, and its T."""
    covariance = covariance - rows.T @ rows
    return covariance, quadratic_form(basis.features, basis.moments, covariance)


fold = jax.jit(_fold, compiler_options=ALONE)


@partial(jax.jit, donate_argnums=0)
def move_up(rows: Float[Array, "b m"]) -> tuple[Float[Array, "b m"], Float[Array, "h m"]]:
    """The newer half in the place of the older one; and that one, to be folded."""
    older, newer = jnp.split(rows, 2)
    return jnp.concatenate([newer, jnp.zeros_like(newer)]), jnp.copy(older)


def _store(
    data: Transitions, scale: jax.Array, rows: jax.Array, ended: jax.Array, number: jax.Array
) -> Transitions:
    """The first `number` rows among the data, and after which of them an episode was over."""

    def one(i: jax.Array, data: Transitions) -> Transitions:
        transition, _ = _parts(scale, rows[i], data.states.shape[1], data.actions.shape[1])
        return transitions.end(transitions.append(data, *transition), ended[i])

    return jax.lax.fori_loop(0, number, one, data)


@jax.jit
def finished(data: Transitions) -> jax.Array:
    """Which rows ended an episode, once one is over: a call copies all that it returns, and no more."""
    return transitions.end(data).ended


class Calls(NamedTuple):
    """Programs over a whole state, by name."""

    store: Callable[..., Transitions]
    plan: Callable[..., State]
    plan_anew: Callable[..., State]
    look: Callable[..., State]


def _calls(**how) -> Calls:
    jit = partial(jax.jit, static_argnames="options", **how)
    # A look takes longest to compile: one program serves all agents of its shapes, whatever their options.
    ahead = jax.jit(support.plan, compiler_options=how.get("compiler_options"))
    look = partial(planning.look, ahead=ahead)
    return Calls(jax.jit(_store, **how), jit(planning.plan), jit(planning.plan_anew), look)


GIVEN = _calls(donate_argnums=0)  # the state is gone once it has been passed on, but to a look
KEPT = _calls(compiler_options=ALONE)  # another thread may be reading it
store, plan, plan_anew, look = GIVEN


@jax.jit
def copied(moving: Moving) -> Moving:
    """Arrays of its own: a step is given the others."""
    return jax.tree.map(jnp.copy, moving)


@partial(jax.jit, compiler_options=ALONE)
def folded(state: State) -> State:
    """S_0 with the older half of the rows in it, the newer half being empty."""
    blocked, half = state.blocked, len(state.blocked.rows) // 2
    covariance, form = _fold(blocked.covariance, blocked.rows[:half], state.basis)
    blocked = blocked._replace(covariance=covariance, rows=jnp.zeros_like(blocked.rows))
    return state._replace(blocked=blocked, form=form)


beginning = jax.jit(states.beginning, static_argnames=("options", "state_dim"))
gathered = jax.jit(transitions.gathered)
act_at = jax.jit(act.act, static_argnames="looks")
values = jax.jit(act.values, static_argnames="looks")
