"""`emuq`: the command line. Exit status 0 on success, 2 on bad input with one clear line."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress

import emuq
from emuq.errors import InputError, MissingExtra

COMMANDS = ("demo", "envs", "train", "evaluate", "live", "sweep", "reproduce", "report")
STEPPING = ("demo", "train", "evaluate", "live")  # with an agent in this very process
CHECKING = ("sweep",)  # what other processes will compute: a GPU is left to them


class Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Defaults in `--help`, except where the default is empty and says nothing; examples line by line."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        empty = action.default is None or action.default is False or action.default == []  # but 0 is shown
        return action.help if empty else super()._get_help_string(action)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """Bad usage is one line on stderr, not a page."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, formatter_class=Formatter, **kwargs)

    def error(self, message: str):
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    top = Parser(prog="emuq", description=emuq.__doc__, epilog="emuq COMMAND --help tells what each can do.")
    top.add_argument("--version", action="version", version=f"emuq {emuq.__version__}")
    subparsers = top.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for name in COMMANDS:
        importlib.import_module(f"emuq.commands.{name}").register(subparsers)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Without `arguments` it is the process's own, which may then be changed as a whole."""
    given = sys.argv[1:] if arguments is None else arguments
    # argparse would take "-1,-2" for an option; no option of ours begins with a digit.
    args = parser().parse_args([re.sub(r"^(?=-[\d.])", " ", argument) for argument in given])
    if arguments is None and args.command in STEPPING:  # the process is ours, no program's that calls this
        from emuq import dispatch

        dispatch.inline()
    if arguments is None and args.command in CHECKING:
        import jax

        jax.config.update("jax_platforms", "cpu")
    try:
        if arguments is None and getattr(args, "compiles", False):
            _keep_compiled()
        status = args.run(args)
        sys.stdout.flush()
        return status
    except (InputError, MissingExtra) as error:
        print(f"emuq: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output, such as `head`, has what it wanted
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        where = f" {error.filename}" if error.filename else ""
        print(f"emuq: cannot read or write{where} ({error.strerror or error})", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("emuq: stopped", file=sys.stderr)
        return 130


def _keep_compiled() -> None:
    """What is compiled is kept for the next command, unless the user has a cache of their own."""
    import jax

    from emuq import cache

    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        # It only saves time: where it cannot be read or written, it is done without.
        warnings.filterwarnings("ignore", message=".*persistent compilation cache")
        with suppress(InputError):
            cache.enable()


def _drop_output() -> None:
    """What is left to print goes nowhere, or Python would try once more at its end, and fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
