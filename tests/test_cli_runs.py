"""A run on the command line loses nothing: to Ctrl-C, to a full disk, to a part that is not installed."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import corridor  # noqa: F401 (registers Corridor-v0)
from emuq import checkpoint
from emuq.agents.base import Agent
from emuq.cli import main

PLACE = "Corridor-v0"


def train(folder, *arguments: str) -> int:
    return main(["train", PLACE, "--episodes", "2", "--out", str(folder), *arguments])


def test_ctrl_c_on_the_first_step_leaves_a_run_to_go_on_with(tmp_path, capsys):
    interrupted = ["--env-option", "interrupt=1", "--json"]
    assert train(tmp_path, *interrupted) == 130
    told = capsys.readouterr()
    assert told.out == ""
    assert f"0 episodes are saved: emuq train --resume {tmp_path} goes on" in told.err
    assert (
        main(["train", "--resume", str(tmp_path), "--episodes", "1", "--env-option", "interrupt=null"]) == 0
    )
    assert "1 episodes" in capsys.readouterr().out


def test_ctrl_c_later_says_how_many_episodes_are_saved(tmp_path, capsys):
    # An episode has 50 steps at most, and takes 9 at least.
    assert train(tmp_path, "--episodes", "50", "--env-option", "interrupt=120") == 130
    saved = checkpoint.read(tmp_path / "agent.emuq")[0]["history.length"].size
    assert saved >= 2
    assert f"{saved} episodes are saved" in capsys.readouterr().err


def test_a_run_without_a_whole_episode_may_begin_again_and_no_other(tmp_path, capsys):
    assert train(tmp_path, "--env-option", "interrupt=1") == 130
    assert train(tmp_path, "--agent", "epsilon-greedy") == 0
    assert train(tmp_path) == 2
    assert "holds a run already" in capsys.readouterr().err


def full_after(monkeypatch, saves: int) -> None:
    """The disk is full after so many saves, of an agent and a history each."""
    fsync, left = os.fsync, [2 * saves]

    def limited(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", limited)


@pytest.mark.parametrize(("saves", "kept"), [(0, None), (1, 0), (2, 1)])
def test_a_full_disk_is_one_line_and_keeps_what_was_saved(saves, kept, tmp_path, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        full_after(patch, saves)
        assert train(tmp_path, "--agent", "random", "--json") == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "No space left on device" in told.err
    assert (f"the {kept} episodes before are safe" if kept else "nothing is lost") in told.err
    if kept is not None:
        for text in ("history.json", "agent.emuq"):
            assert (tmp_path / text).stat().st_size > 0
        assert len(json.loads((tmp_path / "history.json").read_text())["length"]) == kept
        assert main(["train", "--resume", str(tmp_path), "--episodes", "1", "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["length"]) == kept + 1


def test_a_disk_without_room_for_anything_is_one_line(tmp_path):
    script = (
        "import resource, sys\nfrom emuq.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\nsys.exit(main())"
    )
    command = [sys.executable, "-c", script, "train", "Taxi", "--out", str(tmp_path / "run")]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "File too large" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_an_answer_that_cannot_be_written_is_one_line():
    command = [sys.executable, "-m", "emuq.cli", "envs"]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=buffered)
    assert done.returncode == 2
    assert done.stderr == "emuq: cannot read or write (No space left on device)\n"


@pytest.fixture
def no_matplotlib(monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)


def test_training_without_matplotlib_leaves_out_the_pictures_alone(no_matplotlib, tmp_path, capsys):
    assert train(tmp_path, "--agent", "random", "--json") == 0
    told = capsys.readouterr()
    assert len(json.loads(told.out)["length"]) == 2
    assert told.err == "emuq: no picture was drawn: matplotlib is not installed: pip install 'emuq[plot]'\n"
    assert main(["train", "--resume", str(tmp_path), "--episodes", "1"]) == 0
    assert "checkpoint and history:" in capsys.readouterr().out


def test_the_demo_without_matplotlib_tells_its_result(no_matplotlib, tmp_path, capsys, monkeypatch):
    # What it learns is of no matter here, and takes long.
    monkeypatch.setattr(Agent, "learn", lambda self, episodes, callback: self.history)
    monkeypatch.setattr(Agent, "evaluate", lambda self, episodes: self.history)
    assert main(["demo", "--episodes", "1", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert "first goal, EMU-Q" in told.out
    assert "mountaincar.png" not in told.out
    assert "pip install 'emuq[plot]'" in told.err


def test_options_of_a_new_run_are_not_silently_dropped_when_one_goes_on(tmp_path, capsys):
    assert train(tmp_path, "--agent", "random") == 0
    capsys.readouterr()
    again = [
        "train",
        "--resume",
        str(tmp_path),
        "--episodes",
        "1",
        "--seed",
        "3",
        "--agent",
        "epsilon-greedy",
    ]
    assert main(again) == 0
    assert "--agent, --seed made no difference" in capsys.readouterr().err
