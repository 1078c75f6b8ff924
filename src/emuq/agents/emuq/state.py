"""What an EMU-Q agent knows, and how it begins.

`Basis` is drawn and then never changes. `State` is all the rest with it: S, the weights, the data. A step
changes only a few small arrays of a state, `Moving`; `split` and `join` set them apart from the others, so
that the compiled step is given the large ones to read and need not hand them back.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from emuq.agents.emuq import held as holding
from emuq.agents.emuq.held import Held, Policy
from emuq.agents.emuq.options import Options
from emuq.agents.spaces import Actions
from emuq.linear import expectation, posterior
from emuq.linear.expectation import Moments, quadratic_form
from emuq.linear.features import Features, Part, action_part, random_fourier
from emuq.linear.posterior import Blocked
from emuq.planning import transitions
from emuq.planning.transitions import Transitions
from emuq.precision import double


class Basis(NamedTuple):
    """What is drawn once: the feature map, and the actions' parts that are computed from it."""

    features: Features
    moments: Moments
    candidates: Part  # the actions among which argmax chooses
    actions: Float[Array, "k da"]
    nodes: Part  # quadrature nodes over the actions
    node_weights: Float[Array, " q"]
    prices: Float[Array, " k"] | None  # of the candidates while exploring, in ranges of U; None: all are free


class State(NamedTuple):
    """All that an agent knows."""

    basis: Basis
    blocked: Blocked  # S (in the step's precision), the weights of Q and U (columns), rows held back
    form: Float[Array, "n n"]  # T, for S_0
    gram: Float[Array, "m m"]  # Phi'Phi of the first `counted` transitions
    covariance: Float[Array, "m m"]  # their S, in double precision
    counted: Int[Array, ""]
    data: Transitions
    q_bounds: Float[Array, " 2"]  # what the rewards seen so far allow
    start: Float[Array, " ds"]  # where the episode began: U goes on there after a terminal state
    key: Array
    held: Held  # a policy of Q that has been seen to work
    converged: Bool[Array, " 2"]  # whether the last plan's sweeps settled, for Q and for U


class Moving(NamedTuple):
    """What a step changes, but for counters and the data's new row, which its caller knows."""

    weights: Float[Array, "m 2"]
    rows: Float[Array, "b m"]
    q_bounds: Float[Array, " 2"]


def draw_basis(rng: np.random.Generator, options: Options, state_dim: int, actions: Actions) -> Basis:
    """Features and tables for a state of `state_dim` dimensions and these actions."""
    features = random_fourier(
        rng,
        options.features,
        state_dim,
        actions.dim,
        kernel=options.kernel,
        state_lengthscale=options.state_lengthscale,
        action_lengthscale=options.action_lengthscale,
        sampling=options.sampling,
        mixture=options.mixture,
    )
    efforts = actions.efforts
    prices = None if efforts is None or not options.effort else options.effort * efforts
    tables = actions.candidates, actions.nodes, actions.node_weights, prices
    return _tables(features, *tables, discrete=actions.discrete)


@partial(jax.jit, static_argnames="discrete")  # a dozen small programs take longer to compile than one
def _tables(
    features: Features,
    candidates: Array,
    nodes: Array,
    node_weights: Array,
    prices: Array | None,
    *,
    discrete: bool,
) -> Basis:
    if discrete:
        moments = expectation.set_moments(features, candidates)
    else:
        dim = candidates.shape[1]
        moments = expectation.box_moments(features, jnp.zeros(dim), jnp.ones(dim))
    parts = action_part(features, candidates), action_part(features, nodes)
    return Basis(features, moments, parts[0], candidates, parts[1], node_weights, prices)


