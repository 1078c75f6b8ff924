"""How well a model foretells what it has not seen, several steps at a time.

    z_t = f(z_{t-1}, a_{t-1}),    error_t = median |z_t - s_t| / median |s_t - s_0|
    band_t = the share `level` of all |z_t - s_t|, number by number

s_0, a_0, s_1 ... are stretches of episodes. Those in the newest eighth of the data judge a model that was
made before they happened: an agent that explores leaves what its model knows, and old data would not show
it. So a band holds the share that it promises, whatever errors are like, as long as the agent goes on so.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from emuq.linear.posterior import Scalar
from emuq.planning import dynamics
from emuq.planning.dynamics import Model
from emuq.planning.selection import select, spread
from emuq.planning.transitions import Transitions

DEPTH = 16  # steps ahead that a model is judged for
STRETCHES, MANY = 64, 256  # stretches of what happened that errors are the medians of, and bands the shares
CLOSE = 0.1  # of how far states move: what is foretold within it is known


def ahead(
    model: Model, z: Float[Array, "n ds"], actions: Float[Array, "n h da"]
) -> tuple[Float[Array, "n h ds"], Float[Array, "n h"]]:
    """Where sequences of actions lead, step by step, and what they pay (standardised)."""

    def step(z: Array, actions: Array) -> tuple[Array, tuple[Array, Array]]:
        z, pay = dynamics.predict(model, z, actions)
        return z, (z, pay)

    found = jax.lax.scan(step, z, jnp.swapaxes(actions, 0, 1))[1]
    return jnp.swapaxes(found[0], 0, 1), jnp.swapaxes(found[1], 0, 1)


def reliable(model: Model, data: Transitions) -> Int[Array, ""]:
    """How many steps ahead a model foretells the newest eighth of the data, which it has not seen.

    A step counts if its error is below `CLOSE`, and with it all steps before.
    """
    return jnp.maximum(1, jnp.sum(jnp.cumprod(errors(model, data) < CLOSE))).astype(jnp.int32)


def judged(old: Model, data: Transitions) -> tuple[Bool[Array, ""], Int[Array, ""], Bool[Array, ""]]:
    """Of a model that has not seen the newest eighth: does its network foretell that better, how many steps

    ahead is the better one reliable, and is a network worth training?
    """
    process, net = (errors(old._replace(chosen=jnp.array(chosen)), data) for chosen in (False, True))
    better = old.trained & (jnp.sum(jnp.minimum(net, 1)) < jnp.sum(jnp.minimum(process, 1)))
    steps = reach_of(jnp.where(better, net, process))
    return better, steps, reach_of(process) < DEPTH


def reach_of(found: Float[Array, " h"]) -> Int[Array, ""]:
    """A step counts if its error is below `CLOSE`, and with it all steps before."""
    return jnp.maximum(1, jnp.sum(jnp.cumprod(found < CLOSE))).astype(jnp.int32)


def errors(model: Model, data: Transitions) -> Float[Array, " h"]:
    """The error of so many steps ahead in the newest eighth, in units of how far states move in them.

    Both are medians over stretches of an episode; how far states move is that of all data, since a machine
    that is held where it should be hardly moves.
    """
    _, truth, told, whole = stretches(model, data, before(data))
    first, everywhere, _, known = stretches(model, data, jnp.zeros_like(data.count))
    # A comparison with NaN, where no stretch is that long, is false.
    return middle(told - truth, whole) / middle(everywhere - first[:, None], known)


def bands(data: Transitions, steps: int, level: Scalar) -> Float[Array, "h ds"]:
    """How far off a prediction of so many steps is at most, in `level` of all stretches; inf: too few to say.

    By a model of all but the newest eighth, on that eighth; in the units of the data.
    """
    model = model_of(data._replace(count=before(data)))
    _, truth, told, whole = stretches(model, data, before(data), steps, MANY)
    wrong = jnp.where(whole[..., None], jnp.abs(told - truth) * model.scale, jnp.inf)
    number = jnp.sum(whole, axis=0)
    rank = jnp.ceil((number + 1) * level).astype(jnp.int32) - 1  # one more: the one that is foretold counts
    return jnp.take_along_axis(jnp.sort(wrong, axis=0), jnp.minimum(rank, MANY - 1)[None, :, None], axis=0)[0]


def model_of(data: Transitions) -> Model:
    """The model of these data, as a look makes it."""
    rows = dynamics.sample(data, 1.0)
    return dynamics.fit(rows, *select(dynamics.deviations(rows), rows.mask, dynamics.KNOWN))


def before(data: Transitions) -> Int[Array, ""]:
    """How many transitions come before the newest eighth."""
    return data.count - data.count // 8


def stretches(
    model: Model, data: Transitions, since: Int[Array, ""], steps: int = DEPTH, number: int = STRETCHES
) -> tuple[Float[Array, "n ds"], Float[Array, "n h ds"], Float[Array, "n h ds"], Bool[Array, "n h"]]:
    """Where stretches of the data began and led to, where the model says, and up to where they are whole."""
    start = since + spread(number, jnp.maximum(data.count - since - steps, 0))
    rows = jnp.minimum(start[:, None] + jnp.arange(steps), data.capacity - 1)
    ends = jnp.cumsum(data.ended[rows], axis=1) - data.ended[rows]  # before this step
    first = dynamics.standardised(model, data.states[rows[:, 0]])
    told, _ = ahead(model, first, data.actions[rows])
    truth = dynamics.standardised(model, data.next_states[rows])
    return first, truth, told, (ends == 0) & (rows < data.count)


def middle(x: Float[Array, "n h d"], mask: Array) -> Float[Array, " h"]:
    """The median length of those that count."""
    return jnp.nanmedian(jnp.where(mask, jnp.linalg.norm(x, axis=-1), jnp.nan), axis=0)
