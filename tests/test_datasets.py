"""Transitions in and out, and a policy as a file that NumPy alone acts on."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import emuq
from emuq.errors import InputError
from places import BOX, EMUQ, FOUR, LINE, Line

EXAMPLE = Path(__file__).parents[1] / "examples" / "act_with_numpy.py"


@pytest.fixture(scope="module", params=["smooth", "exact"])
def taught(request):
    """An agent that has played, and how to make another."""

    def make():
        exact = request.param == "exact"
        return emuq.EMUQ(Line(FOUR, tabular=exact), seed=0, **({} if exact else EMUQ))

    agent = make()
    agent.learn(episodes=3, progress=False)
    return agent, make


def test_what_goes_out_comes_in_again(taught):
    agent, make = taught
    data = agent.dataset()
    assert len(data["rewards"]) == agent.num_transitions
    assert data["terminated"].sum() == sum(episode.goal for episode in agent.history)
    arrays = dict(data)
    if agent.observation_space.shape == ():
        for name in ("observations", "next_observations"):
            arrays[name] = data[name].argmax(axis=1)
    other = make()
    assert other.observe_dataset(**arrays) == agent.num_transitions
    again = other.dataset()
    for name in data:
        np.testing.assert_allclose(again[name], data[name], atol=1e-6, err_msg=name)
    assert [row.length for row in other.history] == [row.length for row in agent.history]
    assert other.kappa == 0, "the goal is in the data: it exploits"


def test_the_observation_after_a_terminal_step_is_what_the_docstring_says(taught):
    agent, _ = taught
    data, first = agent.dataset(), 0
    for row in agent.history:
        last = first + row.length - 1
        after, start = data["next_observations"][last], data["observations"][first]
        if data["terminated"][last]:
            exact = agent.observation_space.shape == ()
            expected = np.eye(LINE + 1)[LINE] if exact else [LINE, start[1] + 1]
            np.testing.assert_allclose(after, expected, atol=1e-6)
        first = last + 1
    assert data["terminated"].any()


class Stand(ModuleType):
    """As much of Minari as writing needs: what it was given, as a dataset."""

    def __init__(self) -> None:
        super().__init__("minari")
        self.data_collector = ModuleType("minari.data_collector")
        self.data_collector.EpisodeBuffer = lambda **fields: SimpleNamespace(**fields)

    def create_dataset_from_buffers(self, **given):
        return SimpleNamespace(**given, iterate_episodes=lambda: iter(given["buffer"]))


def test_transitions_go_to_minari_and_come_back(taught, monkeypatch):
    agent, make = taught
    stand = Stand()
    monkeypatch.setitem(sys.modules, "minari", stand)
    monkeypatch.setitem(sys.modules, "minari.data_collector", stand.data_collector)
    written = agent.to_minari("line/emuq-v0", author="me")
    assert (written.dataset_id, written.algorithm_name, written.author) == ("line/emuq-v0", "emuq", "me")
    for one, row in zip(written.buffer, agent.history, strict=True):
        assert len(one.observations) == row.length + 1
        assert all(written.observation_space.contains(x) for x in one.observations)
        assert all(written.action_space.contains(x) for x in one.actions)
        if agent.observation_space.shape == ():  # vectors go out: this agent reads numbers
            one.observations = one.observations.argmax(axis=1)
    other = make()
    assert other.observe_dataset(written) == agent.num_transitions
    for name, column in agent.dataset().items():
        np.testing.assert_allclose(other.dataset()[name], column, atol=1e-6, err_msg=name)


def test_what_cannot_go_to_minari_is_said_in_one_line(taught, monkeypatch):
    agent, make = taught
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(InputError, match="minari is not installed: pip install"):
        agent.to_minari("line/emuq-v0")
    stand = Stand()
    monkeypatch.setitem(sys.modules, "minari", stand)
    monkeypatch.setitem(sys.modules, "minari.data_collector", stand.data_collector)
    with pytest.raises(InputError, match="there is no episode to write"):
        make().to_minari("line/emuq-v0")


def test_a_minari_dataset_is_its_episodes():
    seen = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    one = SimpleNamespace(
        observations=seen,
        actions=np.array([1, 2]),
        rewards=[0.0, 1.0],
        terminations=[False, True],
        truncations=[False, False],
    )
    agent = emuq.EMUQ(Line(FOUR), seed=0, **EMUQ)
    assert agent.observe_dataset(SimpleNamespace(iterate_episodes=lambda: iter([one, one]))) == 4
    np.testing.assert_allclose(agent.dataset()["observations"], seen[[0, 1, 0, 1]], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"actions": None}, "has no actions"),
        ({"rewards": np.zeros(3)}, "differ in length"),
        ({"actions": [9, 9]}, "action is 9"),
        ({"observations": [[np.nan, 0]] * 2}, "observation"),
        ({"rewards": [np.nan, 0]}, "reward is nan"),
        ({"terminated": 5}, "no array"),
    ],
)
def test_data_of_no_use_are_refused_in_one_line(change, message):
    good = {
        "observations": np.zeros((2, 2)),
        "actions": [1, 1],
        "rewards": np.zeros(2),
        "next_observations": np.zeros((2, 2)),
        "terminated": [False, False],
    }
    agent = emuq.EMUQ(Line(FOUR), seed=0, **EMUQ)
    with pytest.raises(InputError, match=message):
        agent.observe_dataset(**good | change)
    assert agent.num_transitions == agent.history.steps == 0
    with pytest.raises(InputError, match="expected a Minari dataset"):
        agent.observe_dataset(3)


@pytest.mark.parametrize("action", ["box", "exact"])
def test_numpy_acts_as_the_agent_does(action, tmp_path):
    spec = importlib.util.spec_from_file_location("act_with_numpy", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    exact = action == "exact"
    agent = emuq.EMUQ(Line(FOUR if exact else BOX, tabular=exact), seed=0, lookahead=1, **EMUQ)
    agent.learn(episodes=9, progress=False)
    agent.export(tmp_path / "policy.npz")
    policy = module.load(tmp_path / "policy.npz")
    for place in range(10):
        observation = place if exact else np.array([place, place % 3], float)
        expected, _ = agent.predict(observation, kappa=0.0)
        if not exact or np.ptp(agent.values(np.array([place] * 4), np.arange(1, 5))[0]) > 0:
            chosen = module.act(policy, agent._flat(observation))
            if exact:
                np.testing.assert_array_equal(chosen, expected)
            else:  # among equal ones either may take any
                q, _, _ = agent.values([observation] * 2, [chosen, expected])
                np.testing.assert_allclose(*q, rtol=1e-5, atol=1e-6)
