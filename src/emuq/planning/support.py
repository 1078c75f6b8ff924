"""The value of states that were visited, between which it is interpolated; actions are judged one step ahead.

    Q(s, a) = r(s, a) + W(f(s, a)),          W(z) = b + k(z, Z) (K + nu I)^-1 (w - b)
    w_i <- max(G_i, gamma [(1 - e) max_a + e mean_a] Q(z_i, a));      where an episode ended: what that paid

f and r are the `dynamics`; Z, the support, are states that were visited and states that the policy would come
to (`imagined`); W is what a state is worth to whoever arrives there, or what its edge is worth where episodes
end beyond one (`endings`). k is the mean of two Matern 5/2 kernels, of 1 and of 3 standard deviations: a
value has fine parts, and in six dimensions states are far apart.

G_i is the return that was seen to follow z_i, in an episode that ended by itself: right after the first
success values need not be made from the model alone.

Far from all that was visited W falls to b, the least value: what nobody has seen is not worth going to while
nothing is explored. With probability e a step's action is any of them: what only the best of control could
save is worth less, so that policies keep away from edges.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from emuq.linear.posterior import Scalar
from emuq.planning import dynamics, endings, foretelling, imagined, transitions
from emuq.planning.dynamics import Model, Sample
from emuq.planning.endings import Edges, Endings
from emuq.planning.kernels import two_scales
from emuq.planning.selection import select
from emuq.planning.transitions import Transitions

SIZE = 800  # states of the support
IMPROVEMENTS = 20  # in a plan, from the values of the plan before: each compares all actions once,
SWEEPS = 5  # and sweeps the values so often with the best of them
SLIP = 0.1  # e
NUGGET = 3e-3  # nu: values are smoothed by this share of their variance
COARSE = 3  # the lengthscale of the second kernel; that of the first is 1
AWAY = 1e4  # standard deviations: far from everything


class Lookahead(NamedTuple):
    """A policy: argmax_a of Q, one step ahead. All arrays are in single precision."""

    model: Model
    actions: Float[Array, "k da"]  # that are compared
    support: Float[Array, "n ds"]  # Z, standardised by the model
    coefficients: Float[Array, " n"]  # (K + nu I)^-1 (w - b)
    base: Float[Array, ""]  # b
    bounds: Float[Array, " 2"]  # of all values, by the rewards that were seen
    edges: Edges
    discount: Float[Array, ""]
    reach: Int[Array, ""]  # how many steps to look ahead


class Points(NamedTuple):
    """States, standardised, and which of these are any."""

    states: Float[Array, "n ds"]
    filled: Bool[Array, " n"]


class Support(NamedTuple):
    """States, which of these are any, which ended an episode, and what they are worth by what was seen."""

    states: Float[Array, "n ds"]
    filled: Bool[Array, " n"]
    ends: Bool[Array, " n"]
    worth: Float[Array, " n"]  # of an ending
    least: Float[Array, " n"]  # what was seen to follow


def nothing(actions: Float[Array, "k da"], state_dim: int) -> Lookahead:
    """No data: every action is worth 0."""
    low = jnp.float32
    return Lookahead(
        dynamics.empty(state_dim, actions.shape[1]),
        jnp.asarray(actions, low),
        jnp.zeros((SIZE, state_dim), low),
        jnp.zeros(SIZE, low),
        jnp.zeros((), low),
        jnp.zeros(2, low),
        endings.nowhere(state_dim),
        jnp.ones((), low),
        jnp.ones((), jnp.int32),
    )


def plan(
    old: Lookahead, data: Transitions, discount: Scalar, farthest: int | Int[Array, ""] = 1
) -> Lookahead:
    """The model and the values of all data, from the values of the last plan. O(n^3 + K n^2).

    `farthest` limits how many steps it may look ahead.
    """
    rows = dynamics.sample(data, discount)
    at, real = select(dynamics.deviations(rows), rows.mask, dynamics.KNOWN)
    chosen, steps, wanted = foretelling.judged(old.model, data)
    model = dynamics.with_network(dynamics.fit(rows, at, real), old.model, data, wanted)
    model = model._replace(chosen=chosen)
    ended = endings.seen(model, data, SIZE // 4)
    edges = endings.edges(model, data, ended)
    known = Points(dynamics.standardised(model, rows.states[at]), real)
    points = choose(rows, at, real, model, ended, imagine(old, model, edges, ended, data, known))
    bounds = transitions.value_bounds(data, discount).astype(jnp.float32)
    before = jnp.clip(interpolate(old, dynamics.raw(model, points.states)), *bounds)
    start = jnp.where(points.ends, points.worth, before)
    coefficients, base = sweep(model, old.actions, points, edges, bounds, discount, start)
    reach = jnp.minimum(steps, farthest).astype(jnp.int32)
    worth = points.states, coefficients, base, bounds, edges
    return Lookahead(model, old.actions, *worth, jnp.asarray(discount, jnp.float32), reach)


def sweep(
    model: Model,
    actions: Float[Array, "k da"],
    chosen: Support,
    edges: Edges,
    bounds: Float[Array, " 2"],
    discount: Scalar,
    w: Float[Array, " n"],
) -> tuple[Float[Array, " n"], Float[Array, ""]]:
    """(K + nu I)^-1 (w - b) and b, once the values have been swept: modified policy iteration.

    Most sweeps are of one action, the best at the last improvement: K times fewer products.
    """
    z, filled, n, k = chosen.states, chosen.filled, SIZE, len(actions)
    both = filled[:, None] & filled[None, :]
    gram = jnp.where(both, two_scales(z, z, COARSE), 0.0) + jnp.diag(jnp.where(filled, NUGGET, 1.0))
    factor = jnp.linalg.cholesky(gram.astype(jnp.float64))
    # Double precision: where states are close together, coefficients are a hundred times the values.
    inverse = jax.scipy.linalg.cho_solve((factor, True), jnp.eye(n))
    following, pay = dynamics.predict(model, jnp.repeat(z, k, axis=0), jnp.tile(actions, (n, 1)))
    over, worth = endings.beyond(edges, following)
    # q = pay + inside (b + reach c): beyond an edge nothing is interpolated.
    reach = (two_scales(following, z, COARSE) * filled * ~over[:, None]).reshape(n, k, n)
    inside = (~over).astype(jnp.float32).reshape(n, k)
    pay = (pay + over * worth).reshape(n, k)
    any_action = jnp.mean(reach, axis=1), jnp.mean(inside, axis=1), jnp.mean(pay, axis=1)

    def solve(w: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, ""]]:
        base = jnp.min(jnp.where(filled, w, jnp.inf))
        base = jnp.where(jnp.isfinite(base), base, 0.0)
        right = jnp.where(filled, w - base, 0.0).astype(inverse.dtype)
        return (inverse @ right).astype(jnp.float32), base

    def once(w: Float[Array, " n"], reach: Array, inside: Array, pay: Array) -> Float[Array, " n"]:
        coefficients, base = solve(w)
        best = pay + inside * jnp.clip(base + reach @ coefficients, *bounds)
        mean = any_action[2] + any_action[1] * base + any_action[0] @ coefficients
        new = jnp.clip(discount * ((1 - SLIP) * best + SLIP * mean), *bounds)
        return jnp.where(chosen.ends, chosen.worth, jnp.maximum(new, chosen.least))

    def improve(_, w: Float[Array, " n"]) -> Float[Array, " n"]:
        coefficients, base = solve(w)
        q = pay + inside * jnp.clip(base + reach @ coefficients, *bounds)
        at = jnp.arange(n), jnp.argmax(q, axis=1)
        policy = reach[at], inside[at], pay[at]
        return jax.lax.fori_loop(0, SWEEPS, lambda _, w: once(w, *policy), w)

    return solve(jax.lax.fori_loop(0, IMPROVEMENTS, improve, w))


def action_values(policy: Lookahead, states: Float[Array, "*n ds"]) -> Float[Array, "*n k"]:
    """Q(s, a) of every action that is compared."""
    k, flat = len(policy.actions), states.reshape(-1, states.shape[-1])
    found = values(policy, jnp.repeat(flat, k, axis=0), jnp.tile(policy.actions, (len(flat), 1)))
    return found.reshape(*states.shape[:-1], k)


def values(
    policy: Lookahead, states: Float[Array, "n ds"], actions: Float[Array, "n da"]
) -> Float[Array, " n"]:
    """Q(s, a) of any action."""
    following, pay = dynamics.predict(policy.model, dynamics.standardised(policy.model, states), actions)
    return pay + worth(policy, following)[0]


def worth(policy: Lookahead, z: Float[Array, "n ds"]) -> tuple[Float[Array, " n"], Bool[Array, " n"]]:
    """W(z), and whether the episode is over there."""
    over, at_edge = endings.beyond(policy.edges, z)
    inside = policy.base + two_scales(z, policy.support, COARSE) @ policy.coefficients
    return jnp.where(over, at_edge, jnp.clip(inside, *policy.bounds)), over


def interpolate(policy: Lookahead, states: Float[Array, "n ds"]) -> Float[Array, " n"]:
    """W(s)."""
    z = dynamics.standardised(policy.model, states)
    return jnp.clip(policy.base + two_scales(z, policy.support, COARSE) @ policy.coefficients, *policy.bounds)


# The support ----------------------------------------------------------------------------------------------


def choose(
    rows: Sample, at: Int[Array, " n"], real: Bool[Array, " n"], model: Model, ended: Endings, ahead: Points
) -> Support:
    """`SIZE` states: endings first, then imagined ones (a quarter at most of each), then those visited."""
    visited = dynamics.standardised(model, rows.states[at])
    ends, imagined, seen = len(ended.filled), len(ahead.filled), len(at)
    states = jnp.concatenate([ended.states, ahead.states, visited])
    filled = jnp.concatenate([ended.filled, ahead.filled, real])
    is_end = jnp.arange(len(filled)) < ends
    worth = jnp.concatenate([ended.worth, jnp.zeros(imagined + seen, ended.worth.dtype)])
    never = jnp.full(ends + imagined, -jnp.inf, rows.returns.dtype)
    least = jnp.concatenate([never, rows.returns[at]])
    first = jnp.argsort(~filled, stable=True)[:SIZE]
    return Support(states[first], filled[first], (is_end & filled)[first], worth[first], least[first])


def imagine(
    old: Lookahead, model: Model, edges: Edges, ended: Endings, data: Transitions, known: Points
) -> Points:
    """States that the values of the plan before would lead to, by the model of today."""

    def q_and_next(z: Float[Array, "n ds"], actions: Float[Array, "n da"]) -> tuple[Array, Array]:
        following, pay = dynamics.predict(model, z, actions)
        over, worth = endings.beyond(edges, following)
        inside = interpolate(old, dynamics.raw(model, following))
        # Beyond an edge the episode is over: nothing is near it there.
        return pay + jnp.where(over, worth, inside), jnp.where(over[:, None], -AWAY, following)

    visited = jnp.where(known.filled[:, None], known.states, AWAY)
    ends = jnp.where(ended.filled[:, None], ended.states, AWAY)
    start = imagined.beginnings(model, data)
    return Points(*imagined.passed(q_and_next, old.actions, start, visited, ends, SIZE // 4))
