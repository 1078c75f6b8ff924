"""Spectral samples of shift-invariant kernels (Bochner's theorem, Section 5.3 of the paper).

A kernel k(s - s', a - a') = k_S k_A is the characteristic function of its spectral density, so that
frequencies w drawn from that density make cos(w.x) and sin(w.x) features of the kernel.

    RBF          w = z / l,                       z ~ N(0, I)            (Deviation 1: not 2 / l^2)
    Matern nu    w = z / l * sqrt(2 nu / c),      c ~ chi^2(2 nu)        (multivariate t)
    mixture      w_S <- w_S * exp(t),             t ~ U(-h, h)           (several resolutions at once)

All of it is a pure function of a seed, 32 bits: it compiles, and draws for many agents at once.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.scipy import special

from emuq.errors import InputError
from emuq.linear.hashing import random_bits

Kernel = Literal["rbf", "matern12", "matern32", "matern52"]
Sampling = Literal["halton", "sobol", "monte-carlo"]
Lengthscale = float | tuple[float, ...]

_DEGREES: dict[str, int] = {"matern12": 1, "matern32": 3, "matern52": 5}
_BITS = 30  # of a Sobol point
_HALVINGS = 100  # of an interval that holds a quantile: no number of either precision is left in it


class Frequencies(NamedTuple):
    """One row a frequency: its part for the state and its part for the action."""

    state: jax.Array
    action: jax.Array


def draw(
    seed: Any,
    count: int,
    state_dim: int,
    action_dim: int,
    *,
    kernel: Kernel = "rbf",
    state_lengthscale: Any = 1.0,
    action_lengthscale: Any = 1.0,
    sampling: Sampling = "halton",
    mixture: float = 0.0,
) -> Frequencies:
    """`count` frequencies of k_S(s, s') k_A(a, a'); `mixture` is h above. O(count (d_S + d_A)).

    A lengthscale is one number or one for each dimension; it may be traced.
    """
    _check(count, state_dim, action_dim, kernel, sampling, mixture)
    state_scale = lengthscales(state_lengthscale, state_dim, "state_lengthscale")
    action_scale = lengthscales(action_lengthscale, action_dim, "action_lengthscale")
    # Two columns draw the heavy tails of Matern kernels (state, action), one the scale of the mixture.
    points = uniform(seed, count, state_dim + action_dim + 3, sampling)
    normal = special.ndtri(points[:, : state_dim + action_dim])
    state = normal[:, :state_dim] / state_scale * _tail(points[:, -3:-2], kernel)
    action = normal[:, state_dim:] / action_scale * _tail(points[:, -2:-1], kernel)
    return Frequencies(state * jnp.exp(mixture * (2 * points[:, -1:] - 1)), action)


def lengthscales(value: Any, dim: int, name: str) -> jax.Array:
    """A lengthscale for each of `dim` dimensions, from one number or `dim` of them."""
    if np.shape(value) not in ((), (dim,)):
        raise InputError(f"{name} has shape {np.shape(value)}: expected one number or {dim} of them")
    if not isinstance(value, Tracer):
        scale = np.asarray(value, dtype=float)
        if not np.all(np.isfinite(scale) & (scale > 0)):
            raise InputError(f"{name} is {value}: expected positive finite numbers")
    return jnp.broadcast_to(jnp.asarray(value, float), (dim,))


def _tail(points: jax.Array, kernel: Kernel) -> jax.Array:
    """sqrt(2 nu / chi^2(2 nu)), which makes a normal a Student t; 1 for the RBF kernel."""
    if kernel == "rbf":
        return jnp.ones_like(points)
    degrees = _DEGREES[kernel]
    return jnp.sqrt(degrees / chi_squared(points, degrees))


@partial(jax.jit, static_argnums=1)
def chi_squared(points: jax.Array, degrees: int) -> jax.Array:
    """The quantiles of chi^2 with so many degrees of freedom, by halving an interval of their logarithms."""

    def halve(_, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        middle = (ends[0] + ends[1]) / 2
        below = special.gammainc(degrees / 2, jnp.exp(middle) / 2) < points
        return jnp.where(below, middle, ends[0]), jnp.where(below, ends[1], middle)

    ends = jnp.full_like(points, -80.0), jnp.full_like(points, 10.0)
    return jnp.exp(jax.lax.fori_loop(0, _HALVINGS, halve, ends)[0])


# Points of a unit cube --------------------------------------------------------------------------------------


@partial(jax.jit, static_argnums=(1, 2, 3))  # a dozen small programs take longer to compile than one
def uniform(seed: Any, count: int, dim: int, sampling: Sampling) -> jax.Array:
    """`count` points of the open unit cube, each of them uniform, evenly spread unless by Monte Carlo."""
    ways = {"monte-carlo": monte_carlo, "halton": halton, "sobol": sobol}
    points = ways[sampling](seed, count, dim)
    edge = jnp.finfo(points.dtype).eps  # the normal quantile of 0 is infinite
    return jnp.clip(points, edge, 1 - edge)


def monte_carlo(seed: Any, count: int, dim: int) -> jax.Array:
    """Independent points."""
    return _between_0_and_1(_bits(seed, count * dim)).reshape(count, dim)


def halton(seed: Any, count: int, dim: int) -> jax.Array:
    """x_i = sum_k pi_k(digit k of i) p^-k in the prime base p of a dimension, each pi_k a random permutation.

    Digits beyond those of the last point are 0 for all points, so that their permutations are one uniform
    draw for all of them.
    """
    digits, bases, places, owner = _digits(count, dim)
    shape = len(bases), int(bases.max())
    bits = _bits(seed, math.prod(shape) + dim)
    order = jnp.where(
        np.arange(shape[1]) < bases[:, None], bits[dim:].reshape(shape) >> 1, jnp.uint32(2**32 - 1)
    )
    chosen = jnp.take_along_axis(jnp.argsort(order, axis=1), digits, axis=1)
    leading = jnp.zeros((dim, count)).at[owner].add(chosen * places[:, None])
    last = np.array([places[owner == d].min() for d in range(dim)])
    return (leading + last[:, None] * _between_0_and_1(bits[:dim, None])).T


def _bits(seed: Any, number: int) -> jax.Array:
    return random_bits(jnp.asarray(seed, jnp.uint32), jnp.uint32(0), number)


def _between_0_and_1(bits: jax.Array) -> jax.Array:
    return (bits.astype(float) + 0.5) * 0.5**32


@lru_cache(maxsize=32)
def _digits(count: int, dim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Every digit of every point as a row, with its base, its place value and its dimension."""
    digits, bases, places, owner = [], [], [], []
    for d, base in enumerate(_primes(dim)):
        left, place = np.arange(count), 1.0
        while left.any() or place == 1.0:
            place /= base
            digits.append(left % base)
            left = left // base
            bases.append(base)
            places.append(place)
            owner.append(d)
    return np.array(digits, np.int32), np.array(bases), np.array(places), np.array(owner, np.int32)