@partial(jax.jit, static_argnames="options")
def init(basis: Basis, options: Options, key: Array) -> State:
    """S = I / alpha, m_Q = m_U = 0, no data."""
    low = jnp.float32 if options.precision == "single" else jnp.float64
    m, j = basis.features.num_features, basis.features.state_frequencies.shape[0]
    state_dim, action_dim = basis.features.state_frequencies.shape[1], basis.actions.shape[1]
    prior = posterior.prior(m, options.prior_precision, targets=2, dtype=low)
    chunk = options.rules.chunk
    capacity = -(-options.capacity // chunk) * chunk
    live = Policy(basis.features, basis.candidates, jnp.zeros(m), jnp.zeros(1, bool))
    form = quadratic_form(basis.features, basis.moments, prior.covariance.astype(jnp.float64))
    return State(
        basis,
        posterior.block(prior._replace(weights=jnp.zeros((m, 2))), options.block),
        form.astype(low).reshape(2 * j, 2 * j),
        jnp.zeros((m, m)),
        jnp.eye(m) / options.prior_precision,
        jnp.zeros((), jnp.int32),
        transitions.empty(capacity, state_dim, action_dim),
        jnp.array([-1.0, 1.0]),
        jnp.zeros(state_dim),
        key,
        holding.nothing(holding.committee([live] * options.members)),
        jnp.ones(2, bool),
    )


def split(state: State) -> tuple[Moving, State]:
    """What a step changes, and the state without it."""
    moving = Moving(state.blocked.weights, state.blocked.rows, state.q_bounds)
    return moving, join(Moving(*[None] * len(moving)), state)  # type: ignore[arg-type]


class Shape(NamedTuple):
    """How the arrays of a step, packed by `read`, are a state again."""

    tree: Any  # a PyTreeDef
    small: tuple[tuple[int, ...] | None, ...]  # of each leaf its shape, if it is among the packed ones


def read(rest: State) -> tuple[list[Array], Shape]:
    """Of the state without `Moving`, what a step reads: it takes time to pass an array on, used or not.

    So the small ones go in one array, and the key as plain numbers. `unread` is the inverse.
    """
    basis = rest.basis
    moments = basis.moments._replace(cos_cos=None, sin_sin=None, cos_sin=None)
    with double():
        state = rest._replace(
            basis=basis._replace(moments=moments, actions=None),
            blocked=rest.blocked._replace(used=None),
            gram=None,
            covariance=None,
            counted=None,
            data=None,
            converged=None,
            key=jax.random.key_data(rest.key),
            held=None,  # its policy is given apart, to the steps that act on it
        )
        leaves, tree = jax.tree.flatten(state)
        apart = {id(rest.blocked.covariance), id(rest.form)}  # a fold replaces them
        small = tuple(x.shape if x.dtype == jnp.float64 and id(x) not in apart else None for x in leaves)
        packed = _packed([x for x, shape in zip(leaves, small, strict=True) if shape is not None])
    return [packed, *(x for x, shape in zip(leaves, small, strict=True) if shape is None)], Shape(tree, small)


@jax.jit
def _packed(leaves: list[Array]) -> Array:
    return jnp.concatenate([x.ravel() for x in leaves])


def unread(read: list[Array], shape: Shape) -> State:
    """The state that a step reads."""
    sizes = [math.prod(s) for s in shape.small if s is not None]
    parts = iter(jnp.split(read[0], np.cumsum(sizes)[:-1]))
    others = iter(read[1:])
    leaves = [next(others) if s is None else next(parts).reshape(s) for s in shape.small]
    return jax.tree.unflatten(shape.tree, leaves)


def join(moving: Moving, rest: State) -> State:
    """The inverse of `split`."""
    blocked = rest.blocked._replace(weights=moving.weights, rows=moving.rows)
    return rest._replace(blocked=blocked, q_bounds=moving.q_bounds)


def streams(seed: int) -> tuple[np.random.Generator, Array]:
    """The generator that draws the features, and the key that breaks ties: two roles of one seed."""
    features, ties = np.random.SeedSequence(seed).spawn(2)
    return np.random.default_rng(features), jax.random.key(int(ties.generate_state(1)[0] >> 1))
