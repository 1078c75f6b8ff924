"""One module a command: `register(subparsers)` declares it, `run(args)` returns the exit status."""

from __future__ import annotations

import sys


def note(text: str) -> None:
    """One line beside the answer: on stderr, so that the answer stays what a program can read."""
    print(f"emuq: {text}", file=sys.stderr, flush=True)
