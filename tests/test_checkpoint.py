"""Checkpoints: what was saved goes on, where it belongs; numbers that cannot be are refused by name."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import gymnasium as gym
import numpy as np
import pytest

import emuq
from emuq.agents.rffq import RFFQ
from emuq.agents.spaces import Spaces
from emuq.errors import InputError
from forging import KINDS, car, state
from tabular_worlds import Corridor

pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in.*:RuntimeWarning")  # of forged options


# What comes back -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_goes_on_after_a_file_and_after_pickle(kind, originals):
    env, agent, path = originals[kind]
    whole, loaded, pickled = (
        copy.deepcopy(agent), type(agent).load(path, env), pickle.loads(pickle.dumps(agent))
    )  # fmt: skip
    assert pickled.env is None
    for other in (loaded, pickled):
        assert options(other) == options(agent)
        assert other.kappa == agent.kappa
    whole.learn(episodes=1, progress=False)
    loaded.learn(episodes=1, progress=False)
    pickled.learn(episodes=1, progress=False, env=env)
    for other in (loaded, pickled):
        assert other.history.to_dict() == whole.history.to_dict()
        for name, array in state(whole).items():
            np.testing.assert_array_equal(state(other)[name], array)


def options(agent):
    return getattr(agent, "settings", agent.options)


def test_a_copy_has_an_environment_and_arrays_of_its_own(originals):
    _, agent, _ = originals["emuq"]
    for copied in (copy.copy(agent), copy.deepcopy(agent)):
        before = copy.deepcopy(state(agent))
        copied.learn(episodes=1, progress=False)
        assert copied.env is not agent.env
        assert len(copied.history) == len(agent.history) + 1
        for name, array in state(agent).items():
            np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize(
    "given",
    [{"state_lengthscale": (0.3, 0.4)}, {"features": np.int64(20)}, {"state_lengthscale": np.float32(0.5)}],
    ids=str,
)
def test_tuples_and_numpys_numbers_among_the_options_are_saved(given, tmp_path):
    agent = emuq.EMUQ(car(), **({"features": 20, "capacity": 256} | given))
    agent.save(tmp_path / "agent.emuq")
    assert emuq.EMUQ.load(tmp_path / "agent.emuq", agent.env).settings == agent.settings


def test_options_within_options_are_saved(tmp_path):
    from emuq.agents.vime.core import Prior

    agent = emuq.VIME(car(), batch=50, pool=50, prior=Prior(samples=3))
    agent.save(tmp_path / "agent.emuq")
    again = emuq.VIME.load(tmp_path / "agent.emuq", agent.env)
    assert again.settings == agent.settings
    assert isinstance(again.settings.prior, Prior)


def test_a_loaded_agent_has_the_options_it_was_made_with_whatever_the_defaults_are_now(tmp_path):
    """The paper's depend on the domain, DORA's grid on it, and defaults on the version."""
    env = gym.make("emuq/SinglePendulum-v0")
    paper = emuq.EMUQ(env, preset="paper", features=20, capacity=256)
    dora = emuq.DORA(env, memory=1 << 10)
    for agent in (paper, dora):
        agent.save(tmp_path / agent.name)
    bare = Spaces(env.observation_space, env.action_space, env.unwrapped.normalisation)
    assert emuq.EMUQ.load(tmp_path / "emuq", bare).settings == paper.settings
    again = emuq.DORA.load(tmp_path / "dora", bare)
    np.testing.assert_array_equal(again.actions.candidates, dora.actions.candidates)


def test_an_exploration_reward_and_a_controller_of_ones_own_are_pickled():
    agent = emuq.ExplorationValues(Corridor(), exploration=Impatience(), kappa=Halve())
    agent.learn(episodes=3, progress=False)
    again = pickle.loads(pickle.dumps(agent))
    assert again.exploration == Impatience()
    assert again.kappa == agent.kappa < 1


@dataclasses.dataclass(frozen=True)
class Impatience:
    initial: float = 0.0

    def reward(self, visits, state, action, next_state, terminated):
        return -1.0


@dataclasses.dataclass(frozen=True)
class Halve:
    test_episodes = 0

    def init(self):
        return np.float32(1.0)

    def value(self, state):
        return state

    def update(self, state, outcome):
        return np.float32(state / 2)


# Where it belongs ------------------------------------------------------------------------------------


def box(low, high):
    return gym.spaces.Box(np.array(low, np.float32), np.array(high, np.float32))


UNIT, DISCRETE = box([0, 0], [1, 1]), gym.spaces.Discrete(3)


@pytest.mark.parametrize(
    ("saved", "given", "message"),
    [
        (Spaces(UNIT, DISCRETE), Spaces(box([0, 0], [1, 2]), DISCRETE), r"dimension 1: high was 1, is 2"),
        (Spaces(UNIT, DISCRETE), Spaces(box([0, -1], [1, 1]), DISCRETE), r"dimension 1: low was 0, is -1"),
        (Spaces(UNIT, UNIT), Spaces(UNIT, box([0, 0], [3, 1])), r"action space differs in dimension 0"),
        (Spaces(UNIT, DISCRETE), Spaces(box([0] * 3, [1] * 3), DISCRETE), r"another shape: saved \[2\]"),
        (Spaces(UNIT, DISCRETE), Spaces(UNIT, gym.spaces.Discrete(3, start=1)), r"start was 0, is 1"),
        (Spaces(UNIT, DISCRETE), Spaces(UNIT, gym.spaces.Discrete(4)), r"n was 3, is 4"),
        (Spaces(UNIT, DISCRETE), Spaces(UNIT, UNIT), r"another kind: saved Discrete, given Box"),
        (Spaces(UNIT, DISCRETE), Spaces(UNIT, DISCRETE, ([0, 0], [2, 1])), r"scaling .* dimension 0: width"),
    ],
)  # fmt: skip
def test_other_spaces_are_refused_by_the_dimension_that_differs(saved, given, message, tmp_path):
    path = tmp_path / "agent.emuq"
    RFFQ(saved, features=20).save(path)
    with pytest.raises(InputError, match=message) as caught:
        RFFQ.load(path, given)
    assert "load it with the environment that it was trained on" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bounds_that_differ_by_rounding_are_the_same(tmp_path):
    low, high = [-1.2, -0.07], [0.6, 0.07]
    RFFQ(Spaces(box(low, high), DISCRETE), features=20).save(tmp_path / "agent.emuq")
    exact = gym.spaces.Box(np.array(low), np.array(high), dtype=np.float64)
    RFFQ.load(tmp_path / "agent.emuq", Spaces(exact, DISCRETE))


@pytest.mark.parametrize(
    ("space", "other"),
    [
        (gym.spaces.MultiDiscrete([3, 4]), gym.spaces.MultiDiscrete([4, 3])),
        (
            gym.spaces.Tuple([DISCRETE, DISCRETE]),
            gym.spaces.Tuple([DISCRETE, gym.spaces.Discrete(3, start=1)]),
        ),
        (gym.spaces.Box(-np.inf, np.inf, (2, 2)), gym.spaces.Box(-1, np.inf, (2, 2))),
    ],
)
def test_spaces_of_every_kind_are_told_apart(space, other, tmp_path):
    emuq.RandomAgent(Spaces(space, DISCRETE)).save(tmp_path / "agent.emuq")
    emuq.RandomAgent.load(tmp_path / "agent.emuq", Spaces(space, DISCRETE))
    with pytest.raises(InputError, match="the observation space"):
        emuq.RandomAgent.load(tmp_path / "agent.emuq", Spaces(other, DISCRETE))


# Numbers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_arrays_that_are_not_finite_are_refused_by_name(kind, bad, originals, forged):
    _, agent, _ = originals[kind]
    floats = {name: array for name, array in state(agent).items() if array.dtype.kind == "f"}
    assert floats or kind == "random"
    for name, array in floats.items():
        array = array.copy()
        array.flat[-1] = bad
        message = forged(kind, **{f"agent.{name}": array})
        if name.rpartition(".")[2] in agent.may_be_nan:
            assert message is None
        else:
            assert f"array 'agent.{name}' has {bad}" in message


def test_what_was_lost_is_not_saved_over_what_was_not(originals, tmp_path):
    _, agent, original = originals["rffq"]
    path = tmp_path / "agent.emuq"
    path.write_bytes(original.read_bytes())
    lost = copy.deepcopy(agent)
    lost._state = lost._state._replace(weights=lost._state.weights * np.nan)
    with pytest.raises(InputError, match=r"array 'agent\.weights' has nan"):
        lost.save(path)
    assert path.read_bytes() == original.read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_counts_that_cannot_be_are_refused_by_name(kind, originals, forged):
    """Else a forged count would have room made for as many transitions, or sums go over them for ever."""
    _, agent, _ = originals[kind]
    for name, array in state(agent).items():
        if array.dtype.kind != "i":
            continue
        worst = np.iinfo(array.dtype)
        for bad in (-1, worst.min, *([worst.max] if kind == "emuq" and not array.ndim else [])):
            forgery = array.copy()
            forgery.flat[-1] = bad
            assert f"array 'agent.{name}'" in forged(kind, **{f"agent.{name}": forgery})


def test_a_batch_that_is_fuller_than_full_is_refused(forged):
    assert "filled is 200: expected less than the batch, 200" in forged(
        "vime", **{"agent.filled": np.array(200)}
    )


@pytest.mark.parametrize(
    "history",
    [
        {"steps": np.array([5, 5])},
        {"steps": np.array([5.0, 9.0])},
        {"length": np.array([0, 4])},
        {"length": np.array([5, 4, 3])},
        {"goal": None},
        {"return": np.array(["a", "b"])},
    ],
    ids=str,
)
def test_a_forged_history_is_refused(history, forged):
    assert forged("random", **{f"history.{name}": column for name, column in history.items()})
