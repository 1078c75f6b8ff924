"""E_a[phi(s, a)' S phi(s, a)] in closed form: no action is sampled (equation 12).

With z = [cos u; sin u] the expectation over actions of a quadratic form in phi is a quadratic form in z,

    E_a[phi' S phi] = z' T z,
    T_cc = S_cc * CC + S_ss * SS + 2 sym(S_cs * CS)
    T_ss = S_cc * SS + S_ss * CC - 2 sym(S_cs * SC)
    T_cs = S_cs * CC - S_sc * SS - S_cc * CS + S_ss * SC         (* elementwise)

where CC_ij = E[cos v_i cos v_j], SS and CS alike, are moments of the actions' angles. For a uniform
action in a box they are products of sinc; for a discrete set they are averages. The moments are
computed once, T once a covariance, and then each state costs one quadratic form.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from emuq.linear.features import Features, Part, action_part


class Moments(NamedTuple):
    """Second moments of cos v and sin v over the actions; `shift` turns every state's angle."""

    cos_cos: Float[Array, "j j"]
    sin_sin: Float[Array, "j j"]
    cos_sin: Float[Array, "j j"] | None  # None where symmetry makes it zero (boxes)
    shift: Part


def box_moments(features: Features, low: Float[Array, " da"], high: Float[Array, " da"]) -> Moments:
    """Moments of a ~ U([low, high]): E cos((w_i -+ w_j).(a - centre)) = prod_d sinc((w_i -+ w_j)_d h_d)."""
    half = (high - low) / 2
    w = features.action_frequencies * half
    difference = jnp.prod(_sinc(w[:, None, :] - w[None, :, :]), axis=-1)
    total = jnp.prod(_sinc(w[:, None, :] + w[None, :, :]), axis=-1)
    shift = action_part(features, (high + low) / 2)
    return Moments((difference + total) / 2, (difference - total) / 2, None, shift)


def set_moments(features: Features, actions: Float[Array, "k da"]) -> Moments:
    """Moments of an action drawn uniformly from the rows of `actions`."""
    part = action_part(features, actions)
    count, zero = actions.shape[0], jnp.zeros(features.action_frequencies.shape[0], part.cos.dtype)
    return Moments(
        part.cos.T @ part.cos / count,
        part.sin.T @ part.sin / count,
        part.cos.T @ part.sin / count,
        Part(zero + 1, zero),
    )


def quadratic_form(
    features: Features, moments: Moments, covariance: Float[Array, "m m"]
) -> Float[Array, "n n"]:
    """T, with the features' scale in it. O(M^2), once a covariance."""
    # In the covariance's own precision: a step's T is rounded to it in any case.
    cc, ss = (x.astype(covariance.dtype) for x in (moments.cos_cos, moments.sin_sin))
    cs = None if moments.cos_sin is None else moments.cos_sin.astype(covariance.dtype)
    if not features.sines:
        top, bottom = covariance * cc, covariance * ss
        corner = jnp.zeros_like(covariance) if cs is None else -covariance * cs
    else:
        j = cc.shape[0]
        s_cc, s_cs, s_ss = covariance[:j, :j], covariance[:j, j:], covariance[j:, j:]
        top, bottom = s_cc * cc + s_ss * ss, s_cc * ss + s_ss * cc
        corner = s_cs * cc - s_cs.T * ss
        if cs is not None:
            cross, back = s_cs * cs, s_cs * cs.T
            top, bottom = top + cross + cross.T, bottom - back - back.T
            corner = corner - s_cc * cs + s_ss * cs.T
    return features.scale**2 * jnp.block([[top, corner], [corner.T, bottom]])


def angles(moments: Moments, state: Part) -> Float[Array, "*n z"]:
    """z = [cos u; sin u], u = W_S s + shift, from the state's own part by the addition theorems."""
    shift = Part(*(x.astype(state.cos.dtype) for x in moments.shift))
    return jnp.concatenate(
        [state.cos * shift.cos - state.sin * shift.sin, state.sin * shift.cos + state.cos * shift.sin],
        axis=-1,
    )


def rounded(state: Part, dtype) -> Part:
    """The part in another precision.

    XLA fuses cosines into whatever uses them, and so makes them anew for each action that a state is combined
    with; a conversion of the two as one array it does not see through.
    """
    cos, sin = jnp.split(jnp.concatenate(state, axis=-1).astype(dtype), 2, axis=-1)
    return Part(cos, sin)


def expected_variance(form: Float[Array, "n n"], z: Float[Array, "*b n"]) -> Float[Array, "*b"]:
    """z' T z for each row of z: one matrix product for all of them."""
    return jnp.sum((z @ form) * z, axis=-1)


def sampled_reduction(projections: Float[Array, "b q"], weights: Float[Array, " q"]) -> Float[Array, ""]:
    """sum_q w_q |V phi(s, a_q)|^2: what rows V not yet folded into S = S_0 - V'V take off z'T z.

    The columns of `projections` are V phi(s, a_q).
    """
    return weights @ jnp.sum(projections**2, axis=0).astype(weights.dtype)


def _sinc(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    return jnp.sinc(x / jnp.pi)  # jnp.sinc(t) is sin(pi t) / (pi t)
