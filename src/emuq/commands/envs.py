"""`emuq envs`: the environments."""

from __future__ import annotations

import argparse


def register(subparsers) -> None:
    parser = subparsers.add_parser("envs", help="list the environments")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import gymnasium as gym

    for name in sorted(gym.registry):
        if name.startswith("emuq/"):
            print(name)
    return 0
