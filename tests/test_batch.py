"""Many runs as one program: each is the run that the agent makes alone, and settings may differ."""

from __future__ import annotations

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import emuq
from doubling import doubled, in_double
from emuq import batch, domains
from emuq.agents import episodes
from emuq.batch import api, request
from emuq.batch.driver import Driver, Sizes
from emuq.batch.seeds import reset_seed
from emuq.errors import InputError
from emuq.planning import support

SMALL = {"features": 60, "capacity": 512}
PAIRS = Sizes(2, 1, 1)
HORIZON = 120


@pytest.fixture(scope="module")
def car():
    return domains.make("MountainCar", horizon=HORIZON)


class Precise(Driver):
    """Runs in double precision, since the car's motion magnifies what is rounded."""

    def __init__(self, *given):
        super().__init__(*given)
        for group in self.groups:
            agent = group.runs.agent
            group.runs = group.runs._replace(agent=agent._replace(state=jax.vmap(doubled)(agent.state)))


def alone(seed, **settings):
    """The same as an agent of its own, as precise."""
    env = gym.make("emuq/MountainCar-v0", max_episode_steps=HORIZON)
    return in_double(emuq.EMUQ(env, seed=seed, **(SMALL | settings)))


def test_seeds_of_resets_are_those_of_the_agents_loop():
    seeds, numbers = np.array([0, 7, 2**31, 2**32 - 1], np.uint32), np.array([0, 1, 99, 12_345], np.int32)
    slow = [episodes.reset_seed(int(s), int(e)) for s, e in zip(seeds, numbers, strict=True)]
    np.testing.assert_array_equal(reset_seed(jnp.asarray(seeds), jnp.asarray(numbers)), slow)


def test_a_run_is_the_one_that_the_agent_makes_alone(car):
    """Seed 11 through a goal after 102 steps, and a look ahead at 120; the others through a draw at 130.

    No farther: a policy that looks ahead is in single precision, and has actions that are nearly as good as
    others, so that two machines part there.
    """
    task, keys, seeds, own = request.prepare(car, [11, 1, 5], steps=500, sizes=PAIRS, **SMALL)
    kept = {}
    with request.precision():
        driver = Precise(task, keys, seeds, own)
        while driver.count < 140:
            driver.advance()
            for group in driver.groups:
                for place in group.alive:
                    seed = int(seeds[group.who[place]])
                    if driver.count == (120 if seed == 11 else 140):
                        kept[seed] = jax.tree.map(lambda array, at=place: array[at], group.runs.agent)
    for seed, looked, drawn, count in ((11, 120, 0, 120), (1, 0, 130, 140), (5, 0, 130, 140)):
        single, many = alone(seed), kept[seed]
        single.learn(steps=count, progress=False)
        state = single.whole_state()
        assert (int(many.course.looked), int(many.course.drawn)) == (looked, drawn)
        assert (single.looked, single._order.course.drawn) == (looked, drawn)
        np.testing.assert_allclose(many.state.data.states[:count], state.data.states[:count], atol=1e-5)
        np.testing.assert_allclose(many.state.blocked.weights, state.blocked.weights, atol=1e-4)
        if looked:
            together, apart = (
                support.action_values(policy, state.data.states[:count])
                for policy in (many.state.lookahead, state.lookahead)
            )
            assert np.ptp(apart) > 0.1
            np.testing.assert_allclose(together, apart, atol=1e-2)


def test_runs_end_at_the_goal_and_leave_the_others_alone(car, monkeypatch):
    monkeypatch.setattr(api, "Driver", Precise)
    runs = batch.run(car, [11, 1, 2, 10, 18], episodes=2, until="goal", sizes=PAIRS, **SMALL)
    for i, seed in enumerate(runs.seeds):
        history = alone(int(seed)).learn(episodes=2, until="goal", progress=False)
        columns = history.to_dict()
        number = len(history)
        assert runs.goals[i, :number].tolist() == columns["goal"]
        assert not runs.lengths[i, number:].any()
        np.testing.assert_allclose(runs.lengths[i, :number], columns["length"], atol=2)
        np.testing.assert_array_equal(runs.kappas[i, :number], columns["kappa"])
        assert runs.goal_episode[i] == (history.first_goal or 0)
    assert runs.goal_episode.tolist() == [1, 0, 1, 2, 2]
    assert runs.goal_steps[0] == runs.steps[0] == runs.lengths[0, 0]


def test_settings_may_be_arrays(car):
    """A run with numbers of its own is the agent that was made with them, through a first plan."""
    numbers = {
        "state_lengthscale": [0.3, 0.8], "noise_precision": [4.0, 1.0], "prior_precision": [0.02, 0.01],
        "exploration_discount": [0.9, 0.97], "kappa": [0.2, 2.0],
    }  # fmt: skip
    steps = 20
    task, keys, seeds, own = request.prepare(
        car, [4, 4], steps=500, sizes=PAIRS, lookahead=0, **SMALL, **numbers
    )
    with request.precision():
        driver = Precise(task, keys, seeds, own)
        while driver.count < steps:
            driver.advance()
        state = driver.groups[0].runs.agent.state
    single = alone(4, lookahead=0, **{name: values[0] for name, values in numbers.items()})
    single.learn(steps=steps, progress=False)
    np.testing.assert_allclose(
        state.data.states[0][:steps], single.whole_state().data.states[:steps], atol=1e-6
    )
    np.testing.assert_allclose(state.blocked.weights[0], single.whole_state().blocked.weights, atol=1e-6)
    assert not np.allclose(state.blocked.weights[0], state.blocked.weights[1], atol=1e-2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"domain": "Taxi"}, "Taxi has states that can be counted"),
        ({"seeds": [-1]}, "seeds go from -1 to -1: expected from 0"),
        ({"seeds": 3}, "seeds is 3: expected whole numbers"),
        ({"episodes": None}, "has no end: expected episodes"),
        ({"until": "dawn"}, "until is 'dawn'"),
        ({"features": [20, 40]}, "features is an array: expected one value; arrays may be state_lengthscale"),
        ({"discount": [0.9]}, r"discount has shape \(1,\): expected one number for each of 2 runs"),
        ({"discount": [0.9, 1.5]}, "discount is 1.5"),
        ({"kappa": emuq.kappa.Target(0.1)}, "asks for test episodes"),
        ({"plan_interval": None}, "plan_interval is None: expected a number"),
        ({"preset": "paper"}, "unknown option 'preset'"),
    ],
)
def test_bad_input_gets_one_clear_line(settings, message):
    given = {"domain": "MountainCar", "seeds": [1, 2], "episodes": 1} | settings
    with pytest.raises(InputError, match=message) as caught:
        batch.run(given.pop("domain"), given.pop("seeds"), **given)
    assert "\n" not in str(caught.value)
