"""Makes what `docs/domains.md` shows: the pictures, and how often a uniform random policy finds the goal.

    python docs/domains.py             the table, into domains.md between its marks (some minutes)
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

from emuq import domains
from emuq.domains.catalogue import ENTRIES
from emuq.precision import double

HERE = pathlib.Path(__file__).parent
BEGIN, END = "<!-- random policy: begin -->", "<!-- random policy: end -->"
EPISODES = 100
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
    page = HERE / "domains.md"
    text = page.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    page.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + after)


def pictures() -> None:
    from PIL import Image

    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("MUJOCO_GL", "egl")
    folder = HERE / "images" / "domains"
    folder.mkdir(parents=True, exist_ok=True)
    steps = {"LunarLander": 45, "SinglePendulum": 20, "DoublePendulum": 30, "CartpoleSwingUp": 40}
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
    args = parser.parse_args()
    if args.pictures:
        pictures()
    else:
        table(args.seeds)
