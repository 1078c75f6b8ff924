"""`emuq envs`: the environments, with their spaces, goal, failure, horizon and the agents that fit."""

from __future__ import annotations

import argparse
import json
from typing import Any

from emuq.domains.catalogue import ENTRIES, Entry

COLUMNS = ("id", "observation", "action", "horizon", "goal", "failure")


def register(subparsers) -> None:
    parser = subparsers.add_parser(
        "envs",
        help="list the environments, and the agents that fit each",
        description="Lists the goal-only environments: +1 at the goal, -1 at a failure, 0 elsewhere. "
        'emuq train NAME and gym.make("emuq/NAME-v0") make the same one.',
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list, with starts and extras too")
    parser.set_defaults(run=run)


def agents(entry: Entry) -> list[str]:
    """The agents that can serve an entry's spaces, which it has as text: "Box(3)", "Discrete(48)"."""
    import gymnasium as gym

    from emuq.agents.registry import fitting
    from emuq.agents.spaces import Spaces

    def space(text: str) -> gym.Space:
        kind, _, size = text.rstrip(")").partition("(")
        return gym.spaces.Box(0.0, 1.0, (int(size),)) if kind == "Box" else gym.spaces.Discrete(int(size))

    return fitting(Spaces(space(entry.observation), space(entry.action)))


def describe(entry: Entry) -> dict[str, Any]:
    """An entry as a program reads it."""
    fields = ("observation", "action", "goal", "failure", "start", "horizon", "base", "extra")
    told = {"id": entry.id, "name": entry.name, **{field: getattr(entry, field) for field in fields}}
    return {**told, "agents": agents(entry)}


def run(args: argparse.Namespace) -> int:
    described = [describe(entry) for entry in ENTRIES]
    if args.json:
        print(json.dumps(described, indent=2))
        return 0
    rows = [COLUMNS, *(tuple(str(each[column]) for column in COLUMNS) for each in described)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print("\nAgents that fit:")
    for fit in dict.fromkeys(tuple(each["agents"]) for each in described):
        names = [each["name"] for each in described if tuple(each["agents"]) == fit]
        print(f"  {', '.join(names)}: {', '.join(fit)}")
    return 0
