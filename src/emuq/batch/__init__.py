"""Many runs of the default agent as one program: seeds, or settings, side by side.

    runs = emuq.batch.run("MountainCar", seeds=range(1000), episodes=100, until="goal")
    runs.goal_episode.mean()

A run is the one that `emuq.EMUQ(env, seed=...)` makes with `learn`, up to rounding.
"""

from emuq.batch.api import run
from emuq.batch.results import Runs

__all__ = ["Runs", "run"]
