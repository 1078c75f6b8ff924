"""`emuq train ENV`: any agent on any Gymnasium environment, saved at once and after every episode."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from emuq.commands import environments, note
from emuq.errors import InputError
from emuq.files import replacing

CHECKPOINT, HISTORY = "agent.emuq", "history.json"
OUT, SEED = Path("out/train"), 0
EXAMPLES = """examples:
  emuq train MountainCar
  emuq train SinglePendulum --env-option start=hanging --episodes 5
  emuq train CartPole-v1 --observation-bounds -2.4,-3,-0.21,-3 2.4,3,0.21,3
  emuq train Taxi --agent epsilon-greedy --episodes 500 --out out/taxi
  emuq train --resume out/taxi --episodes 500"""


def register(subparsers) -> None:
    parser = subparsers.add_parser(
        "train",
        help="train an agent on any Gymnasium environment",
        description="Trains an agent and keeps it in a folder: agent.emuq (the agent, saved after every "
        "episode), history.json, and pictures. Stop it at any time with Ctrl-C: --resume goes on.",
        epilog=EXAMPLES,
    )
    register_agent(parser)
    parser.add_argument("--episodes", type=int, default=20, metavar="N", help="episodes to learn")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help=f"folder of a new run, made if need be (default: {OUT})"
    )
    parser.add_argument("--resume", type=Path, metavar="DIR", help="go on with the run in this folder")
    parser.add_argument("--json", action="store_true", help="print the history as JSON, and nothing else")
    parser.set_defaults(run=run, compiles=True)


def register_agent(parser: argparse.ArgumentParser) -> None:
    """Declare what says which agent is to learn, and where."""
    parser.add_argument(
        "env",
        nargs="?",
        metavar="ENV",
        help="a name that emuq envs lists (MountainCar), any Gymnasium id (CartPole-v1), "
        "or module:Id, which imports the module",
    )
    parser.add_argument(
        "--agent",
        metavar="NAME",
        help="the agent; emuq envs lists those that fit each environment "
        "(default: emuq, or exploration-values where states can be counted)",
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help=f"seed of the agent and of the resets (default: {SEED})"
    )
    parser.add_argument(
        "--kappa",
        type=float,
        metavar="K",
        help="a fixed weight of exploration; 0 exploits, inf explores only "
        "(default: the agent's own; emuq explores until it finds the goal)",
    )
    parser.add_argument(
        "--observation-bounds",
        nargs=2,
        type=bound,
        metavar=("LOW", "HIGH"),
        help="what to scale observations by, each one number or one for every dimension (-1,-2,0); "
        "needed where the environment has no finite bounds of its own",
    )
    environments.register_option(parser)


def bound(text: str) -> list[float] | float:
    """`-1` as a number, `-1,2` as a list of them."""
    numbers = [float(part) for part in text.split(",")]
    return numbers if "," in text else numbers[0]


def run(args: argparse.Namespace) -> int:
    if args.episodes < 1:
        raise InputError(f"--episodes is {args.episodes}: expected a whole number from 1")
    folder, agent, notes = run_of(args, OUT)
    learned = Kept(agent, folder)
    for text in notes:  # not before all that could be refused was accepted: an error is one line
        note(text)
    try:
        agent.learn(episodes=args.episodes, callback=learned)
    except KeyboardInterrupt:
        note(f"stopped; {learned.episodes} episodes are saved: emuq train --resume {folder} goes on")
        return 130
    shown = _draw(agent, folder)
    if args.json:
        print(json.dumps(agent.history.to_dict()))
        return 0
    goals, first = sum(e.goal for e in agent.history), agent.history.first_goal
    when = f"first in episode {first}" if first else "none found"
    print(f"{len(agent.history)} episodes, {agent.history[-1].steps} steps, {goals} goals ({when})")
    print(f"checkpoint, history and pictures: {folder}" if shown else f"checkpoint and history: {folder}")
    return 0


def run_of(args: argparse.Namespace, out: Path) -> tuple[Path, Any, list[str]]:
    """The run that the arguments mean, new (in `out`, unless they say where) or there already."""
    return _begin(args, out) if args.resume is None else _resume(args)


def _begin(args: argparse.Namespace, out: Path) -> tuple[Path, Any, list[str]]:
    """A new run: its folder, its agent, what to say about it."""
    from emuq.agents.registry import AGENTS, agent_class
    from emuq.experiments.presets import make_agent

    if args.env is None:
        command = f"emuq {args.command}"
        raise InputError(f"no environment given: {command} ENV, or {command} --resume DIR")
    folder = out if args.out is None else args.out
    if _holds_run(folder / CHECKPOINT):
        raise InputError(
            f"{folder} holds a run already: --resume {folder} goes on with it, --out takes another"
        )
    if args.agent is not None:
        agent_class(args.agent)
    env = environments.make(args.env, dict(args.env_options))
    name, notes = _chosen(args.agent, args.env, env)
    options = {"kappa": args.kappa, "observation_bounds": args.observation_bounds}
    if AGENTS[name].kind != "vectors" and options.pop("observation_bounds") is not None:
        notes.append(f"--observation-bounds made no difference: {name} does not scale observations")
    given = {option: value for option, value in options.items() if value is not None}
    try:
        agent = make_agent(name, env, seed=SEED if args.seed is None else args.seed, **given)
    except InputError as error:
        told = str(error).replace("observation_bounds=(low, high)", "--observation-bounds LOW HIGH")
        raise InputError(told) from None
    return folder, agent, notes


def _chosen(agent: str | None, place: str, env: Any) -> tuple[str, list[str]]:
    """The agent's name: the one given, if it fits the environment, or the first that does, which is said."""
    from emuq.agents.registry import AGENTS, fitting, misfit

    fit = fitting(env)
    reason = misfit(agent or next(iter(AGENTS)), env)
    if agent is not None:
        if reason is not None:
            raise InputError(f"{agent} does not fit {place}: {reason}. Agents that fit: {', '.join(fit)}")
        return agent, []
    others = f" (--agent takes others that fit: {', '.join(fit[1:])})"
    if fit[0] == "random":
        others = f", which learns nothing, for no other fits: {reason}"
    return fit[0], [f"the agent is {fit[0]}{others}"]


