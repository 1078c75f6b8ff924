"""What a model foretells, how far it can be trusted, and what an agent imagines."""

from __future__ import annotations

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import emuq
from emuq.agents.emuq import imagine
from emuq.errors import InputError
from emuq.planning import dynamics, foretelling
from emuq.precision import double
from test_search import push

SMALL = {"features": 40, "capacity": 1024}
PROCESS, NETWORK = jnp.zeros(2, bool), jnp.ones(2, bool)  # what predicts changes, and rewards
model_of, errors_of = jax.jit(foretelling.model_of), jax.jit(foretelling.errors)
judge = jax.jit(foretelling.judged)
bands = jax.jit(foretelling.bands, static_argnums=2)


def fit(data):
    return model_of(data, PROCESS)


def test_it_reaches_as_far_as_a_model_foretells_what_it_has_not_seen():
    data = push(600)
    with double():
        good = fit(data._replace(count=jnp.int32(520)))
        nothing = dynamics.empty(2, 1)
        reach = [int(judge(model, data)[1]) for model in (good, nothing)]
        errors = np.asarray(errors_of(good, data))
        few = int(judge(good, data._replace(count=jnp.int32(0)))[1])
    assert reach == [foretelling.DEPTH, 1]
    assert np.all(errors < foretelling.CLOSE)
    assert few == 1


def test_a_sequence_leads_where_its_steps_lead_one_after_the_other():
    data, actions = push(300), np.array([[[0.9], [0.1], [0.5]]])
    with double():
        model = fit(data)
        z = dynamics.standardised(model, jnp.array([[0.4, 0.6]]))
        states, rewards = foretelling.ahead(model, z, jnp.asarray(actions))
        for i in range(3):
            z, pay = dynamics.predict(model, z, jnp.asarray(actions[:, i]))
            np.testing.assert_allclose(states[:, i], z, atol=1e-3)
            np.testing.assert_allclose(rewards[:, i], pay, atol=0.01)  # in single precision


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_a_band_holds_the_share_that_it_promises(level):
    """Of what a model misses in the newest eighth, whatever that is: here there is noise in it."""
    rng = np.random.default_rng(3)
    data = push(900)
    noisy = data.next_states + 0.02 * rng.standard_normal(data.next_states.shape)
    data = data._replace(next_states=jnp.asarray(noisy, data.next_states.dtype))
    with double():
        band = np.asarray(bands(data, PROCESS, 4, level))
        model = fit(data._replace(count=foretelling.before(data)))
        _, truth, told, whole = foretelling.stretches(model, data, foretelling.before(data), 4, 200)
        wrong = np.abs(np.asarray(told - truth) * np.asarray(model.scale))
    counts = np.asarray(whole)
    for step in range(4):
        share = np.mean(wrong[counts[:, step], step] <= band[step], axis=0)
        assert np.all(np.abs(share - level) < 0.06), (step, share)
    assert np.all(band[3] > 0.01)


def test_where_too_little_was_seen_a_band_has_no_end():
    data = push(100)
    with double():
        band = np.asarray(bands(data, PROCESS, 30, 0.9))
    assert np.isfinite(band[0]).all()
    assert np.isinf(band[29]).all(), "no stretch of the newest dozen is so long"


@pytest.fixture(scope="module")
def driver():
    """At kappa = 0 it drives at random and sees no goal: it has not looked ahead, and nothing is planned."""
    agent = emuq.EMUQ("emuq/MountainCar-v0", seed=0, kappa=0.0, **SMALL)
    agent.learn(steps=300, progress=False)
    return agent


def test_what_is_imagined_is_what_happens(driver):
    env = gym.make("emuq/MountainCar-v0")
    observation, _ = env.reset(seed=5)
    actions, real, first = [[1.0], [-1.0], [0.5], [1.0]], [], observation
    for action in actions:
        observation, *_ = env.step(np.array(action))
        real.append(observation)
    told = driver.imagine(first, actions)
    assert told.states.shape == told.low.shape == (4, 2)
    assert told.rewards.shape == told.over.shape == (4,)
    low, high = driver.bounds
    assert np.max(np.abs(told.states - real) / (high - low)) < 0.02
    assert np.all(told.low < told.high)
    assert np.abs(told.rewards).max() < 0.3, "the hill is far"
    rows = driver.imagine(np.stack([first, first]), [actions, actions], level=0.5)
    np.testing.assert_allclose(rows.states, np.stack([told.states] * 2), atol=1e-3)
    assert np.all(rows.high[0] - rows.low[0] <= told.high - told.low)


