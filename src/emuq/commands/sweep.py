"""`emuq sweep`: the default agent with many settings and seeds, as one program."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from emuq.errors import InputError


def register(subparsers) -> None:
    parser = subparsers.add_parser(
        "sweep",
        help="the default agent with many settings, as one program",
        description="Runs the default agent until its first goal, with every combination of the settings "
        "given and several seeds each, all of them as one program.",
        epilog="example:\n  emuq sweep MountainCar --grid state_lengthscale=0.1:1:4 kappa=0.1,1 --runs 5",
    )
    parser.add_argument(
        "domain", metavar="DOMAIN", help="a domain that is a pure JAX function: MountainCar, ..."
    )
    parser.add_argument(
        "--grid",
        nargs="+",
        required=True,
        metavar="NAME=VALUES",
        help="what is varied: NAME=0.1,0.5,1 (these values) or NAME=0.1:1:10 (ten from 0.1 to 1)",
    )
    parser.add_argument(
        "--random", type=int, metavar="N", help="N points at random within the ranges, instead of the grid"
    )
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="seeds of each setting")
    parser.add_argument(
        "--first-seed", type=int, default=100, metavar="N", help="the first of them; results have 0 to 19"
    )
    parser.add_argument("--episodes", type=int, default=100, metavar="N", help="episodes of a run at most")
    parser.add_argument("--features", type=int, default=500, metavar="M", help="features of each agent")
    parser.add_argument(
        "--out", type=Path, default=Path("out/sweep"), metavar="DIR", help="folder for the answer"
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.set_defaults(run=run, compiles=True)


def run(args: argparse.Namespace) -> int:
    from emuq.batch import sweep
    from emuq.commands.pictures import drawn

    for name in ("runs", "episodes", "random"):
        number = getattr(args, name)
        if number is not None and number < 1:
            raise InputError(f"--{name} {number}: expected a whole number from 1")
    axes = dict(map(sweep.axis, args.grid))
    points = sweep.grid(axes) if args.random is None else sweep.at_random(axes, args.random, args.first_seed)
    args.out.mkdir(parents=True, exist_ok=True)
    seeds = range(args.first_seed, args.first_seed + args.runs)
    cells = sweep.sweep(args.domain, points, seeds, args.episodes, features=args.features)
    answer = {"domain": args.domain, "episodes": args.episodes, "cells": [cell._asdict() for cell in cells]}
    (args.out / "sweep.json").write_text(json.dumps(answer, indent=1))
    if args.random is None:
        drawn(lambda: sweep.heat_map(cells, axes, args.domain, args.out / "sweep.png"))
    if args.json:
        print(json.dumps(answer))
        return 0
    names = [*axes]
    print("  ".join([*names, "success", "mean episodes", "median steps"]))
    for cell in sorted(cells, key=lambda cell: (-cell.success, cell.steps)):
        settings = [f"{cell.settings[name]:.4g}".rjust(len(name)) for name in names]
        print("  ".join([*settings, f"{cell.success:7.0%}", f"{cell.episodes:13.3g}", f"{cell.steps:12.0f}"]))
    print(f"All of it is in {args.out}.")
    return 0
