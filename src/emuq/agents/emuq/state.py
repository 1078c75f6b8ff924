"""What an EMU-Q agent knows, and how it begins.

`Basis` is drawn at random and then never changes. `State` is that and all that is learned: S, the weights,
the data, the policies that were tried. It is a value: what changes it returns another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from emuq.agents.actions import Actions
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.schedule import BLOCK
from emuq.linear import expectation, posterior
from emuq.linear.expectation import Moments, quadratic_form
from emuq.linear.features import Features, Part, action_part, random_fourier
from emuq.linear.hashing import Word, random_bits, scramble
from emuq.linear.posterior import Blocked
from emuq.planning import support, transitions
from emuq.planning.support import Lookahead
from emuq.planning.transitions import Transitions

LOW = jnp.float32  # of a step's M x M arrays: reading them is what a step costs
DRAWS = 2**32 - 1  # a number of transitions that there never is: what is drawn, apart from ties


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
    blocked: (
        Blocked  # S_0 and the rows V that wait (in the step's precision), the weights of Q and U (columns)
    )
    form: Float[Array, "n n"]  # T, by which r^e is a quadratic form in the state's part; of S_0
    gram: Float[Array, "m m"]  # Phi'Phi of the first `counted` transitions
    covariance: Float[Array, "m m"]  # their S, in double precision
    counted: Int[Array, ""]  # how many that is: those of the last plan
    data: Transitions
    q_bounds: Float[Array, " 2"]  # what the rewards seen so far allow
    start: Float[Array, " ds"]  # where the episode began: U goes on there after a terminal state
    key: Array  # that draws among equal actions
    lookahead: Lookahead  # what to exploit with
    converged: Bool[Array, " 2"]  # whether the last plan's sweeps converged, for Q and for U


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Choices:
    """The actions as arrays: what tables are made of, on whichever features."""

    candidates: Float[Array | np.ndarray, "k da"]
    nodes: Float[Array | np.ndarray, "q da"]
    node_weights: Float[Array | np.ndarray, " q"]
    prices: Float[Array | np.ndarray, " k"] | None
    discrete: bool = field(metadata={"static": True})


def choices_of(actions: Actions, options: Options) -> Choices:
    """What is to be known of these actions."""
    efforts = actions.efforts
    prices = None if efforts is None or not options.effort else options.effort * efforts
    return Choices(actions.candidates, actions.nodes, actions.node_weights, prices, actions.discrete)


def draw_basis(
    seed: Word, options: Options, state_dim: int, choices: Choices, wider: Float[Array, " ds"] | float = 1.0
) -> Basis:
    """Features and tables for a state of `state_dim` dimensions, with lengthscales so much wider."""
    scale = options.state_lengthscale
    features = random_fourier(
        seed,
        options.features,
        state_dim,
        choices.candidates.shape[1],
        state_lengthscale=wider * (jnp.asarray(scale) if isinstance(scale, tuple) else scale),
        action_lengthscale=options.action_lengthscale,
        mixture=options.mixture,
    )
    candidates, nodes = jnp.asarray(choices.candidates), jnp.asarray(choices.nodes)
    if choices.discrete:
        moments = expectation.set_moments(features, candidates)
    else:
        dim = candidates.shape[1]
        moments = expectation.box_moments(features, jnp.zeros(dim), jnp.ones(dim))
    parts = action_part(features, candidates), action_part(features, nodes)
    rest = jnp.asarray(choices.node_weights), None if choices.prices is None else jnp.asarray(choices.prices)
    return Basis(features, moments, parts[0], candidates, parts[1], *rest)


def init(basis: Basis, lookahead: Lookahead, options: Options, key: Array) -> State:
    """S = I / alpha, m_Q = m_U = 0, no data."""
    m, j = basis.features.num_features, basis.features.state_frequencies.shape[0]
    state_dim, action_dim = basis.features.state_frequencies.shape[1], basis.actions.shape[1]
    prior = posterior.prior(m, options.prior_precision, targets=2, dtype=LOW)
    chunk = options.rules.chunk
    capacity = -(-options.capacity // chunk) * chunk
    form = quadratic_form(basis.features, basis.moments, prior.covariance.astype(jnp.float64))
    state = State(
        basis,
        posterior.block(prior._replace(weights=jnp.zeros((m, 2))), BLOCK),
        form.astype(LOW).reshape(2 * j, 2 * j),
        jnp.zeros((m, m)),
        jnp.eye(m) / options.prior_precision,
        jnp.zeros((), jnp.int32),
        transitions.empty(capacity, state_dim, action_dim),
        jnp.zeros(2),
        jnp.zeros(state_dim),
        key,
        lookahead,
        jnp.ones(2, bool),
    )
    return jax.tree.map(_strong, state)


def _strong(leaf: Array) -> Array:
    """The same array, no longer ready to take on another's type: programs tell the two apart."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return leaf
    return jax.lax.convert_element_type(leaf, leaf.dtype)


def beginning(key: Array, options: Options, state_dim: int, choices: Choices) -> State:
    """An agent that knows nothing, by its key: first features, no data."""
    basis = draw_basis(draw_word(key, 0), options, state_dim, choices)
    nothing = support.nothing(jnp.asarray(choices.candidates), state_dim)
    return init(basis, nothing, options, key)


def agent_key(seed: int) -> Array:
    """The key of all that an agent draws, of any whole number from 0."""
    return jax.random.key(agent_word(seed))


def agent_word(seed: int) -> np.uint32:
    """Any whole number from 0 as 32 bits."""
    return np.random.SeedSequence(seed).generate_state(1)[0]


def draw_word(key: Array, number: Int[Array, ""] | int) -> Word:
    """The seed of what is drawn at so many transitions; ties are broken by other numbers (`act`)."""
    return random_bits(jax.random.key_data(key)[-1], jnp.uint32(DRAWS), 2)[0] ^ scramble(jnp.uint32(number))
