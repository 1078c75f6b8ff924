"""Settings for our own domains: experiments and the command line give them to agents; keys are as before."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

import emuq
from emuq import checkpoint, cli
from emuq.experiments import fig5, fig8, table3
from emuq.experiments.presets import PRESETS, TABLE2, make_agent, options_for


def test_the_papers_agent_gets_table_2s_settings_and_others_do_not():
    env = gym.make("emuq/MountainCar-v0")
    paper: Any = make_agent("emuq-paper", env, seed=0)
    assert {name: getattr(paper.settings, name) for name in TABLE2["MountainCar"]} == TABLE2["MountainCar"]
    assert paper.settings.action_lengthscale == 10.0
    assert options_for("emuq", env) == {}
    small: Any = make_agent("emuq-paper", env, seed=0, features=20)
    assert (small.settings.features, small.settings.prior_precision) == (20, 0.1)


def test_an_environment_that_is_none_of_ours_has_no_settings():
    env = gym.make("Pendulum-v1")
    assert all(options_for(agent, env) == {} for agent in PRESETS)
    plain: Any = make_agent("emuq-paper", env, seed=0, features=20)
    assert plain.settings.prior_precision == emuq.EMUQ(env, preset="paper").settings.prior_precision


def test_the_command_line_trains_with_them_and_resumes(tmp_path):
    folder = str(tmp_path / "run")
    given = ["train", "SinglePendulum", "--agent", "emuq-paper", "--episodes", "1", "--out", folder]
    assert cli.main(given) == 0
    _, meta = checkpoint.read(tmp_path / "run" / "agent.emuq")
    assert {name: meta["options"][name] for name in TABLE2["SinglePendulum"]} == TABLE2["SinglePendulum"]
    assert cli.main(["train", "--resume", folder, "--episodes", "1"]) == 0


@pytest.mark.parametrize(
    ("module", "agent", "domain", "key"),
    [
        (table3, "rffq", "CartpoleSwingUp", "4446695671808bd9c272a99d6c05b021"),
        (table3, "emuq-paper", "MountainCar", "2b67cd94225ea94c6c6f0eab2db81884"),
        (fig5, "rffq", "MountainCar", "9249a7356a9301fa22ecac0ab270553f"),
        (fig8, "emuq-paper", "Jaco", "4e2232f953ad1ab6e5abce88922d4cb0"),
    ],
)
def test_stored_runs_are_found_again(module, agent, domain, key):
    """Keys of runs that were stored before table 2 was written in one place."""
    spec = next(s for s in module.specs([0]) if (s.agent, s.domain) == (agent, domain))
    assert spec.key == key
