"""Which numbers of an observation are noise: those that say nothing about what comes next.

    x_i is noise where  sqrt(n) |corr(x_i, x'_i | a)| < 4
                 and    |B_ij| < 4 standard errors for every j != i,    (x', r) = B (1, a, x) + rest

over n transitions: it says nothing about its own next value, and nothing about any other number or the
reward that actions and the other numbers do not say. (An agent that acts on noise moves others by it.)

Each dimension of noise makes every state look new, so the features hardly vary along it. What is noise is
asked again whenever features are drawn: a number that turns out to matter is looked at again.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from emuq.planning.transitions import Transitions

ENOUGH = 150  # transitions before anything is taken for noise: a machine's speeds may look like it at 100
ERRORS = 4.0  # standard errors, which what says nothing exceeds in 6 cases of 100,000
BLUR = 16.0  # how many times as coarse the features are along noise
ROUNDED = 1e-6  # single precision
ROWS = 4096  # the latest transitions, at most, so that the cost is bounded


def noise(
    states: Float[Array, "n ds"],
    actions: Float[Array, "n da"],
    rewards: Float[Array, " n"],
    following: Float[Array, "n ds"],
    mask: Bool[Array, " n"],
) -> Bool[Array, " ds"]:
    """Which columns of `states` are noise, by the rows that count. A constant number is not. O(n d^2)."""
    states, actions, rewards, following = (
        jnp.asarray(rows, jnp.float64) for rows in (states, actions, rewards[:, None], following)
    )
    dim, number, row = states.shape[1], jnp.sum(mask), mask.astype(jnp.float64)[:, None]
    x, given = _standardised(states, row), row * jnp.concatenate([jnp.ones_like(row), actions], axis=1)
    inputs = jnp.concatenate([given, x], axis=1)
    targets = jnp.concatenate([_standardised(following, row), _standardised(rewards, row)], axis=1)
    # t_ij = B_ij / (standard error), of the regression of all that follows on all that there was.
    inverse = jnp.linalg.pinv(inputs.T @ inputs, hermitian=True)
    slopes = inverse @ (inputs.T @ targets)
    missed = jnp.sum((targets - inputs @ slopes) ** 2, axis=0) / jnp.maximum(number - inputs.shape[1], 1)
    # What is stored is rounded: nothing is known more exactly than that.
    error = jnp.sqrt(jnp.maximum(jnp.diag(inverse)[-dim:, None], 0.0) * jnp.maximum(missed, ROUNDED**2))
    scores = jnp.where(error > 0, jnp.abs(slopes[-dim:]) / jnp.where(error > 0, error, 1.0), 0.0)
    # Its own next value is a matter of that correlation alone: another number may say the same.
    by_actions = jnp.linalg.pinv(given.T @ given, hermitian=True) @ given.T
    itself, after = (_standardised(rows - given @ (by_actions @ rows), row) for rows in (x, following * row))
    own = jnp.abs(jnp.sum(itself * after, axis=0)) / jnp.sqrt(jnp.maximum(number, 1))
    scores = scores.at[jnp.arange(dim), jnp.arange(dim)].set(own)
    enough = number >= max(ENOUGH, 3 * inputs.shape[1])
    return enough & (jnp.max(scores, axis=1) < ERRORS) & jnp.any(x != 0, axis=0)


def blur(data: Transitions) -> Float[Array, " ds"]:
    """How many times as long a lengthscale is in each dimension: `BLUR` where it is noise, else 1."""
    number = min(ROWS, data.capacity)
    first = jnp.maximum(data.count - number, 0)
    arrays = (data.states, data.actions, data.rewards, data.next_states)
    states, actions, rewards, following = (jax.lax.dynamic_slice_in_dim(x, first, number) for x in arrays)
    found = noise(states, actions, rewards, following, first + jnp.arange(number) < data.count)
    return jnp.where(found, BLUR, 1.0)


def _standardised(rows: Float[Array, "n d"], mask: Float[Array, "n 1"]) -> Float[Array, "n d"]:
    """Mean 0 and standard deviation 1 in each column over the rows that count; 0 where it does not vary but
    by rounding, and in other rows.
    """
    number = jnp.maximum(jnp.sum(mask), 1.0)
    away = mask * (rows - jnp.sum(mask * rows, axis=0) / number)
    size = jnp.sqrt(jnp.sum(away**2, axis=0) / number)
    return jnp.where(size > ROUNDED, away / jnp.where(size > ROUNDED, size, 1.0), 0.0)
