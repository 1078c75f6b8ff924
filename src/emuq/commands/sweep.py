"""`emuq sweep`: the default agent with many settings and seeds, in batches."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from emuq.commands import campaigns
from emuq.errors import InputError

ROUND = 5  # points that Optuna is asked for at a time: with fewer, processes wait; with more, it knows less


def register(subparsers) -> None:
    parser = subparsers.add_parser(
        "sweep",
        help="the default agent with many settings, in batches",
        description="Runs the default agent until its first goal, with every combination of the settings "
        "given and several seeds each. Stop it at any time: finished runs are never run again.",
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
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--random", type=int, metavar="N", help="N points at random within the ranges, instead of the grid"
    )
    instead.add_argument(
        "--optuna", type=int, metavar="N", help="N points that Optuna chooses within the ranges, by the steps"
    )
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="seeds of each setting")
    parser.add_argument(
        "--first-seed", type=int, default=100, metavar="N", help="the first of them; results have 0 to 19"
    )
    parser.add_argument("--episodes", type=int, default=100, metavar="N", help="episodes of a run at most")
    parser.add_argument("--features", type=int, default=500, metavar="M", help="features of each agent")
    campaigns.add_arguments(parser)
    parser.add_argument(
        "--out", type=Path, default=Path("out/sweep"), metavar="DIR", help="folder of results.sqlite"
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from emuq.batch import heat_map, points
    from emuq.commands.pictures import drawn
    from emuq.run.store import Store

    for name in ("runs", "episodes", "random", "optuna"):
        number = getattr(args, name)
        if number is not None and number < 1:
            raise InputError(f"--{name} {number}: expected a whole number from 1")
    axes = dict(map(points.axis, args.grid))
    rounds = _rounds(args, axes)
    executor, workers = campaigns.executor(args)
    with Store(args.out) as store:
        cells = rounds(lambda chosen: _tried(chosen, args, store, executor, workers))
    if cells is None:
        return 130
    answer = {"domain": args.domain, "episodes": args.episodes, "cells": [cell._asdict() for cell in cells]}
    (args.out / "sweep.json").write_text(json.dumps(answer, indent=1))
    drawn(lambda: heat_map.figure([(args.domain, cells)]).savefig(args.out / "sweep.png", dpi=150))
    print(json.dumps(answer)) if args.json else _show(cells, args)
    return 0


def _rounds(args: argparse.Namespace, axes: dict) -> Callable:
    """What to try, as a function of the function that tries points; an error before anything is run."""
    from emuq.batch import points
    from emuq.batch.study import Study

    if args.optuna is None:
        chosen = points.grid(axes)
        if args.random is not None:
            chosen = points.at_random(axes, args.random, args.first_seed)
        return lambda tried: tried(chosen)
    study = Study(axes, args.first_seed)

    def rounds(tried: Callable) -> list | None:
        cells = []
        while (left := args.optuna - len(cells)) > 0:
            found = tried(study.ask(min(left, ROUND)))
            if found is None:
                return None
            study.tell([cell.mean_steps for cell in found])
            cells += found
        return cells

    return rounds


def _tried(chosen: Sequence[dict], args: argparse.Namespace, store, executor, workers: int) -> list | None:
    """A cell for each of these points, from the store where it has them; None where it was stopped."""
    from emuq.batch import sweep
    from emuq.run import devices

    seeds = range(args.first_seed, args.first_seed + args.runs)
    specs = sweep.specs(args.domain, chosen, seeds, args.episodes, args.features)
    jobs = sweep.jobs(specs, devices.batches(campaigns.on_gpu(args)).size)
    summary = campaigns.carried_out(jobs, store, executor, workers)
    if summary is None:
        return None
    if summary.failed:
        raise InputError(f"{summary.failed} runs failed: emuq report {args.out} says why")
    results = {record.key: record.result for record in store.records(sweep.NAME)}
    return sweep.cells([(spec, results[spec.key]) for spec in specs])


def _show(cells: Sequence, args: argparse.Namespace) -> None:
    """The table, the best first."""
    names = list(cells[0].settings)
    print("  ".join([*names, "success", "mean episodes", "median steps"]))
    for cell in sorted(cells, key=lambda cell: (-cell.success, cell.steps)):
        settings = [f"{cell.settings[name]:.4g}".rjust(len(name)) for name in names]
        print("  ".join([*settings, f"{cell.success:7.0%}", f"{cell.episodes:13.3g}", f"{cell.steps:12.0f}"]))
    print(f"All of it is in {args.out}; for a page: emuq report {args.out}")
