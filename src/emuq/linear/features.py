"""Feature maps of a state and an action, separable in the two.

Random Fourier features  phi(s, a) = sqrt(2/M) [cos(u + v), sin(u + v)],  phi'phi = 1   (equation 26)
Fourier basis            phi(s, a) = cos(u + v)                                         (appendix A)

with u = W_S s and v = W_A a. Both are cosines (and sines) of a sum of two angles, so that one type
serves both: cos(u + v) = cos u cos v - sin u sin v. A state's part is computed once and combined with
the parts of many actions by two matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from emuq.errors import InputError
from emuq.linear.frequencies import Kernel, Sampling, draw
from emuq.linear.hashing import Word
from emuq.linear.trigonometry import cos_sin


class Part(NamedTuple):
    """cos and sin of the angles that a state, or an action, contributes: arrays (..., J)."""

    cos: Float[Array, "*n j"]
    sin: Float[Array, "*n j"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Features:
    """A feature map. `sines` and `scale` tell random Fourier features from the Fourier basis."""

    state_frequencies: Float[Array, "*seeds j ds"]  # many seeds' features are stacked to be mapped over
    action_frequencies: Float[Array, "*seeds j da"]
    scale: float = field(metadata={"static": True})
    sines: bool = field(metadata={"static": True})

    @property
    def num_features(self) -> int:
        return (2 if self.sines else 1) * self.state_frequencies.shape[-2]

    @property
    def norm(self) -> float:
        """The largest value of phi'phi: 1 for random Fourier features (reached everywhere)."""
        return self.scale**2 * self.state_frequencies.shape[-2]

    def __call__(
        self, state: Float[Array, "*#n ds"], action: Float[Array, "*#n da"], dtype=None
    ) -> Float[Array, "*#n m"]:
        """phi(s, a), rounded to `dtype` if one is given. O(M (d_S + d_A))."""
        angle = state @ self.state_frequencies.T + action @ self.action_frequencies.T
        return _features(self, *cos_sin(angle, dtype))


def random_fourier(
    seed: Word,
    num_features: int,
    state_dim: int,
    action_dim: int,
    *,
    kernel: Kernel = "rbf",
    state_lengthscale: Any = 1.0,
    action_lengthscale: Any = 1.0,
    sampling: Sampling = "halton",
    mixture: float = 0.0,
) -> Features:
    """M = `num_features` random Fourier features: M/2 frequencies, the cosine and the sine of each."""
    if int(num_features) != num_features or num_features < 2 or num_features % 2:
        raise InputError(
            f"num_features is {num_features}: expected an even number from 2 (cos and sin pairs)"
        )
    frequencies = draw(
        seed,
        num_features // 2,
        state_dim,
        action_dim,
        kernel=kernel,
        state_lengthscale=state_lengthscale,
        action_lengthscale=action_lengthscale,
        sampling=sampling,
        mixture=mixture,
    )
    scale = float(np.sqrt(2 / num_features))
    return Features(frequencies.state, frequencies.action, scale, sines=True)


def fourier_basis(order: int, state_dim: int, action_dim: int, *, limit: int = 100_000) -> Features:
    """cos(pi c.x), c in {0, ..., n}^(d_S + d_A), for x in [0, 1]: (n + 1)^(d_S + d_A) features."""
    if int(order) != order or order < 0:
        raise InputError(f"order is {order}: expected a whole number from 0")
    dim = state_dim + action_dim
    count = (order + 1) ** dim
    if count > limit:
        raise InputError(
            f"a Fourier basis of order {order} in {dim} dimensions has {count:,} features, over {limit:,}: "
            "lower the order, or use random Fourier features, whose number is yours to choose"
        )
    grid = np.stack(np.meshgrid(*[np.arange(order + 1)] * dim, indexing="ij"), axis=-1).reshape(count, dim)
    angular = np.pi * grid.astype(float)
    return Features(
        jnp.asarray(angular[:, :state_dim]), jnp.asarray(angular[:, state_dim:]), 1.0, sines=False
    )


def state_part(features: Features, state: Float[Array, "*n ds"], dtype=None) -> Part:
    """cos u, sin u with u = W_S s: what a state contributes, computed once for all actions."""
    return _part(features.state_frequencies, state, dtype)


def action_part(features: Features, action: Float[Array, "*n da"]) -> Part:
    """cos v, sin v with v = W_A a."""
    return _part(features.action_frequencies, action)


def combine(features: Features, state: Part, action: Part) -> Float[Array, "*n m"]:
    """phi from the two parts, by the addition theorems. O(M)."""
    return _features(
        features,
        state.cos * action.cos - state.sin * action.sin,
        state.sin * action.cos + state.cos * action.sin,
    )


def scores(
    features: Features, state: Part, actions: Part, weights: Float[Array, " m"]
) -> Float[Array, "*n k"]:
    """phi(s_i, a_k).w for all states i and actions k: two matrix products, O(N K M) without forming phi."""
    if features.sines:
        cosine, sine = jnp.split(weights, 2, axis=-1)
        on_cos = cosine * state.cos + sine * state.sin
        on_sin = sine * state.cos - cosine * state.sin
    else:
        on_cos, on_sin = weights * state.cos, -weights * state.sin
    if on_cos.ndim == 1:  # XLA would copy the actions' part into another order
        return features.scale * (actions.cos @ on_cos + actions.sin @ on_sin)
    return features.scale * (on_cos @ actions.cos.T + on_sin @ actions.sin.T)


def _features(features: Features, cosine: Float[Array, "*n j"], sine: Float[Array, "*n j"]):
    return features.scale * (jnp.concatenate([cosine, sine], axis=-1) if features.sines else cosine)


def _part(frequencies: Float[Array, "j d"], x: Float[Array, "*n d"], dtype=None) -> Part:
    return Part(*cos_sin(x @ frequencies.T, dtype))