def test_imagining_changes_nothing(driver):
    before = driver.num_transitions, driver.predict([-0.5, 0.0])[0]
    driver.imagine([-0.5, 0.0], [[1.0]])
    assert (driver.num_transitions, driver.predict([-0.5, 0.0])[0]) == before


def test_once_it_looks_ahead_it_imagines_by_the_same_model_and_tells_where_episodes_end():
    agent = emuq.EMUQ("CartPole-v1", seed=0, kappa=0.0, **SMALL)
    agent.learn(steps=150, progress=False)
    assert agent.looked > 0
    told = agent.imagine([0.0, 0.0, 0.0, 0.0], [1, 1, 0])
    assert told.states[1, 1] > 0.2, "pushed to the right twice"
    assert told.states[1, 3] < -0.2
    np.testing.assert_allclose(told.rewards, 1.0, atol=0.05)
    agent.look()
    upper = float(agent.whole_state().lookahead.edges.places[1, 2])
    falls = agent.imagine([0.0, 0.0, 0.1, 2.5], [0] * 8)
    z = np.asarray(
        dynamics.standardised(agent.whole_state().lookahead.model, jnp.asarray(agent._scaling(falls.states)))
    )
    np.testing.assert_array_equal(falls.over[:2], z[:2, 2] > upper)
    assert np.all(np.diff(falls.over.astype(int)) >= 0)
    with pytest.raises(InputError, match=r"^actions have 2: expected some of Discrete\(2\)$"):
        agent.imagine([0.0, 0.0, 0.0, 0.0], [1, 2])


@pytest.mark.parametrize(
    ("actions", "level", "says"),
    [
        ([1.0, 0.0], 0.9, r"actions have shape \(2,\): expected \(steps, 1\), as in Box"),
        ([[1.0, 0.0]], 0.9, r"actions have shape \(1, 2\): expected \(steps, 1\)"),
        (np.zeros((0, 1)), 0.9, r"actions have shape \(0, 1\)"),
        ([[np.nan]], 0.9, "actions"),
        ([[1.0]], 1.0, "level is 1.0: expected a share between 0 and 1"),
    ],
)
def test_what_cannot_be_imagined_is_refused_in_one_line(driver, actions, level, says):
    with pytest.raises(InputError, match=says) as caught:
        driver.imagine([-0.5, 0.0], actions, level=level)
    assert "\n" not in str(caught.value)


def test_too_few_transitions_and_tables_are_refused():
    agent = emuq.EMUQ("emuq/MountainCar-v0", seed=0, **SMALL)
    with pytest.raises(InputError, match="imagine: 0 transitions are known, expected 100 or more"):
        agent.imagine([-0.5, 0.0], [[1.0]])
    table = emuq.EMUQ("emuq/CliffWalking-v0", seed=0)
    with pytest.raises(InputError, match="known by their numbers alone"):
        table.imagine(0, [0])


def test_the_picture_shows_a_stretch_that_the_model_has_not_seen(driver, tmp_path):
    real, told = imagine.of_the_newest(driver, 10)
    assert real.shape == (11, 2)
    assert told.states.shape == (10, 2)
    figure = emuq.plot.imagined(driver, tmp_path / "foretold.png", steps=10, names=("position", "velocity"))
    assert [axis.get_title() for axis in figure.axes] == ["position", "velocity"]
    drawn = figure.axes[0].lines[0].get_ydata()
    np.testing.assert_allclose(drawn, real[:, 0])
    assert (tmp_path / "foretold.png").stat().st_size > 5000
    with pytest.raises(InputError, match="steps is 300: no episode goes on for as long in the newest 37"):
        emuq.plot.imagined(driver, steps=300)
