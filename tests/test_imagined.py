"""Which transitions stand for all, and which states are imagined beside them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from emuq.planning import dynamics, imagined, kernels, selection, support, transitions
from emuq.precision import double


def test_the_kernel_is_its_formula_and_two_scales_are_a_mean():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    with double():
        found = kernels.matern(jnp.asarray(x), jnp.asarray(y), 2.0)
        both = kernels.two_scales(jnp.asarray(x), jnp.asarray(y), 3)
        parts = [kernels.matern(jnp.asarray(x), jnp.asarray(y), scale) for scale in (1.0, 3.0)]
        mean = (parts[0] + parts[1]) / 2
    q = 5**0.5 * np.linalg.norm(x[:, None] - y, axis=-1) / 2
    np.testing.assert_allclose(found, (1 + q + q**2 / 3) * np.exp(-q), rtol=1e-6)
    np.testing.assert_allclose(both, mean, rtol=1e-6)


@pytest.mark.parametrize(("count", "number"), [(0, 6), (1, 6), (5, 6), (6, 6), (40, 6), (40, 40)])
def test_no_transition_is_chosen_twice_and_places_without_one_come_last(count, number):
    z = np.random.default_rng(1).normal(size=(40, 2)).astype(np.float32)
    with double():
        at, real = selection.select(jnp.asarray(z), jnp.arange(40) < count, number)
    chosen = np.asarray(at)[np.asarray(real)]
    assert len(chosen) == len(set(chosen.tolist())) == min(count, number)
    assert np.all(chosen < max(count, 1))
    assert np.all(np.diff(np.asarray(real).astype(int)) <= 0)


def test_the_rim_and_the_crowd_are_both_chosen():
    z = np.zeros((200, 1), np.float32)
    z[:, 0] = np.linspace(0, 0.1, 200)  # a crowd
    z[77] = 5.0
    with double():
        at, _ = selection.select(jnp.asarray(z), jnp.ones(200, bool), 10)
    assert 77 in at.tolist()
    assert sum(0.02 < z[i, 0] < 0.08 for i in at.tolist()) >= 3


def line(steps=200, capacity=256):
    """A point on a line moves by its action, in episodes of ten steps from 0.5."""
    rng = np.random.default_rng(2)
    data = transitions.empty(capacity, 1, 1)
    s = 0.5
    for t in range(steps):
        a = rng.random()
        after = s + 0.1 * (a - 0.5)
        data = transitions.append(
            data, np.array([s]), np.array([a]), -((after - 0.6) ** 2), np.array([after]), False
        )
        data = transitions.end(data, t % 10 == 9)
        s = 0.5 if t % 10 == 9 else after
    return data


def test_imagined_episodes_follow_the_best_action_and_stay_near_what_was_seen():
    data = line()
    with double():
        rows = dynamics.sample(data, 0.9)
        at, real = selection.select(dynamics.deviations(rows), rows.mask, dynamics.KNOWN)
        model = dynamics.fit(rows, at, real)

        def to_the_right(z, actions):
            return actions[:, 0], dynamics.predict(model, z, actions)[0]

        start = imagined.beginnings(model, data)
        np.testing.assert_allclose(dynamics.raw(model, start)[: imagined.EPISODES // 2], 0.5, atol=1e-5)
        visited = jnp.where(real[:, None], dynamics.standardised(model, rows.states[at]), support.AWAY)
        nowhere = jnp.full((1, 1), support.AWAY, jnp.float32)
        actions = jnp.linspace(0, 1, 5)[:, None].astype(jnp.float32)
        found, there = imagined.passed(to_the_right, actions, start, visited, nowhere, 50)
        ending = dynamics.standardised(model, jnp.full((1, 1), 0.72))
        before, counted = imagined.passed(to_the_right, actions, start, visited, ending, 50)
    found, before = np.asarray(found)[np.asarray(there)], np.asarray(before)[np.asarray(counted)]
    assert len(found) > 10
    gaps = np.min(np.abs(found - np.asarray(visited)[np.asarray(real)].T), axis=1)
    assert gaps.max() < imagined.NEAR
    assert found.max() > np.asarray(visited)[np.asarray(real)].max() + 0.5  # where nobody has been yet
    seen = np.asarray(visited)[np.asarray(real)]
    assert seen.max() < float(ending[0, 0])
    for state in before:  # an episode is over where an ending is nearer than all that was visited
        assert np.min(np.abs(seen - state)) < abs(float(ending[0, 0]) - state[0])
    assert len(before) < len(found)


def test_imagined_states_are_a_part_of_the_support_and_no_end():
    data = line()
    with double():
        policy = support.nothing(jnp.linspace(0, 1, 5)[:, None], 1)
        plan = jax.jit(support.plan, static_argnames="discount")
        for _ in range(2):
            policy = plan(policy, data, 0.9)
        best = jnp.argmax(support.action_values(policy, jnp.array([[0.45], [0.7]])), axis=-1)
    assert len(np.unique(np.round(np.asarray(policy.support), 5))) > 200  # more than the data have
    assert best.tolist() == [4, 0]