def _resume(args: argparse.Namespace) -> tuple[Path, Any, list[str]]:
    """A run that is there already."""
    kept = {
        "agent": args.agent,
        "seed": args.seed,
        "out": args.out,
        "observation-bounds": args.observation_bounds,
    }
    ignored = ", ".join(f"--{name}" for name, value in kept.items() if value is not None)
    notes = [f"{ignored} made no difference: a run that goes on keeps its own"] if ignored else []
    how = f"emuq {args.command} ENV --resume {args.resume}"
    agent = load(args.resume / CHECKPOINT, args.env, dict(args.env_options), how)
    if args.kappa is not None:
        agent.kappa = args.kappa
    return args.resume, agent, notes


class Kept:
    """A callback that keeps an agent in a folder: at once, for Ctrl-C to find it, and after each episode."""

    def __init__(self, agent: Any, folder: Path) -> None:
        self.episodes = 0
        self._folder = folder
        self._keep(agent)

    def __call__(self, event: Any) -> None:
        if event.kind == "episode":
            self._keep(event.agent)

    def _keep(self, agent: Any) -> None:
        try:
            agent.save(self._folder / CHECKPOINT)
            with replacing(self._folder / HISTORY) as file:
                file.write(agent.history.to_json().encode())
        except InputError as error:
            safe = (
                f"the {self.episodes} episodes before are safe there" if self.episodes else "nothing is lost"
            )
            raise InputError(f"{error}; {safe}") from error
        self.episodes = len(agent.history)


def _holds_run(path: Path) -> bool:
    """Whether a new run would lose something at `path`: one without a whole episode may begin again."""
    from emuq import checkpoint

    try:
        return path.exists() and checkpoint.read(path)[0]["history.length"].size > 0
    except InputError:
        return True


def _draw(agent: Any, folder: Path) -> bool:
    from emuq.agents.emuq.agent import EMUQ
    from emuq.commands.pictures import drawn
    from emuq.plot import learning_curve, value_map

    pictures = [lambda: learning_curve(agent.history, folder / "learning.png")]
    if isinstance(agent, EMUQ) and len(agent.bounds[0]) > 1:
        pictures.append(lambda: value_map(agent, folder / "values.png"))
    return drawn(*pictures)


def load(path: Path, named: str | None, options: dict[str, Any], how: str) -> Any:
    """The agent of a checkpoint, with the environment it was trained on, or the one that the user named."""
    from emuq import checkpoint
    from emuq.agents.registry import AGENTS, agent_class

    _, meta = checkpoint.read(path)
    if meta.get("agent") not in AGENTS:
        raise InputError(f"{path} holds a {meta.get('agent')} agent: expected one of {', '.join(AGENTS)}")
    return agent_class(meta["agent"]).load(path, environments.restore(path, meta, named, options, how))
