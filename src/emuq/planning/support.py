"""The value of states that were visited, between which it is interpolated; actions are judged one step ahead.

    Q(s, a) = r(s, a) + W(f(s, a)),          W(z) = b + k(z, Z) (K + nu I)^-1 (w - b)
    w_i <- max(G_i, gamma [(1 - e) max_a + e mean_a] Q(z_i, a));      where an episode ended: what that paid

f and r are the `dynamics`; Z are states that were visited, the support; W is what a state is worth to whoever
arrives there, or what its edge is worth where episodes end beyond one (`endings`). k is the mean of two
Matern 5/2 kernels, of 1 and of 3 standard deviations: a value has fine parts, and in six dimensions states
are far apart.

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

from emuq.planning import dynamics, endings
from emuq.planning.dynamics import Model, Sample
from emuq.planning.endings import Edges, Endings
from emuq.planning.transitions import Transitions

SIZE = 800  # states of the support
IMPROVEMENTS = 20  # in a plan, from the values of the plan before: each compares all actions once,
SWEEPS = 5  # and sweeps the values so often with the best of them
SLIP = 0.1  # e
NUGGET = 3e-3  # nu: values are smoothed by this share of their variance
COARSE = 3  # the lengthscale of the second kernel; that of the first is 1


class Lookahead(NamedTuple):
    """A policy: argmax_a of Q, one step ahead. All arrays are in single precision."""

    model: Model
    actions: Float[Array, "k da"]  # that are compared
    support: Float[Array, "n ds"]  # Z, standardised by the model
    coefficients: Float[Array, " n"]  # (K + nu I)^-1 (w - b)
    base: Float[Array, ""]  # b
    bounds: Float[Array, " 2"]  # of all values, by the rewards that were seen
    edges: Edges


class Support(NamedTuple):
    """States, which of these are any, which ended an episode, and what they are worth by what was seen."""

    states: Float[Array, "n ds"]
    filled: Bool[Array, " n"]
    ends: Bool[Array, " n"]
    worth: Float[Array, " n"]  # of an ending
    least: Float[Array, " n"]  # what was seen to follow


def nothing(frequencies: Float[Array, "j d"], actions: Float[Array, "k da"], state_dim: int) -> Lookahead:
    """No data: every action is worth 0."""
    low = jnp.float32
    return Lookahead(
        dynamics.empty(frequencies, state_dim),
        jnp.asarray(actions, low),
        jnp.zeros((SIZE, state_dim), low),
        jnp.zeros(SIZE, low),
        jnp.zeros((), low),
        jnp.zeros(2, low),
        endings.nowhere(state_dim),
    )


def plan(old: Lookahead, data: Transitions, discount: float) -> Lookahead:
    """The model and the values of all data, from the values of the last plan. O(R M^2 + K n^2)."""
    rows = dynamics.sample(data, discount)
    model = dynamics.fit(old.model.frequencies, rows)
    ended = endings.seen(model, data, SIZE // 4)
    edges = endings.edges(model, data, ended)
    chosen = choose(model, rows, ended)
    bounds = value_bounds(data, discount).astype(jnp.float32)
    before = jnp.clip(interpolate(old, raw(model, chosen.states)), *bounds)
    start = jnp.where(chosen.ends, chosen.worth, before)
    coefficients, base = sweep(model, old.actions, chosen, edges, bounds, discount, start)
    return Lookahead(model, old.actions, chosen.states, coefficients, base, bounds, edges)


def sweep(
    model: Model,
    actions: Float[Array, "k da"],
    chosen: Support,
    edges: Edges,
    bounds: Float[Array, " 2"],
    discount: float,
    w: Float[Array, " n"],
) -> tuple[Float[Array, " n"], Float[Array, ""]]:
    """(K + nu I)^-1 (w - b) and b, once the values have been swept: modified policy iteration.

    Most sweeps are of one action, the best at the last improvement: K times fewer products.
    """
    z, filled, n, k = chosen.states, chosen.filled, SIZE, len(actions)
    both = filled[:, None] & filled[None, :]
    gram = jnp.where(both, kernel(z, z), 0.0) + jnp.diag(jnp.where(filled, NUGGET, 1.0))
    factor = jnp.linalg.cholesky(gram.astype(jnp.float64))
    # Double precision: where states are close together, coefficients are a hundred times the values.
    inverse = jax.scipy.linalg.cho_solve((factor, True), jnp.eye(n))
    following, pay = dynamics.predict(model, jnp.repeat(z, k, axis=0), jnp.tile(actions, (n, 1)))
    over, worth = endings.beyond(edges, following)
    # q = pay + inside (b + reach c): beyond an edge nothing is interpolated.
    reach = (kernel(following, z) * filled * ~over[:, None]).reshape(n, k, n)
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
    k = len(policy.actions)
    z = jnp.broadcast_to(
        dynamics.standardised(policy.model, states)[..., None, :], (*states.shape[:-1], k, states.shape[-1])
    )
    return _values(policy, z, jnp.broadcast_to(policy.actions, (*z.shape[:-1], policy.actions.shape[-1])))


def values(
    policy: Lookahead, states: Float[Array, "*n ds"], actions: Float[Array, "*n da"]
) -> Float[Array, "*n"]:
    """Q(s, a) of any action."""
    return _values(policy, dynamics.standardised(policy.model, states), actions)


def _values(policy: Lookahead, z: Array, actions: Array) -> Array:
    following, pay = dynamics.predict(policy.model, z, actions)
    flat = following.reshape(-1, following.shape[-1])
    over, worth = endings.beyond(policy.edges, flat)
    inside = policy.base + kernel(flat, policy.support) @ policy.coefficients
    return pay + jnp.where(over, worth, jnp.clip(inside, *policy.bounds)).reshape(pay.shape)


def interpolate(policy: Lookahead, states: Float[Array, "n ds"]) -> Float[Array, " n"]:
    """W(s)."""
    z = dynamics.standardised(policy.model, states)
    return jnp.clip(policy.base + kernel(z, policy.support) @ policy.coefficients, *policy.bounds)


def kernel(x: Float[Array, "n ds"], y: Float[Array, "m ds"]) -> Float[Array, "n m"]:
    """The mean over l = 1 and l = 3 of (1 + q + q^2 / 3) exp(-q), q = sqrt(5) |x - y| / l (Matern 5/2)."""
    square = jnp.sum(x * x, -1)[:, None] + jnp.sum(y * y, -1)[None, :] - 2 * x @ y.T
    q = jnp.sqrt(5 * jnp.maximum(square, 0.0))
    coarse = q / COARSE
    fade = jnp.exp(-coarse)
    return ((1 + q + q * q / 3) * fade**COARSE + (1 + coarse + coarse * coarse / 3) * fade) / 2


def raw(model: Model, z: Float[Array, "n ds"]) -> Float[Array, "n ds"]:
    """s = mean + scale z."""
    return model.mean + model.scale * z


def value_bounds(data: Transitions, discount: float) -> Float[Array, " 2"]:
    """What the rewards seen allow: r / (1 - gamma), or r where it ends an episode."""
    known = jnp.arange(data.capacity) < data.count
    extreme = jnp.where(data.terminal, data.rewards, data.rewards / (1 - discount))
    extreme = jnp.where(known, extreme, 0.0)
    return jnp.stack([jnp.min(extreme), jnp.max(extreme)])


# The support ----------------------------------------------------------------------------------------------


def choose(model: Model, rows: Sample, ended: Endings) -> Support:
    """States for the support: endings (a quarter at most), and then in turn a state that is far from all
    before it, and one of the states at even distances in time, where the agent is most of the time.
    """
    n = SIZE
    z = dynamics.standardised(model, rows.states)
    far, far_filled = farthest(z, rows.mask, n // 2)
    number = jnp.sum(rows.mask)
    even = dynamics.spread(n // 2, number)
    even_filled = even < number
    order = jnp.stack([far, even], 1).ravel()
    filled = jnp.stack([far_filled, even_filled], 1).ravel()
    count = jnp.sum(ended.filled)
    at = jnp.arange(n) - count  # the endings come first, and the others are moved up behind them
    last, place = jnp.clip(jnp.arange(n), 0, len(ended.filled) - 1), jnp.maximum(at, 0)
    is_end = at < 0
    return Support(
        jnp.where(is_end[:, None], ended.states[last], z[order[place]]),
        is_end | filled[place],
        is_end,
        jnp.where(is_end, ended.worth[last], 0.0),
        jnp.where(is_end, -jnp.inf, rows.returns[order[place]]),
    )


def farthest(
    z: Float[Array, "r ds"], mask: Bool[Array, " r"], number: int
) -> tuple[Int[Array, " n"], Bool[Array, " n"]]:
    """Rows each of which is the farthest from all before it, from row 0 on; and which are no repetition."""

    def step(carry, _):
        distance, last = carry
        distance = jnp.minimum(distance, jnp.sum((z - z[last]) ** 2, axis=-1))
        at = jnp.argmax(jnp.where(mask, distance, -1.0))
        return (distance, at), (last, jnp.where(mask[last], 1.0, 0.0), distance[at])

    begin = (
        jnp.full(z.shape[0], jnp.inf, z.dtype),
        jnp.argmax(mask),
    )
    _, (rows, real, ahead) = jax.lax.scan(step, begin, None, length=number)
    new = jnp.concatenate([jnp.ones(1, bool), ahead[:-1] > 0])
    return rows, new & (real > 0)
