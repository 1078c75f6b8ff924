"""`emuq reproduce`: run the paper's experiments; what is finished is never run again."""

from __future__ import annotations

import argparse
import json
import shlex
import sys

from emuq.errors import InputError


def register(subparsers) -> None:
    parser = subparsers.add_parser(
        "reproduce",
        help="run the paper's experiments by name",
        description="Runs experiments by name. Stop it at any time: finished runs are never run again.",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="fig2a, fig2 (all of fig2a to d), table3, ...; none means all of the paper",
    )
    parser.add_argument(
        "--seeds", type=int, metavar="N", help="runs of each method (default: the paper's number)"
    )
    parser.add_argument(
        "--domains", nargs="+", default=[], metavar="D", help="only these domains (default: all)"
    )
    parser.add_argument(
        "--agents", nargs="+", default=[], metavar="A", help="only these agents (default: all)"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="local processes (default: one a core)")
    parser.add_argument(
        "--executor", choices=("local", "ray"), default="local", help="what carries out the runs"
    )
    parser.add_argument(
        "--address",
        metavar="A",
        help="Ray cluster: host:port, ray://host:port or auto (default: a new one here)",
    )
    parser.add_argument("--out", default="results", metavar="DIR", help="folder of results.sqlite")
    parser.add_argument("--list", action="store_true", help="list the experiments, and run none")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from emuq import experiments

    if args.list:
        chosen = experiments.named(args.names) if args.names else list(experiments.every().values())
        return _list(chosen, args.json)
    return _reproduce(experiments.named(args.names), args)


def _list(chosen, as_json: bool) -> int:
    if as_json:
        print(json.dumps([{"name": e.name, "title": e.title, "runs": e.runs} for e in chosen]))
        return 0
    for experiment in chosen:
        note = " (beyond the paper: run when named)" if experiment.beyond else ""
        print(f"{experiment.name:8} {experiment.runs:4} runs  {experiment.title}{note}")
    return 0


def _reproduce(chosen, args: argparse.Namespace) -> int:
    from emuq.experiments.plan import plan
    from emuq.run.campaign import Interrupted, carry_out
    from emuq.run.store import Store

    if args.workers is not None and args.workers < 1:
        raise InputError(f"workers is {args.workers}: expected a whole number from 1")
    jobs = plan(chosen, seeds=args.seeds, agents=args.agents, domains=args.domains)
    executor, workers = _executor(args)
    with Store(args.out) as store:
        try:
            summary = carry_out(jobs, store, executor, workers)
        except Interrupted as stop:
            done, again = stop.summary, shlex.join(["emuq", *sys.argv[1:]])
            print(
                f"emuq: stopped; {done.done + done.kept} runs are recorded in {args.out}, "
                f"{stop.left + done.failed} are left. Go on with: {again}",
                file=sys.stderr,
            )
            return 130
    if args.json:
        print(json.dumps({"out": str(args.out), **summary._asdict()}))
    else:
        failed = f", {summary.failed} failed (the report says why)" if summary.failed else ""
        print(f"{summary.done} runs done{failed}, {summary.kept} were there already.")
        print(f"Look at them with: emuq report {shlex.quote(str(args.out))}")
    return 1 if summary.failed else 0


def _executor(args: argparse.Namespace):
    """The executor, and how many runs it carries out at once."""
    if args.executor == "ray":
        from emuq.run.ray import Ray

        ray = Ray(args.address)
        return ray, ray.slots()
    if args.address is not None:
        raise InputError("--address is for --executor ray: give both or neither")
    from emuq.run.local import LocalProcesses

    local = LocalProcesses(args.workers)
    return local, local.workers
