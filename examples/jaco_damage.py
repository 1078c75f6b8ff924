"""A Jaco arm learns to reach, is damaged in the middle of learning, and learns to reach again.

    python examples/jaco_damage.py [--seed 100] [--healthy 40] [--damaged 80] [--out jaco]

Base and shoulder move the arm, the elbow holds its place. Then a blow bends the elbow by 23 degrees, where it
jams: what the agent has learned no longer brings the hand to the target, and nobody tells it. kappa is turned
up, and down again once the target is reached. Writes OUT.png (the curve and strips of frames) and prints what
happened.
"""

from __future__ import annotations

import argparse
import itertools

import gymnasium as gym
import numpy as np

import emuq
from emuq.kappa import UntilGoal

WINDOW = 10
BLOW = {3: -0.4}  # the elbow, stuck so many radians from its place


def arm(seed: int) -> gym.Env:
    """The healthy arm, with the first target that it reaches with a bent elbow too."""
    for target_seed in itertools.count(1000 * seed):
        env = gym.make("emuq/Jaco-v0", target_seed=target_seed, render_mode="rgb_array")
        env.unwrapped.jam(BLOW)
        if env.unwrapped.reachable():
            break
    env.unwrapped.jam()
    return env


def film(agent: emuq.EMUQ, env: gym.Env, count: int = 5) -> list[np.ndarray]:
    """`count` frames of one episode that only exploits."""
    observation, _ = env.reset(seed=12345)
    frames, over = [env.render()], False
    while not over:
        action, _ = agent.predict(observation, kappa=0.0)
        observation, _, terminated, truncated, _ = env.step(action)
        frames.append(env.render())
        over = terminated or truncated
    return [frames[i] for i in np.linspace(0, len(frames) - 1, count).round().astype(int)]


def draw(path: str, history: list, healthy: int, strips: dict[str, list[np.ndarray]]) -> None:
    from matplotlib.figure import Figure

    goals = np.array([episode.goal for episode in history], float)
    share = np.convolve(goals, np.ones(WINDOW))[: len(goals)] / np.minimum(np.arange(len(goals)) + 1, WINDOW)
    figure = Figure(figsize=(9, 2.2 + 1.9 * len(strips)), layout="constrained")
    rows = figure.subfigures(1 + len(strips), 1, height_ratios=[2.2] + [1.9] * len(strips))
    axes = rows[0].subplots()
    x = np.arange(1, len(goals) + 1)
    axes.plot(x, share, label=f"share of the last {WINDOW} episodes solved")
    axes.step(x, [episode.kappa for episode in history], where="mid", linestyle="--", label="kappa")
    axes.axvline(healthy + 0.5, color="C3", linestyle=":", label="the blow")
    axes.set(xlabel="episode", ylim=(-0.03, 1.08), xlim=(1, len(goals)))
    rows[0].legend(loc="outside upper center", ncols=3, fontsize=8)
    for row, (title, frames) in zip(rows[1:], strips.items(), strict=True):
        row.suptitle(title, fontsize=9)
        for cell, frame in zip(row.subplots(1, len(frames)), frames, strict=True):
            cell.imshow(frame)
            cell.axis("off")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=100, help="on some, the old policy still reaches")
    parser.add_argument("--healthy", type=int, default=40, help="episodes before the damage")
    parser.add_argument("--damaged", type=int, default=80, help="episodes after it")
    parser.add_argument("--out", default="jaco", help="the picture's name, without .png")
    args = parser.parse_args()

    env = arm(args.seed)
    agent = emuq.EMUQ(env, seed=args.seed)

    # Train: kappa = 1 until the target is reached, then 0.
    agent.learn(episodes=args.healthy, progress=False)
    strips = {"before the blow": film(agent, env)}
    report("healthy arm", agent.history[-WINDOW:])

    # Break: the elbow bends and jams, and the agent is not told.
    env.unwrapped.jam(BLOW)
    report("bent elbow, nothing learned yet", agent.evaluate(episodes=5))
    strips["the same policy, the elbow bent"] = film(agent, env)

    # Recover: kappa up, and down again at the goal.
    agent.kappa = UntilGoal()
    agent.learn(episodes=args.damaged, progress=False)
    report("bent elbow, after learning again", agent.history[-WINDOW:])
    strips["after learning again"] = film(agent, env)

    draw(f"{args.out}.png", list(agent.history), args.healthy, strips)
    env.close()


def report(when: str, history) -> None:
    solved = sum(episode.goal for episode in history)
    print(f"{when}: {solved} of {len(history)} episodes solved", flush=True)


if __name__ == "__main__":
    main()
