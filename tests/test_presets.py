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
        (table3, "rffq", "CartpoleSwingUp", "b20e90a223f2b1e4b2c9778c6aea1d81"),
        (table3, "emuq-paper", "MountainCar", "e9b8890a86469b221590e3773662099d"),
        (fig5, "rffq", "MountainCar", "8ddbe6ec9c7156ffab228ba993f0b5de"),
        (fig8, "emuq-paper", "Jaco", "30f67f8af76b40537ee7a53f36c2bce1"),
    ],
)
def test_stored_runs_are_found_again(module, agent, domain, key):
    """Keys of runs that were stored before table 2 was written in one place."""
    spec = next(s for s in module.specs([0]) if (s.agent, s.domain) == (agent, domain))
    assert spec.key == key
