"""Taxi: fetch a passenger and drive them to their destination on a 5 x 5 grid (Dietterich, 2000)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from emuq.domains.base import REWARDS, Domain, Step, choice

SIZE, NUM_STATES, NUM_ACTIONS = 5, 500, 6
PICK_UP, DROP_OFF = 4, 5
IN_TAXI = 4
LANDMARKS = ((0, 0), (0, 4), (4, 0), (4, 3))
# (row, column) of cells with a wall on their east side.
WALLS = ((0, 1), (1, 1), (3, 0), (3, 2), (4, 0), (4, 2))
HORIZON = 200  # Gymnasium's: the paper gives none.
WRONG = -0.1


def encode(row, column, passenger, destination):
    """((5 row + column) 5 + passenger) 4 + destination: Gymnasium's numbering."""
    return ((SIZE * row + column) * 5 + passenger) * 4 + destination


def decode(state):
    """The inverse of `encode`: row, column, passenger (4: in the taxi), destination."""
    return state // 100, state // 20 % 5, state // 4 % 5, state % 4


def starts() -> np.ndarray:
    """Gymnasium's 300 starts: taxi anywhere, passenger at a landmark other than the destination."""
    states = np.arange(NUM_STATES)
    _, _, passenger, destination = decode(states)
    return states[(passenger != IN_TAXI) & (passenger != destination)]


def taxi(reward: str = "goal") -> Domain:
    """Goal: the passenger dropped at the destination. Horizon 200.

    Actions: south, north, east, west, pick up, drop off. A pick-up where the passenger is not waiting and a
    drop-off anywhere but at the destination cost 0.1; dropped at another landmark, the passenger waits there.
    reward="classic": 20 at the goal, -10 for an impossible pick-up or drop-off, -1 for any other step.
    """
    choice("reward", reward, REWARDS)
    # NumPy's arrays here, JAX's inside: a domain may be made while another function is traced.
    landmark_rows, landmark_columns = np.array(LANDMARKS, np.int32).T
    wall = np.zeros((SIZE, SIZE + 1), bool)
    wall[:, 0] = wall[:, SIZE] = True
    for row, column in WALLS:
        wall[row, column + 1] = True
    open_west, open_east = ~wall[:, :-1], ~wall[:, 1:]
    first = starts()

    def reset(key: jax.Array) -> jax.Array:
        return jnp.asarray(first, jnp.int32)[jax.random.randint(key, (), 0, first.shape[0], jnp.int32)]

    def step(state: jax.Array, action: jax.Array, key: jax.Array) -> Step:
        del key
        row, column, passenger, destination = decode(state)
        at = (row == landmark_rows) & (column == landmark_columns)
        waiting = passenger != IN_TAXI
        picks = (action == PICK_UP) & waiting & at[jnp.minimum(passenger, 3)]
        drops = (action == DROP_OFF) & jnp.logical_not(waiting) & at.any()
        goal = drops & at[destination]
        impossible = (action >= PICK_UP) & jnp.logical_not(picks | drops)
        wrong = impossible | (drops & jnp.logical_not(goal))
        vertical = jnp.where(action == 0, 1, 0) - jnp.where(action == 1, 1, 0)
        east = jnp.where((action == 2) & jnp.asarray(open_east)[row, column], 1, 0)
        west = jnp.where((action == 3) & jnp.asarray(open_west)[row, column], 1, 0)
        passenger = jnp.where(picks, IN_TAXI, jnp.where(drops, jnp.argmax(at), passenger))
        after = encode(jnp.clip(row + vertical, 0, SIZE - 1), column + east - west, passenger, destination)
        if reward == "goal":
            value = jnp.where(goal, 1.0, jnp.where(wrong, WRONG, 0.0))
        else:
            value = jnp.where(goal, 20.0, jnp.where(impossible, -10.0, -1.0))
        return Step(after.astype(jnp.int32), jnp.asarray(value, float), goal, goal)

    def observe(state: jax.Array) -> jax.Array:
        return state

    return Domain(
        "Taxi", reset, step, observe, num_states=NUM_STATES, num_actions=NUM_ACTIONS, horizon=HORIZON
    )
