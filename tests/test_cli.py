"""The command line: what it does, and one clear line with exit status 2 for what it cannot."""

from __future__ import annotations

import json

import pytest

from emuq.cli import COMMANDS, main, parser


def test_train_resume_and_evaluate(tmp_path, capsys):
    folder = str(tmp_path / "run")
    assert main(["train", "Chain", "--episodes", "2", "--out", folder]) == 0
    assert "2 episodes" in capsys.readouterr().out
    assert main(["train", "--resume", folder, "--episodes", "1", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["length"]) == 3
    for name in ("agent.emuq", "history.json", "learning.png"):
        assert (tmp_path / "run" / name).stat().st_size > 0
    assert main(["evaluate", folder, "--episodes", "3", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["goal"]) == 3
    assert main(["evaluate", folder, "--episodes", "2"]) == 0
    assert "of 2 episodes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "NoSuchPlace"], "no environment 'NoSuchPlace'"),
        (["train", "Chain", "--agent", "nobody"], "no agent 'nobody'"),
        (["train", "Chain", "--episodes", "0"], "--episodes is 0"),
        (["train"], "no environment given"),
        (["train", "Taxi", "--kappa", "-1"], "kappa"),
        (["train", "Chain", "--kappa", "-1"], "kappa"),
        (["train", "Chain", "--out", "/dev/null/x"], "/dev/null/x"),
        (["train", "--resume", "nowhere"], "no checkpoint at nowhere"),
        (["evaluate", "nowhere.emuq"], "no checkpoint at nowhere.emuq"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_bad_usage_is_one_line_and_exit_2(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["train", "Chain", "--episodes", "many"])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_demo_shows_a_goal_and_writes_a_picture(tmp_path, capsys):
    assert main(["demo", "--episodes", "2", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "first goal, EMU-Q" in told
    assert "first goal, random policy" in told
    assert (tmp_path / "mountaincar.png").stat().st_size > 10_000


@pytest.mark.parametrize("command", COMMANDS)
def test_help_tells_every_option_and_its_default(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    told = capsys.readouterr().out
    [subparsers] = [action for action in parser()._actions if isinstance(action.choices, dict)]
    assert subparsers.choices[command].description in told
    for action in subparsers.choices[command]._actions:
        assert action.help
        line = next(line for line in told.splitlines() if action.help.split("%")[0][:60] in line)
        takes_value = action.nargs != 0 and action.option_strings
        if takes_value and action.default is not None and action.default != []:
            assert f"(default: {action.default})" in line
