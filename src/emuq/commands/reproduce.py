"""`emuq reproduce`: run the paper's experiments; what is finished is never run again."""

from __future__ import annotations

import argparse
import json
import shlex

from emuq.commands import campaigns


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
    campaigns.add_arguments(parser)
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
    from emuq.run import devices
    from emuq.run.store import Store

    batches = devices.batches(campaigns.on_gpu(args))
    jobs = plan(chosen, seeds=args.seeds, agents=args.agents, domains=args.domains, batches=batches)
    executor, workers = campaigns.executor(args)
    with Store(args.out) as store:
        summary = campaigns.carried_out(jobs, store, executor, workers)
    if summary is None:
        return 130
    if args.json:
        print(json.dumps({"out": str(args.out), **summary._asdict()}))
    else:
        failed = f", {summary.failed} failed (the report says why)" if summary.failed else ""
        print(f"{summary.done} runs done{failed}, {summary.kept} were there already.")
        print(f"Look at them with: emuq report {shlex.quote(str(args.out))}")
    return 1 if summary.failed else 0
