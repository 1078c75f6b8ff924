"""A run says how its environment was made, and a file chooses no code to import."""

from __future__ import annotations

import json
import sys
import zipfile

import gymnasium as gym
import numpy as np
import pytest

import corridor
import emuq
from emuq.agents.recipe import recipe
from emuq.cli import main
from emuq.commands.environments import option

CHECKPOINT = "agent.emuq"
PLACE = "Corridor-v0"


def rewritten(path, **changes):
    """The checkpoint at `path` with some of its meta data changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    members["header.json"] = json.dumps({**header, "meta": {**header["meta"], **changes}}).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.fixture
def made(monkeypatch):
    """The keyword arguments of every environment that `gym.make` makes."""
    calls, make = [], gym.make

    def spy(name, **options):
        calls.append({"id": name, **options})
        return make(name, **options)

    monkeypatch.setattr(gym, "make", spy)
    return calls


@pytest.fixture
def run(tmp_path):
    """A run of one episode in a corridor of 6 cells and 30 steps."""
    folder = tmp_path / "run"
    options = ["--env-option", "cells=6", "--env-option", "max_episode_steps=30"]
    assert main(["train", PLACE, "--episodes", "1", "--out", str(folder), *options]) == 0
    return folder


def test_options_of_an_environment_are_saved_and_restored(run, made):
    assert main(["evaluate", str(run), "--episodes", "1"]) == 0
    assert main(["train", "--resume", str(run), "--episodes", "1"]) == 0
    saved = {"id": PLACE, "cells": 6, "max_episode_steps": 30}
    assert made == [saved, saved]
    assert main(["evaluate", str(run), "--episodes", "1", "--env-option", "max_episode_steps=7"]) == 0
    assert main(["evaluate", str(run), "--episodes", "1", "--env", PLACE]) == 0
    assert made[2:] == [{**saved, "max_episode_steps": 7}, saved]


def test_a_domain_keeps_its_start(tmp_path, made):
    folder = str(tmp_path)
    train = ["train", "SinglePendulum", "--agent", "random", "--env-option", "start=hanging"]
    assert main([*train, "--env-option", "max_episode_steps=5", "--episodes", "1", "--out", folder]) == 0
    assert main(["evaluate", folder, "--episodes", "1"]) == 0
    assert made[0] == made[1] == {"id": "emuq/SinglePendulum-v0", "start": "hanging", "max_episode_steps": 5}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("hanging", "hanging"),
        ("0.5", 0.5),
        ("true", True),
        ("False", False),
        ("[1, 2]", [1, 2]),
        ("None", None),
    ],
)
def test_option_values_are_numbers_words_or_json(text, value):
    assert option(f"name={text}") == ("name", value)


def test_a_recipe_says_what_was_asked_for_and_what_no_file_can_hold():
    env = gym.make(PLACE, cells=np.int64(4), reward=abs, render_mode="rgb_array")
    assert recipe(env) == {"env": PLACE, "env_options": {"cells": 4}, "env_lost": ["option reward"]}
    watched = gym.wrappers.RecordEpisodeStatistics(gym.make("emuq/Chain-v0"))
    assert recipe(watched) == {"env": "emuq/Chain-v0", "env_options": {}, "env_lost": []}
    wrapped = emuq.GoalOnly(gym.make(PLACE), goal="termination")
    assert recipe(wrapped)["env_lost"] == ["wrapper GoalOnly"]
    assert recipe(corridor.Corridor())["env"] is None


def test_what_cannot_be_restored_is_said_in_one_line(run, capsys, made):
    rewritten(run / CHECKPOINT, env_lost=["wrapper GoalOnly"])
    for command in (["evaluate", str(run)], ["train", "--resume", str(run)]):
        assert main(command) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        assert "wrapper GoalOnly" in told
        assert "ENV" in told
    assert made == []
    assert main(["evaluate", str(run), "--env", PLACE, "--episodes", "1"]) == 0
    assert "going on without wrapper GoalOnly" in capsys.readouterr().err


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A module that registers a corridor when it is imported."""
    (tmp_path / "trap_module.py").write_text(
        "import gymnasium as gym\nfrom corridor import Corridor\n"
        "gym.register('Trap-v0', entry_point=Corridor, max_episode_steps=30)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "trap_module"
    sys.modules.pop("trap_module", None)
    gym.registry.pop("Trap-v0", None)


@pytest.mark.parametrize("named", ["trap_module:Trap-v0", "trap_module:Corridor-v0", "Trap-v0", ["x"], 3])
def test_a_checkpoint_chooses_no_module_to_import(run, trap, named, capsys):
    rewritten(run / CHECKPOINT, env=named)
    for command in (["evaluate", str(run)], ["train", "--resume", str(run)]):
        assert main(command) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        assert "name it yourself, emuq" in told
        assert trap not in sys.modules


def test_a_module_named_on_the_command_line_is_imported(run, trap, capsys):
    rewritten(run / CHECKPOINT, env="Trap-v0")
    assert main(["evaluate", str(run), "--env", f"{trap}:Trap-v0", "--episodes", "1"]) == 0
    assert trap in sys.modules


@pytest.mark.parametrize("value", ["trap_module:Trap-v0", "../secret.xml", ["a/b"], {"a:b": 1}])
def test_a_checkpoint_gives_no_paths_and_no_modules_as_options(run, value, capsys, made):
    rewritten(run / CHECKPOINT, env_options={"cells": 6, "table": value})
    assert main(["evaluate", str(run)]) == 2
    assert "option table" in capsys.readouterr().err
    assert made == []
    assert main(["evaluate", str(run), "--episodes", "1", "--env-option", "table=mine/own.xml"]) == 0
    assert made == [{"id": PLACE, "cells": 6, "table": "mine/own.xml"}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nomodule:Foo-v0"], "no environment 'nomodule:Foo-v0'"),
        ([":Foo-v0"], "':Foo-v0' cannot be made"),
        ([""], "no environment ''"),
        (["Nowhere-v3"], "no environment 'Nowhere-v3'"),
        (["Chain", "--env-option", "lenght=3"], "Chain has no option 'lenght'"),
        (["CartPole-v1", "--env-option", "mass=3"], "'CartPole-v1' cannot be made with {'mass': 3}"),
    ],
)
def test_an_environment_that_cannot_be_made_is_one_line(arguments, message, tmp_path, capsys):
    assert main(["train", *arguments, "--out", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert message in told
