"""`emuq`: the command line. Exit status 0 on success, 2 on bad input with one clear line."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

import emuq
from emuq.errors import InputError, MissingExtra

COMMANDS = ("demo", "envs", "train", "evaluate", "reproduce", "report")
STEPPING = ("demo", "train", "evaluate")  # with an agent in this very process


class Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Defaults in `--help`, except where the default is None or False and says nothing."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help if action.default in (None, False) else super()._get_help_string(action)


class Parser(argparse.ArgumentParser):
    """Bad usage is one line on stderr, not a page."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, formatter_class=Formatter, **kwargs)

    def error(self, message: str):
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    top = Parser(prog="emuq", description=emuq.__doc__)
    top.add_argument("--version", action="version", version=f"emuq {emuq.__version__}")
    subparsers = top.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for name in COMMANDS:
        importlib.import_module(f"emuq.commands.{name}").register(subparsers)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    if arguments is None and args.command in STEPPING:  # the process is ours, no program's that calls this
        from emuq import dispatch

        dispatch.inline()
    try:
        return args.run(args)
    except (InputError, MissingExtra) as error:
        print(f"emuq: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output, such as `head`, has what it wanted
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("emuq: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
