"""Spectral samples of shift-invariant kernels (Bochner's theorem, Section 5.3 of the paper).

A kernel k(s - s', a - a') = k_S k_A is the characteristic function of its spectral density, so that
frequencies w drawn from that density make cos(w.x) and sin(w.x) features of the kernel.

    RBF          w = z / l,                       z ~ N(0, I)            (Deviation 1: not 2 / l^2)
    Matern nu    w = z / l * sqrt(2 nu / c),      c ~ chi^2(2 nu)        (multivariate t)
    mixture      w_S <- w_S * exp(t),             t ~ U(-h, h)           (several resolutions at once)
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from scipy import special, stats
from scipy.stats import qmc

from emuq.errors import InputError

Kernel = Literal["rbf", "matern12", "matern32", "matern52"]
Sampling = Literal["halton", "sobol", "monte-carlo"]
Lengthscale = float | tuple[float, ...]

_DEGREES: dict[str, int] = {"matern12": 1, "matern32": 3, "matern52": 5}


class Frequencies(NamedTuple):
    """One row a frequency: its part for the state and its part for the action."""

    state: np.ndarray
    action: np.ndarray


def draw(
    rng: np.random.Generator,
    count: int,
    state_dim: int,
    action_dim: int,
    *,
    kernel: Kernel = "rbf",
    state_lengthscale: Lengthscale = 1.0,
    action_lengthscale: Lengthscale = 1.0,
    sampling: Sampling = "halton",
    mixture: float = 0.0,
) -> Frequencies:
    """`count` frequencies of k_S(s, s') k_A(a, a'); `mixture` is h above. O(count (d_S + d_A))."""
    _check(count, state_dim, action_dim, kernel, sampling, mixture)
    state_scale = lengthscales(state_lengthscale, state_dim, "state_lengthscale")
    action_scale = lengthscales(action_lengthscale, action_dim, "action_lengthscale")
    # Two columns draw the heavy tails of Matern kernels (state, action), one the scale of the mixture.
    points = _uniform(rng, count, state_dim + action_dim + 3, sampling)
    normal = special.ndtri(points[:, : state_dim + action_dim])
    state = normal[:, :state_dim] / state_scale * _tail(points[:, -3], kernel)
    action = normal[:, state_dim:] / action_scale * _tail(points[:, -2], kernel)
    return Frequencies(state * np.exp(mixture * (2 * points[:, -1:] - 1)), action)


def lengthscales(value: Lengthscale, dim: int, name: str) -> np.ndarray:
    """A lengthscale for each of `dim` dimensions, from one number or `dim` of them."""
    scale = np.asarray(value, dtype=float)
    if scale.shape not in ((), (dim,)):
        raise InputError(f"{name} has shape {scale.shape}: expected one number or {dim} of them")
    if not np.all(np.isfinite(scale) & (scale > 0)):
        raise InputError(f"{name} is {value}: expected positive finite numbers")
    return np.broadcast_to(scale, (dim,))


def _tail(uniform: np.ndarray, kernel: Kernel) -> np.ndarray:
    """sqrt(2 nu / chi^2(2 nu)), which makes a normal a Student t; 1 for the RBF kernel."""
    if kernel == "rbf":
        return np.ones((len(uniform), 1))
    degrees = _DEGREES[kernel]
    return np.sqrt(degrees / stats.chi2.ppf(uniform, degrees))[:, None]


def _uniform(rng: np.random.Generator, count: int, dim: int, sampling: Sampling) -> np.ndarray:
    if sampling == "monte-carlo":
        points = rng.random((count, dim))
    elif sampling == "halton":
        points = qmc.Halton(dim, rng=rng).random(count)
    else:
        # A Sobol sequence is balanced in powers of two: draw the next one and keep the first `count`.
        points = qmc.Sobol(dim, rng=rng).random_base2(int(np.ceil(np.log2(count))))[:count]
    return np.clip(points, 1e-12, 1 - 1e-12)  # the open interval: ndtri(0) is infinite


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
