"""Controllers of kappa that go by the number of episodes alone.

    Constant     kappa
    Decay        kappa / (1 + c t)
    Budget       kappa while t < episodes, then 0
    StopResume   kappa while t < stop and from t = resume on, 0 between

t is the number of episodes done. What happened in them makes no difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from emuq.errors import InputError
from emuq.kappa.protocol import Outcome, check_weight, check_whole, is_number

# States have fixed dtypes, whatever JAX's switch for double precision says: a checkpoint written by one
# program must fit another.


def counted(state: jax.Array) -> jax.Array:
    return jnp.asarray(state, jnp.int32) + jnp.int32(1)


def switch(exploring: jax.Array, kappa: float) -> jax.Array:
    return jnp.where(exploring, jnp.float32(kappa), jnp.float32(0.0))


class Untested:
    """A controller that asks for no test episodes."""

    @property
    def test_episodes(self) -> int:
        return 0


class Counting(Untested):
    """A controller whose state is the number of episodes done."""

    def init(self) -> jax.Array:
        return jnp.int32(0)

    def update(self, state: jax.Array, outcome: Outcome) -> jax.Array:
        return counted(state)


@dataclass(frozen=True)
class Constant(Untested):
    """kappa, always.

    Args:
        kappa: The weight of exploration.

    Examples:
        >>> emuq.kappa.Constant(0.5).value(())
        0.5
    """

    kappa: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.kappa)

    def init(self) -> tuple[()]:
        return ()

    def value(self, state: tuple[()]) -> float:
        return self.kappa  # a Python number, so that `agent.kappa = 0.1` reads back as 0.1

    def update(self, state: tuple[()], outcome: Outcome) -> tuple[()]:
        return state


@dataclass(frozen=True)
class Decay(Counting):
    """kappa / (1 + c t), with t the number of episodes done.

    Args:
        c: How fast it falls: it is halved after 1 / c episodes.
        kappa: The weight of exploration in the first episode.

    Examples:
        >>> controller = emuq.kappa.Decay(c=1)
        >>> [round(float(controller.value(episode)), 2) for episode in range(3)]
        [1.0, 0.5, 0.33]
    """

    c: float
    kappa: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.kappa)
        if not (is_number(self.c) and 0 <= self.c < math.inf):
            raise InputError(f"c is {self.c!r}: expected a finite number from 0")

    def value(self, state: jax.Array) -> jax.Array:
        return jnp.float32(self.kappa) / (
            jnp.float32(1.0) + jnp.float32(self.c) * jnp.asarray(state, jnp.float32)
        )


@dataclass(frozen=True)
class Budget(Counting):
    """kappa for the first `episodes` episodes, then 0.

    Args:
        episodes: How many episodes explore.
        kappa: The weight of exploration while it explores.

    Examples:
        >>> controller = emuq.kappa.Budget(episodes=2)
        >>> [float(controller.value(episode)) for episode in range(4)]
        [1.0, 1.0, 0.0, 0.0]
    """

    episodes: int
    kappa: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.kappa)
        check_whole("episodes", self.episodes, 0)

    def value(self, state: jax.Array) -> jax.Array:
        return switch(state < self.episodes, self.kappa)


@dataclass(frozen=True)
class StopResume(Counting):
    """kappa for `stop` episodes, 0 until `resume` episodes are done, then kappa again.

    Args:
        stop: Exploration stops after so many episodes ...
        resume: ... and begins again after so many.
        kappa: The weight of exploration while it explores.

    Examples:
        >>> controller = emuq.kappa.StopResume(stop=1, resume=3)
        >>> [float(controller.value(episode)) for episode in range(4)]
        [1.0, 0.0, 0.0, 1.0]
    """

    stop: int
    resume: int
    kappa: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.kappa)
        check_whole("stop", self.stop, 0)
        check_whole("resume", self.resume, self.stop)

    def value(self, state: jax.Array) -> jax.Array:
        return switch((state < self.stop) | (state >= self.resume), self.kappa)
