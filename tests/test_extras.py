"""What the documentation advises can be installed: every extra is in `all`, every package has a version."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import gymnasium as gym
import pytest

import emuq  # noqa: F401 (registers the environments)
from emuq.cli import main

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def name(requirement: str) -> str:
    return re.match(r"[\w.-]+", requirement).group().lower().replace("_", "-")


def test_all_brings_every_extra_but_those_for_developers():
    [everything] = EXTRAS["all"]
    brought = everything.removeprefix("emuq[").removesuffix("]").split(",")
    assert set(brought) == set(EXTRAS) - {"all", "dev", "docs"}


def test_every_requirement_has_one_version_that_all_tests_ran_with():
    constrained = [name(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if line]
    assert len(set(constrained)) == len(constrained)
    required = [
        *PROJECT["dependencies"],
        *(each for extra in set(EXTRAS) - {"all"} for each in EXTRAS[extra]),
    ]
    assert {name(each) for each in required} <= set(constrained)


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_video_can_be_recorded(tmp_path):
    pytest.importorskip("moviepy", reason="the extra video is not installed")
    env = gym.make("emuq/MountainCar-v0", render_mode="rgb_array")
    env = gym.wrappers.RecordVideo(env, str(tmp_path / "videos"), episode_trigger=lambda number: True)
    env.reset(seed=0)
    for _ in range(5):
        env.step(env.action_space.low)
    env.close()
    [video] = tmp_path.rglob("*.mp4")
    assert video.stat().st_size > 0


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_evaluate_records_each_test_episode(tmp_path, capsys):
    pytest.importorskip("moviepy", reason="the extra video is not installed")
    run, videos = str(tmp_path / "run"), tmp_path / "videos"
    assert main(["train", "Chain", "--agent", "random", "--episodes", "1", "--out", run]) == 0
    evaluate = ["evaluate", run, "--episodes", "2", "--video", str(videos)]
    assert main(evaluate) == 0
    assert [path.stat().st_size > 0 for path in videos.glob("*.mp4")] == [True, True]
    capsys.readouterr()
    assert main(evaluate) == 2, "the videos of before stay"
    assert "expected a new or an empty folder" in capsys.readouterr().err
