"""Options of the commands that carry out many runs: where, and what becomes of a Ctrl-C."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from emuq.errors import InputError

if TYPE_CHECKING:
    from emuq.run.campaign import Summary
    from emuq.run.jobs import Job
    from emuq.run.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=int, metavar="N", help="local processes (default: one a core)")
    parser.add_argument(
        "--executor", choices=("local", "ray"), default="local", help="what carries out the runs"
    )
    parser.add_argument(
        "--address",
        metavar="A",
        help="Ray cluster: host:port, ray://host:port or auto (default: a new one here)",
    )
    parser.add_argument(
        "--gpus-per-task",
        type=float,
        default=0.0,
        metavar="G",
        help="GPUs of each batch of runs on the Ray cluster; 0.25: four batches share one",
    )


def on_gpu(args: argparse.Namespace) -> bool:
    """Whether batches will run on GPUs: those of the cluster's tasks, or this machine's."""
    from emuq.run import devices

    return args.gpus_per_task > 0 if args.executor == "ray" else devices.gpu_here()


def executor(args: argparse.Namespace):
    """The executor, and how many jobs it carries out at once."""
    if args.workers is not None and args.workers < 1:
        raise InputError(f"workers is {args.workers}: expected a whole number from 1")
    if args.executor == "ray":
        from emuq.run.ray import Ray

        ray = Ray(args.address, gpus=args.gpus_per_task)
        return ray, ray.slots()
    for option in ("address", "gpus_per_task"):
        if getattr(args, option):
            raise InputError(f"--{option.replace('_', '-')} is for --executor ray: give both or neither")
    from emuq.run.local import LocalProcesses

    local = LocalProcesses(args.workers, gpu=on_gpu(args))
    return local, local.workers


def carried_out(jobs: Sequence[Job], store: Store, executor, workers: int) -> Summary | None:
    """What became of the jobs; None where they were stopped, which is said, and how to go on."""
    from emuq.run.campaign import Interrupted, carry_out

    try:
        return carry_out(jobs, store, executor, workers)
    except Interrupted as stop:
        done, again = stop.summary, shlex.join(["emuq", *sys.argv[1:]])
        print(
            f"emuq: stopped; {done.done + done.kept} runs are recorded in {store.path.parent}, "
            f"{stop.left + done.failed} are left. Go on with: {again}",
            file=sys.stderr,
        )
        return None
