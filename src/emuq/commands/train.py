"""`emuq train ENV`: any agent on any Gymnasium environment, saved after every episode."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

CHECKPOINT, HISTORY = "agent.emuq", "history.json"


def register(subparsers) -> None:
    parser = subparsers.add_parser("train", help="train an agent on any Gymnasium environment")
    parser.add_argument(
        "env", nargs="?", metavar="ENV", help="an id (emuq/MountainCar-v0) or a bare name (MountainCar)"
    )
    parser.add_argument("--agent", default="emuq", help="the agent")
    parser.add_argument("--episodes", type=int, default=20, help="episodes to learn")
    parser.add_argument("--seed", type=int, default=0, help="seed of the agent and of the resets")
    parser.add_argument(
        "--kappa", type=float, help="a fixed weight of exploration (default: the agent's own)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out/train"), help="folder for checkpoint, history, plots"
    )
    parser.add_argument("--resume", type=Path, metavar="DIR", help="go on with the run in this folder")
    parser.add_argument("--json", action="store_true", help="print the history as JSON")
    parser.set_defaults(run=run)


def make_env(name: str) -> Any:
    """`gym.make` of an id, or of emuq's own environment with that bare name."""
    import gymnasium as gym

    from emuq.errors import InputError

    full = f"emuq/{name}-v0" if f"emuq/{name}-v0" in gym.registry else name
    try:
        return gym.make(full)
    except gym.error.Error as error:
        raise InputError(
            f"no environment {name!r} ({error}): see emuq envs, or give any Gymnasium id"
        ) from None


def run(args: argparse.Namespace) -> int:
    from emuq.agents.emuq.agent import EMUQ
    from emuq.errors import InputError
    from emuq.experiments.presets import make_agent
    from emuq.plot import learning_curve, value_map

    if args.episodes < 1:
        raise InputError(f"--episodes is {args.episodes}: expected a whole number from 1")
    if args.resume is not None:
        folder = args.resume
        agent, env = load(folder / CHECKPOINT)
    elif args.env is None:
        raise InputError("no environment given: emuq train ENV, or emuq train --resume DIR")
    else:
        folder, env = args.out, make_env(args.env)
        if (folder / CHECKPOINT).exists():
            raise InputError(
                f"{folder} holds a run already: --resume {folder} goes on with it, --out takes another"
            )
        options = {} if args.kappa is None else {"kappa": args.kappa}
        agent = make_agent(args.agent, env, seed=args.seed, **options)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {folder} ({error.strerror}): give another --out") from None
    if args.resume is not None and args.kappa is not None:
        agent.kappa = args.kappa

    def keep(event) -> None:
        if event.kind == "episode":
            agent.save(folder / CHECKPOINT)
            (folder / HISTORY).write_text(agent.history.to_json())

    try:
        agent.learn(episodes=args.episodes, callback=keep)
    except KeyboardInterrupt:
        print(f"stopped after episode {len(agent.history)}: emuq train --resume {folder} goes on")
        return 130
    learning_curve(agent.history, folder / "learning.png")
    if isinstance(agent, EMUQ) and len(agent.bounds[0]) > 1:
        value_map(agent, folder / "values.png")
    if args.json:
        print(json.dumps(agent.history.to_dict()))
    else:
        goals, first = sum(e.goal for e in agent.history), agent.history.first_goal
        when = f"first in episode {first}" if first else "none found"
        print(f"{len(agent.history)} episodes, {agent.history[-1].steps} steps, {goals} goals ({when})")
        print(f"checkpoint, history and plots: {folder}")
    return 0


def load(path: Path) -> tuple[Any, Any]:
    """The agent of a checkpoint, and the environment it was trained on."""
    from emuq import checkpoint
    from emuq.agents.registry import AGENTS, agent_class
    from emuq.errors import InputError

    _, meta = checkpoint.read(path)
    names = [name for name in AGENTS if agent_class_name(name) == meta["agent"]]
    if not names:
        raise InputError(f"{path} holds a {meta['agent']} agent: expected one of {', '.join(AGENTS)}")
    if meta.get("env") is None:
        raise InputError(f"{path} does not say its environment: load it from Python, with the environment")
    env = make_env(meta["env"])
    return agent_class(names[0]).load(path, env), env


def agent_class_name(name: str) -> str | None:
    """The `name` of an agent's class, or None where its extra is not installed."""
    from emuq.agents.registry import agent_class

    try:
        return agent_class(name).name
    except ImportError:
        return None
