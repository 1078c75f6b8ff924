"""Where episodes end, and what that is worth.

    W(z') = worth of the edge       where z'_j is beyond the edge of dimension j

Many tasks end at a threshold: a pole leans too far, a cart leaves its rail, a car passes a flag. Such an edge
shows in the data as a bound of all states from which the agent went on, with endings beyond it; it lies
half-way between. Edges are taken in turn, the one first that explains most endings. They are believed where
they explain nine in ten endings, and two endings for each edge: a pole that falls is fast as well, but it is
the angle that explains every fall. Other endings have no edge; as points of the `support`, with values that
stay, they are told by what is near.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from emuq.planning import dynamics
from emuq.planning.dynamics import Model
from emuq.planning.selection import spread
from emuq.planning.transitions import Transitions

ALL = 0.9  # the share of all endings that edges explain, to be believed,
EACH = 2  # and how many there are at least for each edge


FAR = 1e30  # where there is no edge: beyond all states, and finite as all that a file may hold


class Endings(NamedTuple):
    """States in which episodes ended (standardised), which of these are any, and what they were worth."""

    states: Float[Array, "n ds"]
    filled: Bool[Array, " n"]
    worth: Float[Array, " n"]


class Edges(NamedTuple):
    """For each dimension its lower and its upper edge, `FAR` where there is none, and their worth."""

    places: Float[Array, "2 ds"]
    worth: Float[Array, "2 ds"]


def nowhere(state_dim: int) -> Edges:
    """No edges."""
    places = jnp.stack([jnp.full(state_dim, -FAR), jnp.full(state_dim, FAR)]).astype(jnp.float32)
    return Edges(places, jnp.zeros_like(places))


def seen(model: Model, data: Transitions, number: int) -> Endings:
    """At most `number` endings, at even distances in time.

    An ending is worth the reward of its step beyond what such a step pays elsewhere: that part is the
    model's.
    """
    ended = data.terminal & (jnp.arange(data.capacity) < data.count)
    total = jnp.cumsum(ended)
    rank = spread(number, total[-1])
    at = jnp.minimum(jnp.searchsorted(total, rank + 1), data.capacity - 1)
    pay = dynamics.predict(model, dynamics.standardised(model, data.states[at]), data.actions[at])[1]
    states = dynamics.standardised(model, data.next_states[at])
    return Endings(states, jnp.arange(number) < total[-1], data.rewards[at].astype(jnp.float32) - pay)


def edges(model: Model, data: Transitions, endings: Endings) -> Edges:
    """The edges that these endings lie beyond, or none."""
    known = jnp.arange(data.capacity) < data.count
    goes_on = known & ~data.terminal
    z, after = (dynamics.standardised(model, x) for x in (data.states, data.next_states))
    # Upper edges of z and of -z: a lower edge is an upper one, mirrored.
    bound = jnp.maximum(
        jnp.max(jnp.where(known[:, None], jnp.concatenate([-z, z], axis=1), -jnp.inf), axis=0),
        jnp.max(jnp.where(goes_on[:, None], jnp.concatenate([-after, after], axis=1), -jnp.inf), axis=0),
    )
    ended = jnp.concatenate([-endings.states, endings.states], axis=1)
    beyond = endings.filled[:, None] & (ended > bound)
    taken = cover(beyond)
    explained = jnp.any(beyond & taken, axis=1)
    number = jnp.sum(endings.filled)
    believed = taken & (jnp.sum(explained) >= ALL * number) & (number >= EACH * jnp.sum(taken))
    first = jnp.min(jnp.where(beyond, ended, jnp.inf), axis=0)
    worth = jnp.sum(jnp.where(beyond, endings.worth[:, None], 0.0), axis=0)
    worth = worth / jnp.maximum(jnp.sum(beyond, axis=0), 1)
    lower, upper = jnp.split(jnp.where(believed, (bound + first) / 2, FAR), 2)
    return Edges(jnp.stack([-lower, upper]), worth.reshape(2, -1).astype(jnp.float32))


def cover(beyond: Bool[Array, "n e"]) -> Bool[Array, " e"]:
    """Which edges to take: in turn the one beyond which most endings lie that no other has explained."""

    def take(_, carry: tuple[Bool[Array, " n"], Bool[Array, " e"]]):
        left, taken = carry
        numbers = jnp.sum(beyond & left[:, None], axis=0)
        edge = jnp.argmax(numbers)
        return left & ~beyond[:, edge], taken.at[edge].set(taken[edge] | (numbers[edge] > 0))

    number, edges = beyond.shape
    return jax.lax.fori_loop(0, edges, take, (jnp.ones(number, bool), jnp.zeros(edges, bool)))[1]


def beyond(edges: Edges, z: Float[Array, "n ds"]) -> tuple[Bool[Array, " n"], Float[Array, " n"]]:
    """Whether these states are beyond an edge, and what that is worth (the mean, if beyond several)."""
    out = jnp.concatenate([z < edges.places[0], z > edges.places[1]], axis=-1)
    number = jnp.sum(out, axis=-1)
    return number > 0, out.astype(z.dtype) @ edges.worth.ravel() / jnp.maximum(number, 1)
