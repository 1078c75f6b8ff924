"""Environments by the names a user gives, and by those a checkpoint gives, which are trusted less.

`gym.make("module:Id")` imports a module, so that a checkpoint may name registered environments alone, and
give them numbers and plain words. Everything else has to come from whoever types the command.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from pathlib import Path
from typing import Any

from emuq.commands import note
from emuq.errors import InputError, MissingExtra

_WORD = re.compile(r"[\w.+ -]*")  # no path, no module:Id


def register_option(parser: argparse.ArgumentParser) -> None:
    """Declare `--env-option`."""
    parser.add_argument(
        "--env-option",
        action="append",
        default=[],
        type=option,
        dest="env_options",
        metavar="NAME=VALUE",
        help="a keyword argument of the environment, such as start=hanging or max_episode_steps=200; "
        "may be given several times",
    )


def option(text: str) -> tuple[str, Any]:
    """`start=hanging` as ("start", "hanging"), `slip=0.1` as ("slip", 0.1)."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    for read in (json.loads, ast.literal_eval):  # true and True, [1, 2] and (1, 2)
        try:
            return name, read(value)
        except (ValueError, SyntaxError):
            continue
    return name, value


def full_id(name: str) -> str:
    """The id of emuq's own environment with that bare name; any other name as it is."""
    import gymnasium as gym

    import emuq  # noqa: F401 (registers the environments)

    return f"emuq/{name}-v0" if f"emuq/{name}-v0" in gym.registry else name


def make(name: str, options: dict[str, Any]) -> Any:
    """`gym.make` of a name that the user gave. Whatever goes wrong in it is one line."""
    import gymnasium as gym

    try:
        return gym.make(full_id(name), **options)
    except (InputError, MissingExtra):
        raise
    except (gym.error.Error, ImportError) as error:
        raise InputError(
            f"no environment {name!r} ({_line(error)}): see emuq envs, or give any Gymnasium id"
        ) from None
    except Exception as error:  # an environment is somebody's own code, and may raise anything
        told = f" with {options}" if options else ""
        raise InputError(
            f"the environment {name!r} cannot be made{told} ({type(error).__name__}: {_line(error)}): "
            "mend --env-option, or the environment"
        ) from error


def restore(path: Path, meta: dict[str, Any], named: str | None, given: dict[str, Any], how: str) -> Any:
    """The environment of a checkpoint, or the one that the user `named`, with the options `given` besides.

    `how` is the way to name one, told where the checkpoint's cannot be made again.
    """
    import gymnasium as gym

    saved, options, lost = meta.get("env"), meta.get("env_options") or {}, list(meta.get("env_lost") or ())
    if named is not None and full_id(named).rpartition(":")[2] != saved:
        return make(named, given)
    kept = {name: value for name, value in options.items() if _harmless(value)}
    lost += [f"option {name}" for name in options if name not in kept]
    lost = [what for what in lost if what.removeprefix("option ") not in given]
    if named is None:
        if saved is None:
            raise InputError(f"{path} does not say its environment: name it, {how}")
        full_id("")
        if not isinstance(saved, str) or saved not in gym.registry:
            raise InputError(
                f"{path} names the environment {saved!r}, which is not registered, and a file may not "
                f"choose what to import: name it yourself, {how}"
            )
        if lost:
            raise InputError(
                f"{path} was saved with {', '.join(map(str, lost))} of {saved}, not restored from a file: "
                f"give it (--env-option NAME=VALUE), or name the environment to go on without, {how}"
            )
    elif lost:
        note(f"going on without {', '.join(map(str, lost))}, which {path} was saved with")
    return make(named or str(saved), {**kept, **given})


def _harmless(value: Any) -> bool:
    """A number, a plain word, or a list or table of them: nothing that could be a path or a module."""
    if isinstance(value, str):
        return _WORD.fullmatch(value) is not None
    if isinstance(value, list):
        return all(map(_harmless, value))
    if isinstance(value, dict):
        return all(_harmless(part) for pair in value.items() for part in pair)
    return value is None or isinstance(value, int | float)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
