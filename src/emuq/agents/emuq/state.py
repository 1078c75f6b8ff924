"""What an EMU-Q agent knows, and how it begins.

`Basis` is drawn at random and then never changes. `State` is that and all that is learned: S, the weights,
the data, the policies that were tried. It is a value: what changes it returns another one.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from emuq.agents.emuq.options import Options
from emuq.agents.emuq.trust import Trust, nobody
from emuq.agents.spaces import Actions
from emuq.linear import expectation, posterior
from emuq.linear.expectation import Moments, quadratic_form
from emuq.linear.features import Features, Part, action_part, random_fourier
from emuq.linear.posterior import Blocked
from emuq.planning import dynamics, support, transitions
from emuq.planning.support import Lookahead
from emuq.planning.transitions import Transitions


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
    lookahead: Lookahead  # the newest plan to exploit with
    trust: Trust  # the policy that was seen to work
    converged: Bool[Array, " 2"]  # whether the last plan's sweeps converged, for Q and for U


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
def init(basis: Basis, lookahead: Lookahead, options: Options, key: Array) -> State:
    """S = I / alpha, m_Q = m_U = 0, no data."""
    low = jnp.float32 if options.precision == "single" else jnp.float64
    m, j = basis.features.num_features, basis.features.state_frequencies.shape[0]
    state_dim, action_dim = basis.features.state_frequencies.shape[1], basis.actions.shape[1]
    prior = posterior.prior(m, options.prior_precision, targets=2, dtype=low)
    chunk = options.rules.chunk
    capacity = -(-options.capacity // chunk) * chunk
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
        lookahead,
        nobody(lookahead),
        jnp.ones(2, bool),
    )


def no_lookahead(seed: int, options: Options, state_dim: int, actions: Actions) -> Lookahead:
    """A plan of no data; the model's frequencies are drawn once, whatever other features are drawn later."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,)))
    frequencies = dynamics.draw_frequencies(rng, options.features // 2, state_dim, actions.dim)
    return support.nothing(frequencies, jnp.asarray(actions.candidates), state_dim)


def streams(seed: int) -> tuple[np.random.Generator, Array]:
    """The generator that draws the features, and the key that breaks ties: two roles of one seed."""
    features, ties = np.random.SeedSequence(seed).spawn(2)
    return np.random.default_rng(features), jax.random.key(int(ties.generate_state(1)[0] >> 1))
