"""`emuq live ENV`: a page to watch an agent learn, and to steer it."""

from __future__ import annotations

import argparse
import threading
from pathlib import Path
from typing import Any

from emuq.commands import note
from emuq.errors import InputError, MissingExtra

OUT = Path("out/live")
EXAMPLES = """examples:
  emuq live MountainCar
  emuq live SinglePendulum --env-option start=hanging --kappa inf
  emuq live --resume out/train"""


def register(subparsers) -> None:
    from emuq.commands.train import register_agent

    parser = subparsers.add_parser(
        "live",
        help="a page to watch an agent learn, and to steer it",
        description="Lets an agent learn and opens a page in the browser that shows what it knows and does. "
        "On the page kappa can be turned, learning paused, the agent tested and saved. Ctrl-C ends it.",
        epilog=EXAMPLES,
    )
    register_agent(parser)
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help=f"folder that the page saves to (default: {OUT})"
    )
    parser.add_argument(
        "--resume", type=Path, metavar="DIR", help="go on with the run in this folder, and save there"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="where to listen; any address but this machine's own lets others in who know the page's whole "
        "address, and nothing is encrypted",
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port to listen at; 0: any free one")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    parser.set_defaults(run=run, compiles=True)


def run(args: argparse.Namespace) -> int:
    from emuq.commands.train import CHECKPOINT
    from emuq.livepage.page import live

    folder, agent, notes = _drawn_run(args)
    last = None if args.resume is None else folder / CHECKPOINT
    page = live(agent, out=folder, host=args.host, port=args.port, browser=not args.no_browser, last=last)
    for text in notes:
        note(text)
    print(page.url, flush=True)
    note("learning, until Ctrl-C")
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        pass
    finally:
        page.close()
    saved = f"the page's Save keeps a run in {folder}"
    note(f"stopped after {len(agent.history)} episodes; {saved}")
    return 0


def _drawn_run(args: argparse.Namespace) -> tuple[Path, Any, list[str]]:
    """The run that the arguments mean, in an environment that draws itself, if it can."""
    from emuq.commands.train import run_of

    plain, drawn = args.env_options, [("render_mode", "rgb_array"), *args.env_options]
    try:
        return run_of(argparse.Namespace(**{**vars(args), "env_options": drawn}), OUT)
    except (InputError, MissingExtra):
        return run_of(argparse.Namespace(**{**vars(args), "env_options": plain}), OUT)
