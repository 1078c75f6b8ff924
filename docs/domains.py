"""Makes what `docs/domains.md` shows: the pictures, and how often a uniform random policy finds the goal.

    python docs/domains.py             the table, into domains.md between its marks (some minutes)
    python docs/domains.py --deep-sea  EMU-Q on DeepSea, likewise (some minutes)
    python docs/domains.py --pictures  the pictures, into images/domains/

For each of 100 seeds a policy that draws every action uniformly plays until it finds the goal, at most 100
episodes, as in the paper's table 3.
"""

from __future__ import annotations

import argparse
import os
import pathlib

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

import emuq
from emuq import domains
from emuq.domains.catalogue import ENTRIES
from emuq.precision import double

HERE = pathlib.Path(__file__).parent
BEGIN, END = "<!-- random policy: begin -->", "<!-- random policy: end -->"
EPISODES = 100
SEA = "<!-- deep sea: begin -->", "<!-- deep sea: end -->"
SIZES, SEA_SEEDS = (10, 20, 30, 50), range(20)
BAD = 0.8  # bsuite's: a size is learned once fewer than so many of all episodes missed the goal
# A row of the table for each of these options.
VARIANTS = {
    "SinglePendulum": ({}, {"start": "hanging"}),
    "Chain": ({}, {"length": 20}, {"length": 50}),
}


def compiled_runs(name: str, options: dict, seeds: int) -> np.ndarray:
    """(episode, steps) of the first goal for each seed, episode 0 where there is none; all seeds at once."""
    domain = domains.make(name, **options)

    def action(key):
        if domain.num_actions is None:
            return jax.random.uniform(key, (len(domain.action_low or ()),), minval=-1.0, maxval=1.0)
        return jax.random.randint(key, (), 0, domain.num_actions)

    def run(key):
        def body(carry, key):
            state, episode, t, total, found = carry
            act_key, step_key, reset_key = jax.random.split(key, 3)
            result = domain.step(state, action(act_key), step_key)
            over = result.terminated | (t + 1 >= domain.horizon)
            start = domain.reset(reset_key)
            state = jax.tree.map(lambda new, old: jnp.where(over, new, old), start, result.state)
            playing = (found == 0) & (episode <= EPISODES)
            found = jnp.where(playing & result.goal, episode, found)
            return (state, episode + over, jnp.where(over, 0, t + 1), total + playing, found), None

        first, rest = jax.random.split(key)
        carry = (domain.reset(first), jnp.array(1), jnp.array(0), jnp.array(0), jnp.array(0))
        (*_, total, found), _ = jax.lax.scan(body, carry, jax.random.split(rest, EPISODES * domain.horizon))
        return jnp.stack([found, total])

    with double():
        return np.asarray(jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(0), seeds)))


def simulated_runs(name: str, options: dict, seeds: int) -> np.ndarray:
    """The same through Gymnasium, one seed after another."""
    env = gym.make(f"emuq/{name}-v0", **options)
    rows = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        found = total = 0
        for episode in range(1, EPISODES + 1):
            env.reset(seed=int(rng.integers(2**31)))
            over = False
            while not over:
                _, _, terminated, truncated, info = env.step(rng.uniform(-1.0, 1.0, env.action_space.shape))
                total += 1
                over = terminated or truncated
            if info["is_success"]:
                found = episode
                break
        rows.append((found, total))
    return np.array(rows)


def row(name: str, options: dict, seeds: int) -> str:
    runs = compiled_runs if name in domains.PURE else simulated_runs
    found, total = runs(name, options, seeds).T
    hit = found > 0
    label = name + "".join(f", {key}={value!r}" for key, value in options.items())
    episodes = f"{np.median(found[hit]):.0f}" if hit.any() else "-"
    steps = f"{np.median(total[hit]):.0f}" if hit.any() else "-"
    return f"| {label} | {(found == 1).mean():.0%} | {hit.mean():.0%} | {episodes} | {steps} |"


def table(seeds: int) -> None:
    lines = [
        f"| domain ({seeds} seeds) | goal in the first episode | goal within {EPISODES} episodes "
        "| episodes to goal | steps to goal |",
        "| --- | --- | --- | --- | --- |",
    ]
    for entry in ENTRIES:
        for options in VARIANTS.get(entry.name, ({},)):
            lines.append(row(entry.name, options, seeds))
            print(lines[-1], flush=True)
    write(lines, BEGIN, END)


def write(lines: list[str], begin: str, end: str) -> None:
    """These lines between their marks in the page."""
    page = HERE / "domains.md"
    text = page.read_text()
    before, after = text.split(begin)[0], text.split(end)[1]
    page.write_text(before + begin + "\n" + "\n".join(lines) + "\n" + end + after)


def dive(size: int, seed: int) -> tuple[int | None, int | None]:
    """EMU-Q's first episode with the goal, and the first after which fewer than `BAD` of all missed it."""
    env = gym.make("emuq/DeepSea-v0", size=size, meaning=seed)
    agent, most = emuq.EMUQ(env, seed=seed), size * size
    agent.learn(episodes=most, until="goal", progress=False)
    first = agent.history.first_goal
    if first is not None:
        agent.learn(episodes=first, progress=False)  # a goal in a quarter of these would be enough
    missed = np.cumsum([not row.goal for row in agent.history]) / np.arange(1, len(agent.history) + 1)
    learned = np.flatnonzero(missed < BAD)
    return first, int(learned[0]) + 1 if len(learned) else None


def deep_sea() -> None:
    lines = [
        "| size | found within size² episodes | first goal: mean (range) | learned: mean (range) |",
        "| --- | --- | --- | --- |",
    ]
    logs = []
    for size in SIZES:
        runs = [dive(size, seed) for seed in SEA_SEEDS]
        firsts, learned = ([one for one in column if one is not None] for column in zip(*runs, strict=True))
        cells = (f"{np.mean(each):.1f} ({min(each)} to {max(each)})" for each in (firsts, learned))
        lines.append(f"| {size} | {len(firsts)} of {len(runs)} | {' | '.join(cells)} |")
        logs += [(np.log(size), np.log(first)) for first in firsts]
        print(lines[-1], flush=True)
    slope = np.polyfit(*np.array(logs).T, 1)[0]
    draws = np.random.default_rng(0).integers(len(logs), size=(1000, len(logs)))
    slopes = [np.polyfit(*np.array(logs)[draw].T, 1)[0] for draw in draws]
    low, high = np.percentile(slopes, (2.5, 97.5))
    lines += ["", f"The first goal comes after about size^{slope:.2f} episodes [{low:.2f}, {high:.2f}]."]
    print(lines[-1])
    write(lines, *SEA)


def pictures() -> None:
    from PIL import Image

    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("MUJOCO_GL", "egl")
    folder = HERE / "images" / "domains"
    folder.mkdir(parents=True, exist_ok=True)
    steps = {"LunarLander": 45, "SinglePendulum": 20, "DoublePendulum": 30, "CartpoleSwingUp": 40, "Furuta": 30}
    for entry in ENTRIES:
        env = gym.make(entry.id, render_mode="rgb_array")
        env.reset(seed=3)
        env.action_space.seed(1)
        for _ in range(steps.get(entry.name, 8)):
            env.step(env.action_space.sample())
        image = Image.fromarray(env.render())
        image.thumbnail((480, 360))
        image.quantize(64).save(folder / f"{entry.name}.png", optimize=True)
        env.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--pictures", action="store_true")
    parser.add_argument("--deep-sea", action="store_true")
    args = parser.parse_args()
    if args.pictures:
        pictures()
    elif args.deep_sea:
        deep_sea()
    else:
        table(args.seeds)
