"""`emuq evaluate CHECKPOINT`: a saved agent, exploiting or exploring, without learning."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def register(subparsers) -> None:
    parser = subparsers.add_parser("evaluate", help="run a saved agent, exploiting or exploring")
    parser.add_argument("checkpoint", type=Path, help="a file written by save() or emuq train, or its folder")
    parser.add_argument("--kappa", type=float, default=0.0, help="0 exploits, inf explores only")
    parser.add_argument("--episodes", type=int, default=20, help="test episodes")
    parser.add_argument("--seed", type=int, default=0, help="seed of the test episodes' starts")
    parser.add_argument("--json", action="store_true", help="print the history as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import numpy as np

    from emuq.commands.train import CHECKPOINT, load
    from emuq.errors import InputError

    if args.episodes < 1:
        raise InputError(f"--episodes is {args.episodes}: expected a whole number from 1")
    if not args.kappa >= 0:
        raise InputError(f"--kappa is {args.kappa}: expected a number from 0, or inf")
    path = args.checkpoint / CHECKPOINT if args.checkpoint.is_dir() else args.checkpoint
    agent, _ = load(path)
    history = agent.evaluate(args.episodes, kappa=args.kappa, seed=args.seed)
    if args.json:
        print(json.dumps(history.to_dict()))
        return 0
    goals = [episode.length for episode in history if episode.goal]
    steps = f" in {np.mean(goals):.1f} steps on average" if goals else ""
    returns = np.mean([episode.total_return for episode in history])
    told = f"goal in {len(goals)} of {args.episodes} episodes{steps}; mean return {returns:.3f}"
    print(f"kappa {args.kappa:g}: {told}")
    return 0
