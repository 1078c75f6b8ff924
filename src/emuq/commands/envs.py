"""`emuq envs`: the environments, with their spaces, goal, failure and horizon."""

from __future__ import annotations

import argparse
import json

from emuq.domains.catalogue import ENTRIES, Entry

COLUMNS = ("id", "observation", "action", "horizon", "goal", "failure")


def register(subparsers) -> None:
    parser = subparsers.add_parser("envs", help="list the environments")
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")
    parser.set_defaults(run=run)


def describe(entry: Entry) -> dict[str, str | int]:
    """An entry as a program reads it."""
    fields = ("observation", "action", "goal", "failure", "start", "horizon", "base", "extra")
    return {"id": entry.id, "name": entry.name, **{field: getattr(entry, field) for field in fields}}


def run(args: argparse.Namespace) -> int:
    if args.json:
        print(json.dumps([describe(entry) for entry in ENTRIES], indent=2))
        return 0
    rows = [COLUMNS, *(tuple(str(describe(entry)[column]) for column in COLUMNS) for entry in ENTRIES)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0
