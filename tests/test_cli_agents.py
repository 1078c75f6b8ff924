"""Every agent has a name on the command line for every environment that it can serve."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import pytest

import emuq
from emuq.agents.registry import AGENTS, agent_class, fitting, make_agent, misfit
from emuq.agents.spaces import Spaces
from emuq.cli import main
from emuq.domains.catalogue import ENTRIES
from emuq.errors import InputError

BOX, COUNTED = gym.spaces.Box(-1.0, 1.0, (2,)), gym.spaces.Discrete(5)
SPACES = {
    "box, box": Spaces(BOX, BOX),
    "box, discrete": Spaces(BOX, gym.spaces.Discrete(3)),
    "discrete": Spaces(COUNTED, gym.spaces.Discrete(3)),
    "several discrete": Spaces(gym.spaces.MultiDiscrete([2, 3]), gym.spaces.Discrete(3)),
    "discrete, box": Spaces(COUNTED, BOX),
    "image": Spaces(gym.spaces.Box(0.0, 1.0, (4, 4)), gym.spaces.Discrete(2)),
    "text": Spaces(gym.spaces.Text(3), gym.spaces.MultiBinary(2)),
}
SMALL = {"emuq": {"features": 16}, "emuq-paper": {"features": 16}, "rffq": {"features": 16}}


@pytest.mark.parametrize("spaces", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_fits_exactly_where_it_can_be_made(name, spaces):
    try:
        made = make_agent(name, spaces, seed=0, **SMALL.get(name, {})) is not None
    except InputError:
        made = False
    assert made == (misfit(name, spaces) is None)


def test_every_agent_class_has_its_own_name_among_the_agents():
    for name in AGENTS:
        own = agent_class(name).name
        assert agent_class(own) is agent_class(name)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_environment_has_an_agent_that_learns(entry, capsys):
    assert main(["envs", "--json"]) == 0
    [told] = [each for each in json.loads(capsys.readouterr().out) if each["id"] == entry.id]
    assert told["agents"][0] == ("exploration-values" if "Discrete(" in entry.observation else "emuq")
    if not entry.extra:
        assert told["agents"] == fitting(gym.make(entry.id))


def test_envs_says_which_agents_fit(capsys):
    assert main(["envs"]) == 0
    assert (
        "CliffWalking, Taxi, DeepSea: exploration-values, additive-rewards, epsilon-greedy, emuq, emuq-paper"
        in capsys.readouterr().out
    )


def test_taxi_is_trained_by_an_agent_that_fits_and_the_command_says_which(tmp_path, capsys):
    assert main(["train", "Taxi", "--episodes", "1", "--out", str(tmp_path / "run"), "--json"]) == 0
    told = capsys.readouterr()
    assert len(json.loads(told.out)["length"]) == 1
    assert "the agent is exploration-values" in told.err
    assert main(["evaluate", str(tmp_path / "run"), "--episodes", "1"]) == 0


def test_an_agent_that_does_not_fit_names_those_that_do(tmp_path, capsys):
    assert main(["train", "Taxi", "--agent", "vime", "--out", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert (
        "Agents that fit: exploration-values, additive-rewards, epsilon-greedy, emuq, emuq-paper, random"
        in told
    )


def test_rffq_is_public():
    assert emuq.RFFQ is agent_class("rffq")


@pytest.mark.parametrize("name", [name for name, entry in AGENTS.items() if entry.kind == "vectors"])
def test_every_agent_of_vectors_takes_observation_bounds_and_keeps_them(name, tmp_path):
    endless = Spaces(gym.spaces.Box(-np.inf, np.inf, (2,)), BOX)
    with pytest.raises(InputError, match="no finite bounds"):
        make_agent(name, endless, seed=0, **SMALL.get(name, {}))
    agent = make_agent(name, endless, seed=0, observation_bounds=(-3.0, [3.0, 5.0]), **SMALL.get(name, {}))
    agent.save(tmp_path / "agent.emuq")
    again = agent_class(name).load(tmp_path / "agent.emuq", endless)
    for scaling in (agent._scaling, again._scaling):
        np.testing.assert_array_equal(scaling.low, [-3.0, -3.0])
        np.testing.assert_array_equal(scaling.width, [6.0, 8.0])


def test_observation_bounds_are_given_on_the_command_line(tmp_path, capsys):
    train = ["train", "CartPole-v1", "--agent", "rffq", "--episodes", "1", "--out", str(tmp_path)]
    assert main(train) == 2
    assert "pass --observation-bounds LOW HIGH" in capsys.readouterr().err
    assert main([*train, "--observation-bounds", "-2.4,-3,-0.21,-3", "2.4,3,0.21,3"]) == 0
    assert main(["evaluate", str(tmp_path), "--episodes", "1"]) == 0