def _primes(number: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < number:
        if all(candidate % prime for prime in found):
            found.append(candidate)
        candidate += 1
    return found


def sobol(seed: Any, count: int, dim: int) -> jax.Array:
    """Sobol's points with bits L b + c (mod 2), L a random triangle of bits, c random bits.

    Both are the same for all points of a dimension.
    """
    drawn = (_bits(seed, dim * _BITS * (_BITS + 1)) >> 31).astype(jnp.int32).reshape(dim, _BITS, _BITS + 1)
    bits = _sobol_bits(count, dim)
    bits = (jnp.tril(drawn[:, :, :-1], -1) @ bits + bits + drawn[:, :, -1:]) % 2
    # In the middle of its cell, a point is as often near 0 as near 1.
    return (jnp.asarray(0.5 ** np.arange(1, _BITS + 1)) @ bits + 0.5 ** (_BITS + 1)).T


@lru_cache(maxsize=32)
def _sobol_bits(count: int, dim: int) -> np.ndarray:
    """[dim, bits, count], the highest bit first."""
    from scipy.stats import qmc

    # A Sobol sequence is balanced in powers of two: make the next one and keep the first `count`.
    points = qmc.Sobol(dim, scramble=False, bits=_BITS).random_base2(int(np.ceil(np.log2(count))))
    whole = np.rint(points[:count].T * 2**_BITS).astype(np.int64)
    return (whole[:, None] >> np.arange(_BITS)[::-1, None] & 1).astype(np.int32)


def _check(count, state_dim, action_dim, kernel, sampling, mixture) -> None:
    for name, value in (("count", count), ("state_dim", state_dim), ("action_dim", action_dim)):
        if int(value) != value or value < 1:
            raise InputError(f"{name} is {value}: expected a whole number from 1")
    if kernel not in get_args(Kernel):
        raise InputError(f"kernel is {kernel!r}: expected one of {', '.join(get_args(Kernel))}")
    if sampling not in get_args(Sampling):
        raise InputError(f"sampling is {sampling!r}: expected one of {', '.join(get_args(Sampling))}")
    if not (np.isfinite(mixture) and mixture >= 0):
        raise InputError(f"mixture is {mixture}: expected a finite number from 0 (0: one resolution)")
