"""Ties: never a lesser value, every equal one as often as the others, and a draw that repeats itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from emuq.agents.ties import argmax_by_bits, argmax_by_uniform
from emuq.linear.hashing import random_bits

VALUES = jnp.array([0.5, 2.0, -1.0, 2.0, 2.0])  # 1, 3 and 4 are the best


def by_bits(counter):
    return argmax_by_bits(VALUES, random_bits(jnp.uint32(7), counter, 5))


def by_uniform(counter):
    return argmax_by_uniform(VALUES, jax.random.uniform(jax.random.fold_in(jax.random.key(7), counter), (5,)))


@pytest.mark.parametrize("choose", [by_bits, by_uniform])
def test_each_of_the_best_is_chosen_as_often_and_nothing_else(choose):
    counters = jnp.arange(3000, dtype=jnp.uint32)
    chosen = jax.vmap(choose)(counters)
    counts = np.bincount(chosen, minlength=5)
    assert counts[[0, 2]].tolist() == [0, 0]
    assert counts[[1, 3, 4]] == pytest.approx(1000, abs=120)  # 4.6 standard deviations
    np.testing.assert_array_equal(chosen, jax.vmap(choose)(counters))


def test_draws_of_zero_choose_the_first_and_so_do_equal_bits():
    assert int(argmax_by_uniform(VALUES, jnp.zeros(5))) == 1
    assert int(argmax_by_bits(VALUES, jnp.zeros(5, jnp.uint32))) == 1  # whatever is not best is below 0 bits


def test_random_bits_differ_by_seed_and_by_counter():
    draws = [random_bits(jnp.uint32(s), jnp.uint32(c), 4) for s in range(3) for c in range(3)]
    assert len(np.unique(np.concatenate(draws))) == 9 * 4
