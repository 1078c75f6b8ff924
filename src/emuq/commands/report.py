"""`emuq report`: report.html (one file, opens offline), report.md and figures from a folder of results."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def register(subparsers) -> None:
    parser = subparsers.add_parser(
        "report",
        help="build report.html and report.md from results",
        description="Builds report.html (self-contained), report.md, report.json and figures/ from results.",
    )
    parser.add_argument("folder", metavar="DIR", help="folder written by emuq reproduce --out DIR")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these experiments (default: all)")
    parser.add_argument("--out", metavar="DIR", help="folder of the report (default: the results' own)")
    parser.add_argument(
        "--readme", metavar="FILE", help="only rewrite the results table between this file's markers"
    )
    parser.add_argument("--json", action="store_true", help="only print rows and claims as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from emuq.report.build import answer, build

    if args.json:
        print(json.dumps(answer(args.folder, args.names), indent=1))
        return 0
    if args.readme is not None:
        from emuq.report.markdown import write_readme

        write_readme(args.readme, answer(args.folder, args.names))
        print(f"Results table written to {args.readme}.")
        return 0
    written = build(args.folder, args.names, Path(args.out or args.folder))
    print(f"Report written: {written}")
    return 0
