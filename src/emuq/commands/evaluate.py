"""`emuq evaluate CHECKPOINT`: a saved agent, exploiting or exploring, without learning."""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from emuq.commands import environments, note
from emuq.errors import InputError, MissingExtra


def register(subparsers) -> None:
    parser = subparsers.add_parser(
        "evaluate",
        help="run a saved agent, exploiting or exploring",
        description="Runs a saved agent on starts that it has not learned from. It learns nothing here.",
    )
    parser.add_argument(
        "checkpoint", type=Path, metavar="RUN", help="a folder of emuq train, or a file written by save()"
    )
    parser.add_argument(
        "--kappa",
        type=float,
        default=0.0,
        metavar="K",
        help="the weight of exploration: 0 exploits, inf explores only",
    )
    parser.add_argument("--episodes", type=int, default=20, metavar="N", help="test episodes")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the test episodes' starts")
    parser.add_argument(
        "--env",
        metavar="ENV",
        help="another environment than the saved one, or one that a file may not choose: "
        "module:Id imports the module",
    )
    environments.register_option(parser)
    parser.add_argument(
        "--video", type=Path, metavar="DIR", help="record each test episode as a video in this folder"
    )
    parser.add_argument("--json", action="store_true", help="print the history as JSON, and nothing else")
    parser.set_defaults(run=run, compiles=True)


def run(args: argparse.Namespace) -> int:
    import numpy as np

    from emuq.commands.train import CHECKPOINT, load

    if args.episodes < 1:
        raise InputError(f"--episodes is {args.episodes}: expected a whole number from 1")
    if not args.kappa >= 0:
        raise InputError(f"--kappa is {args.kappa}: expected a number from 0, or inf")
    if args.seed < 0:
        raise InputError(f"--seed is {args.seed}: expected a whole number from 0")
    path = args.checkpoint / CHECKPOINT if args.checkpoint.is_dir() else args.checkpoint
    how = f"emuq evaluate {args.checkpoint} --env ENV"
    options = dict(args.env_options)
    if args.video is None:
        agent, recorder = load(path, args.env, options, how), None
    else:
        agent = load(path, args.env, options | {"render_mode": "rgb_array"}, how)
        recorder = recording(agent.env, args.video)
    history = agent.evaluate(args.episodes, kappa=args.kappa, seed=args.seed, env=recorder)
    if recorder is not None:
        recorder.close()  # which ends the last video
        note(f"videos: {args.video}")
    if args.json:
        print(json.dumps(history.to_dict()))
        return 0
    goals = [episode.length for episode in history if episode.goal]
    steps = f" in {np.mean(goals):.1f} steps on average" if goals else ""
    returns = np.mean([episode.total_return for episode in history])
    told = f"goal in {len(goals)} of {args.episodes} episodes{steps}; mean return {returns:.3f}"
    print(f"kappa {args.kappa:g}: {told}")
    return 0


def recording(env: Any, folder: Path) -> Any:
    """The environment, which records each of its episodes in `folder`."""
    import gymnasium as gym

    if find_spec("moviepy") is None:
        raise MissingExtra("moviepy", "video")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"--video is {folder}, which is there already: expected a new or an empty folder")
    try:
        return gym.wrappers.RecordVideo(
            env, str(folder), episode_trigger=lambda number: True, name_prefix="test", disable_logger=True
        )
    except ValueError as error:
        raise InputError(f"the environment draws no pictures, so that there is no video ({error})") from None
