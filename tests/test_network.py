"""The network that predicts where a Gaussian process does not: training, and when it is chosen."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from emuq.planning import dynamics, foretelling, network, transitions
from emuq.precision import double

judged, with_network = jax.jit(foretelling.judged), jax.jit(dynamics.with_network)
train = jax.jit(network.train)
SCALES = network.Scales(jnp.full(6, 0.5), jnp.full(6, 0.3), jnp.full(6, 0.2), jnp.array([0.1, 0.3]))


def throws(steps, seed=0, capacity=4096, walls=True):
    """Three balls that are pushed along a line; walls throw them back, and the first one pays for it."""
    rng = np.random.default_rng(seed)
    x, v, rows = rng.random(3), rng.uniform(-0.2, 0.2, 3), []
    for _ in range(steps):
        a = rng.random()
        pushed = np.clip(v + 0.06 * (a - 0.5), -0.25, 0.25)
        after = x + pushed
        hit = ((after < 0) | (after > 1)) & walls
        after, speed = (
            np.where(hit, np.clip(2 * np.round(after) - after, 0, 1), after),
            np.where(hit, -pushed, pushed),
        )
        rows.append((np.concatenate([x, v]), [a], float(hit[0]), np.concatenate([after, speed])))
        x, v = after, speed
    states, actions, rewards, following = (np.array(part) for part in zip(*rows, strict=True))
    data = transitions.empty(capacity, 6, 1)
    filled = {"states": states, "actions": actions, "rewards": rewards, "next_states": following}
    return data._replace(
        count=jnp.int32(steps),
        **{
            k: getattr(data, k).at[:steps].set(jnp.asarray(v, getattr(data, k).dtype))
            for k, v in filled.items()
        },
    )


def told(net, data, rows):
    x = (data.states[rows] - SCALES.mean) / SCALES.scale
    x = jnp.concatenate([x, data.actions[rows]], axis=1).astype(jnp.float32)
    moved = (data.next_states[rows] - data.states[rows]) / SCALES.scale / SCALES.change
    pay = (data.rewards[rows] - SCALES.reward[0]) / SCALES.reward[1]
    return np.asarray(network.predict(net, x)), np.asarray(moved), np.asarray(pay)


def test_one_that_was_not_trained_says_that_nothing_happens():
    found = network.predict(network.fresh(6, 1), jnp.ones((5, 7), jnp.float32))
    np.testing.assert_array_equal(found, np.zeros((5, 7)))


def test_training_predicts_what_it_has_not_seen_and_no_steps_change_nothing():
    data, rows = throws(2500), np.arange(2000, 2500)
    before = network.fresh(6, 1)
    known = data._replace(count=jnp.int32(2000))
    after = train(before, SCALES, known, jnp.int32(2000))
    found, moved, pay = told(after, data, rows)
    assert np.median(np.abs(found[:, :-1] - moved)) < 0.2 * np.median(np.abs(moved))
    assert np.mean((found[:, -1] - pay) ** 2) < 0.5 * np.var(pay)
    jax.tree.map(np.testing.assert_array_equal, train(before, SCALES, known, jnp.int32(0)), before)
    jax.tree.map(np.testing.assert_array_equal, train(before, SCALES, known, jnp.int32(2000)), after)


def test_it_is_chosen_where_it_foretells_better_and_only_once_it_was_trained():
    data = throws(3000)
    with double():
        old = foretelling.model_of(data._replace(count=jnp.int32(2600)), jnp.zeros(2, bool))
        chosen, _, wanted = judged(old, data)
        assert not np.any(chosen), "it was not trained"
        assert wanted, "walls are not foretold"
        known = data._replace(count=jnp.int32(2600))
        trained = with_network(old, old, known, jnp.bool_(True))
        assert int(trained.trained) == 2600
        chosen, reach, _ = judged(trained, data)
        by_process, by_net = (
            np.asarray(foretelling.errors(trained._replace(chosen=jnp.full(2, by)), data))
            for by in (False, True)
        )
    assert np.sum(np.minimum(by_net, 1)) < np.sum(np.minimum(by_process, 1))
    assert np.all(chosen)
    assert int(reach) >= 1


def test_nothing_is_trained_where_the_gaussian_process_foretells_all():
    smooth = throws(600, walls=False)
    with double():
        old = foretelling.model_of(smooth._replace(count=jnp.int32(520)), jnp.zeros(2, bool))
        chosen, reach, wanted = judged(old, smooth)
        same = with_network(old, old, smooth, wanted)
    assert not wanted
    assert int(reach) == foretelling.DEPTH
    assert not np.any(chosen)
    jax.tree.map(np.testing.assert_array_equal, same.network, old.network)
    assert int(same.trained) == 0
