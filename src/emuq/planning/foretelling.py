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
PAID = 1024  # transitions whose rewards are foretold
UNEXPLAINED = 0.01  # of the rewards' variance: with less, nothing is left to learn
CLOSE = 0.2  # of how far states move: what is foretold within it is known


def ahead(
    model: Model, z: Float[Array, "n ds"], actions: Float[Array, "n h da"]
) -> tuple[Float[Array, "n h ds"], Float[Array, "n h"]]:
    """Where sequences of actions lead, step by step, and what they pay (standardised)."""

    def step(z: Array, actions: Array) -> tuple[Array, tuple[Array, Array]]:
        z, pay = dynamics.predict(model, z, actions)
        return z, (z, pay)

    found = jax.lax.scan(step, z, jnp.swapaxes(actions, 0, 1))[1]
    return jnp.swapaxes(found[0], 0, 1), jnp.swapaxes(found[1], 0, 1)


def reliable(found: Float[Array, " h"]) -> Int[Array, ""]:
    """How many steps ahead a model of these errors is good for.

    A step counts if its error is below `CLOSE`, and with it all steps before.
    """
    return jnp.maximum(1, jnp.sum(jnp.cumprod(found < CLOSE))).astype(jnp.int32)


def judged(old: Model, data: Transitions) -> tuple[Bool[Array, " 2"], Int[Array, ""], Bool[Array, ""]]:
    """What the newest eighth of the data, which the model has not seen, says about it.

    Where its network foretells better than its Gaussian process (changes, rewards), how many steps ahead the
    better one is reliable, and whether there is anything for a network to learn.
    """
    process, net = (old._replace(chosen=jnp.full(2, by)) for by in (False, True))
    by_process, by_net = errors(process, data), errors(net, data)
    moves = jnp.sum(jnp.minimum(by_net, 1)) < jnp.sum(jnp.minimum(by_process, 1))
    missed = wrong_pay(process, data)
    chosen = (old.trained > 0) & jnp.stack([moves, wrong_pay(net, data) < missed])
    wanted = (reliable(by_process) < DEPTH) | (missed > UNEXPLAINED * old.reward[1] ** 2)
    return chosen, reliable(jnp.where(chosen[0], by_net, by_process)), wanted


def wrong_pay(model: Model, data: Transitions) -> Float[Array, ""]:
    """The mean square of what rewards in the newest eighth differ from those foretold, one step ahead."""
    since = before(data)
    rows = jnp.minimum(since + spread(PAID, data.count - since), data.capacity - 1)
    z = dynamics.standardised(model, data.states[rows])
    wrong = dynamics.predict(model, z, data.actions[rows])[1] - data.rewards[rows]
    counts = (jnp.arange(PAID) < data.count - since) & ~data.terminal[rows]
    return jnp.sum(jnp.where(counts, wrong**2, 0.0)) / jnp.maximum(jnp.sum(counts), 1)


def errors(model: Model, data: Transitions) -> Float[Array, " h"]:
    """The error of so many steps ahead in the newest eighth, in units of how far states move in them.

    Both are medians over stretches of an episode; how far states move is that of all data, since a machine
    that is held where it should be hardly moves.
    """
    _, truth, told, whole = stretches(model, data, before(data))
    first, everywhere, _, known = stretches(model, data, jnp.zeros_like(data.count))
    # A comparison with NaN, where no stretch is that long, is false.
    return middle(told - truth, whole) / middle(everywhere - first[:, None], known)


def bands(data: Transitions, chosen: Bool[Array, " 2"], steps: int, level: Scalar) -> Float[Array, "h ds"]:
    """How far off a prediction of so many steps is at most, in `level` of all stretches; inf: too few to say.

    By a model of all but the newest eighth, on that eighth; in the units of the data.
    """
    model = model_of(data._replace(count=before(data)), chosen)
    _, truth, told, whole = stretches(model, data, before(data), steps, MANY)
    wrong = jnp.where(whole[..., None], jnp.abs(told - truth) * model.scale, jnp.inf)
    number = jnp.sum(whole, axis=0)
    rank = jnp.ceil((number + 1) * level).astype(jnp.int32) - 1  # one more: the one that is foretold counts
    return jnp.take_along_axis(jnp.sort(wrong, axis=0), jnp.minimum(rank, MANY - 1)[None, :, None], axis=0)[0]


def model_of(data: Transitions, chosen: Bool[Array, " 2"]) -> Model:
    """The model of these data alone, with a network for what one is `chosen` for."""
    rows = dynamics.sample(data, 0.0)
    model = dynamics.fit(rows, *select(dynamics.deviations(rows), rows.mask, dynamics.KNOWN))
    return dynamics.with_network(model, model, data, jnp.any(chosen))._replace(chosen=chosen)


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
