"""Ten environments that the project does not contain, of Gymnasium and Gymnasium-Robotics, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from emuq.errors import MissingExtra

if TYPE_CHECKING:
    import gymnasium as gym


class Task(NamedTuple):
    """`steps` to learn from, and what counts as solved.

    Where there is a `threshold`, Gymnasium's own, the environment is as it is, and its tests' mean return has
    to be there. Else it is goal-only: a number of the step's `info` called `goal` is at `least`. A step that
    ends the episode without that is a failure where `fails` is set. `tests` episodes are played: 100, as
    Gymnasium's thresholds mean it, where a test's return is 0 or 1 by chance.
    """

    steps: int
    threshold: float | None = None
    goal: str = ""
    least: float = 0.0
    fails: bool = False
    tests: int = 10


# What chance reaches in ten episodes: a speed of 2.4 with HalfCheetah, 2.0 with Swimmer, 0.4 with Walker2d,
# and -0.19 with Pusher.
# The best policy that there is succeeds in 0.744 of FrozenLake's episodes, and in 0.913 of the larger one's.
# In 10 tests it would be at the threshold with probability 0.76 and 0.79, in 100 with 0.87 and 0.99.
TASKS = {
    "FrozenLake-v1": Task(20000, 0.70, tests=100),
    "FrozenLake8x8-v1": Task(40000, 0.85, tests=100),
    "InvertedPendulum-v5": Task(5000, 950.0),
    "InvertedDoublePendulum-v5": Task(10000, 9100.0),
    "PointMaze_UMaze-v3": Task(5000, goal="success", least=1.0),
    "PointMaze_Medium-v3": Task(10000, goal="success", least=1.0),
    "HalfCheetah-v5": Task(5000, goal="x_velocity", least=3.0),
    "Swimmer-v5": Task(5000, goal="x_velocity", least=2.5),
    "Walker2d-v5": Task(5000, goal="x_velocity", least=1.5, fails=True),
    "Pusher-v5": Task(5000, goal="reward_dist", least=-0.15),
}


def make(name: str) -> gym.Env:
    """The environment of a task, as it is or goal-only."""
    import gymnasium as gym

    import emuq

    task = TASKS[name]
    if name.startswith("PointMaze"):
        _register_robotics()
    env = gym.make(name)
    if task.threshold is not None:
        return env

    def reached(observation: Any, reward: float, info: dict) -> bool:
        return info[task.goal] >= task.least

    return emuq.GoalOnly(env, goal=reached, failure="termination" if task.fails else None)


def _register_robotics() -> None:
    import gymnasium as gym

    try:
        import gymnasium_robotics  # pyright: ignore[reportMissingImports] (nobody else needs it)
    except ImportError:
        raise MissingExtra("gymnasium_robotics", "", "pip install gymnasium-robotics") from None
    gym.register_envs(gymnasium_robotics)
