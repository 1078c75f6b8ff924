"""A network that predicts a transition, where a Gaussian process does not: contacts, stops, many dimensions.

    (z' - z) / c  <-  N_1(z, a), least mean of sqrt(e^2 + 1e-4);     r  <-  N_2(z, a), least mean of e^2

Errors of changes are counted by their size, not its square: an impact, where a velocity jumps, is no reason
to bend everything around it. Rewards are counted by the square, since one that is paid seldom would be taken
for none. Training begins with the weights of the look before.

How long it is trained is a number that is computed: 0 leaves the network as it was, at no cost.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from emuq.planning.transitions import Transitions

WIDTH, LAYERS = 64, 3  # of hidden layers
EACH, STEPS = 4, 2000  # steps of training for each new transition, and at most at a look,
ROWS = 256  # transitions in each step
RATE = 1e-3  # of Adam, which falls to 0 by half a cosine
MOMENTUM, SQUARES, TINY = 0.9, 0.999, 1e-8  # of Adam
SHRINK = 1e-4  # by which share of a step weights shrink

Layers = tuple[Float[Array, "_ _"], ...]  # each with its constants in the last row, in single precision


class Network(NamedTuple):
    """Two stacks of layers: the changes of z in units of `change`, and the reward in its units."""

    motion: Layers
    reward: Layers


class Scales(NamedTuple):
    """What numbers are measured in, as the model's."""

    mean: Float[Array, " ds"]
    scale: Float[Array, " ds"]
    change: Float[Array, " ds"]
    reward: Float[Array, " 2"]


def fresh(state_dim: int, action_dim: int) -> Network:
    """A network that was not trained: random but for the last layers, which say that nothing happens."""

    def stack(key: Array, outputs: int) -> Layers:
        sizes = [state_dim + action_dim] + [WIDTH] * LAYERS
        found = []
        for k, rows in zip(jax.random.split(key, LAYERS), sizes[:-1], strict=True):
            drawn = jax.random.normal(k, (rows, WIDTH), jnp.float32) / rows**0.5
            found.append(jnp.concatenate([drawn, jnp.zeros((1, WIDTH), jnp.float32)]))
        return (*found, jnp.zeros((WIDTH + 1, outputs), jnp.float32))

    return Network(*(stack(jax.random.key(i), outputs) for i, outputs in enumerate((state_dim, 1))))


def through(layers: Layers, x: Float[Array, "n d"]) -> Float[Array, "n o"]:
    """What a stack of layers makes of rows."""
    for layer in layers[:-1]:
        x = jax.nn.silu(x @ layer[:-1] + layer[-1])
    return x @ layers[-1][:-1] + layers[-1][-1]


def predict(network: Network, x: Float[Array, "n d"]) -> Float[Array, "n o"]:
    """The changes of z and the reward of rows x = (z, a)."""
    return jnp.concatenate([through(network.motion, x), through(network.reward, x)], axis=1)


def train(network: Network, scales: Scales, data: Transitions, steps: Int[Array, ""]) -> Network:
    """The same after so many steps on these transitions."""
    low = jnp.float32
    scales = Scales(*(part.astype(low) for part in scales))
    key = jax.random.fold_in(jax.random.key(1), data.count.astype(jnp.uint32))

    def loss(network: Network, at: Int[Array, " n"]) -> Float[Array, ""]:
        states, following = data.states[at].astype(low), data.next_states[at].astype(low)
        moved = (following - states) / scales.scale / scales.change
        pay = (data.rewards[at].astype(low) - scales.reward[0]) / scales.reward[1]
        # A step that ends an episode is taken to pay what others do, as in `dynamics`.
        pay = jnp.where(data.terminal[at], 0.0, pay)
        x = jnp.concatenate([(states - scales.mean) / scales.scale, data.actions[at].astype(low)], axis=1)
        told = predict(network, x)
        return jnp.mean(jnp.sqrt((told[:, :-1] - moved) ** 2 + 1e-4)) + jnp.mean((told[:, -1] - pay) ** 2)

    def step(t: Int[Array, ""], carry: tuple[Network, Network, Network]) -> tuple:
        network, mean, square = carry
        at = jax.random.randint(jax.random.fold_in(key, t), (ROWS,), 0, data.count)
        slope = jax.grad(loss)(network, at)
        mean = jax.tree.map(lambda m, g: MOMENTUM * m + (1 - MOMENTUM) * g, mean, slope)
        square = jax.tree.map(lambda v, g: SQUARES * v + (1 - SQUARES) * g * g, square, slope)
        age = (t + 1).astype(low)
        rate = RATE * (1 + jnp.cos(jnp.pi * t.astype(low) / steps.astype(low))) / 2
        early, late = 1 - MOMENTUM**age, 1 - SQUARES**age

        def moved(w: Array, m: Array, v: Array) -> Array:
            return (w - rate * (m / early / (jnp.sqrt(v / late) + TINY) + SHRINK * w)).astype(low)

        return jax.tree.map(moved, network, mean, square), mean, square

    zero = jax.tree.map(jnp.zeros_like, network)
    return jax.lax.fori_loop(0, steps, step, (network, zero, zero))[0]
