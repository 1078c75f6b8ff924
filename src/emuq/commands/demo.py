"""`emuq demo`: goal-only MountainCar from nothing, in under a minute."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from emuq.errors import InputError


def register(subparsers) -> None:
    parser = subparsers.add_parser(
        "demo",
        help="learn goal-only MountainCar from nothing, and show it",
        description="Learns goal-only MountainCar from nothing, tests what was learned, sets it beside a "
        "random policy, and draws what the agent knows.",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the agent")
    parser.add_argument("--episodes", type=int, default=12, metavar="N", help="episodes to learn")
    parser.add_argument(
        "--out", type=Path, default=Path("out/demo"), metavar="DIR", help="folder for the picture"
    )
    parser.set_defaults(run=run, compiles=True)


def run(args: argparse.Namespace) -> int:
    import gymnasium as gym
    import numpy as np
    from rich.console import Console

    import emuq
    from emuq import domains
    from emuq.commands.pictures import drawn
    from emuq.plot import value_map
    from emuq.run.lockstep import learn_random

    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {args.out} ({error.strerror}): give another --out") from None
    console = Console(highlight=False)
    console.print("Goal-only MountainCar: +1 at the top of the hill, nothing anywhere else.\n")
    began = time.perf_counter()
    env = gym.make("emuq/MountainCar-v0")
    agent = emuq.EMUQ(env, seed=args.seed)

    def tell(event) -> None:
        if event.kind == "episode":
            e, number = event.episode, len(agent.history)
            doing = "explored " if e.kappa > 0 else "exploited"
            result = "goal" if e.goal else "no goal"
            console.print(
                f"  episode {number:2d}  {doing} (kappa {e.kappa:g})  {e.length:3d} steps  {result}"
            )

    agent.learn(episodes=args.episodes, callback=tell)
    learned = time.perf_counter() - began
    chance = learn_random(domains.make("MountainCar"), list(range(10)), 20, until_goal=True)
    found = int(np.asarray(chance.goals).any(axis=1).sum())
    tests = agent.evaluate(20)
    reached = [episode.length for episode in tests if episode.goal]

    first = agent.history.first_goal
    ours = f"episode {first}, after {agent.history[first - 1].steps} steps" if first else "not found"
    console.print(f"\n  first goal, EMU-Q          {ours}")
    console.print(f"  first goal, random policy  {found} of 10 runs of 20 episodes (10,000 steps)")
    steps = f", in {np.mean(reached):.0f} steps" if reached else ""
    console.print(f"  then, at kappa = 0         {len(reached)} of 20 test episodes reach it{steps}")
    console.print(f"  learned in                 {learned:.0f} s, compilation included")
    picture = args.out / "mountaincar.png"
    if drawn(lambda: value_map(agent, picture, names=("position", "velocity"))):
        console.print(f"\nU, Q and the variance, with the last trajectories over them: {picture}")
    return 0
