"""S_0 takes in the older half of V a part at a time: the same matrix as at once, whenever it is made."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from emuq.agents.emuq.folding import HALF, PACE, PARTS, Folding, folded, moved_up
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.schedule import BLOCK
from emuq.agents.emuq.state import agent_key, choices_of, draw_basis, draw_word
from emuq.agents.spaces import actions_of
from places import BOX


@pytest.fixture
def parts(rng, x64):
    """What a fold is given, of an agent with so many features."""

    def make(features):
        options = Options(features=features)
        choices = choices_of(actions_of(BOX), options)
        basis = draw_basis(draw_word(agent_key(0), 0), options, 2, choices)
        root = rng.normal(size=(features, features))
        covariance = jnp.asarray(root @ root.T, jnp.float32)
        return covariance, jnp.asarray(rng.normal(size=(BLOCK, features)), jnp.float32), basis

    return make


@pytest.mark.parametrize("features", [2, 6, 26, 32])  # parts overlap, one is empty, all are whole
def test_parts_make_the_whole(parts, features):
    covariance, rows, basis = parts(features)
    folding = Folding()
    for used in range(HALF + 1, BLOCK + 1):
        folding.go_on(used, covariance, rows, basis)
    for part, whole in zip(folding.take(), folded(covariance, rows[:HALF], basis), strict=True):
        np.testing.assert_allclose(part, whole, atol=1e-4)


def test_what_is_missing_is_caught_up_with_to_the_last_bit(parts):
    covariance, rows, basis = parts(26)
    found = []
    for begin in (HALF + 1, HALF + 3 * PACE, BLOCK):
        folding = Folding()
        for used in range(begin, BLOCK + 1):
            folding.go_on(used, covariance, rows, basis)
        found.append(folding.take())
    for later in found[1:]:
        for one, other in zip(found[0], later, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_step_makes_one_part_at_most(parts):
    covariance, rows, basis = parts(26)
    folding, made = Folding(), []
    for used in range(HALF + 1, BLOCK):
        before = len(folding._parts) + (folding._whole is not None)
        folding.go_on(used, covariance, rows, basis)
        made.append(len(folding._parts) + (folding._whole is not None) - before)
    assert max(made) == 1
    assert sum(made) == PARTS + 1, "all of it before the last step"


def test_the_newer_half_moves_up(rng):
    rows = jnp.asarray(rng.normal(size=(BLOCK, 3)))
    kept = np.array(rows[HALF:])
    moved = moved_up(rows)
    np.testing.assert_array_equal(moved[:HALF], kept)
    assert not np.any(moved[HALF:])
