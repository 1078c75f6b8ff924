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
    ends the episode without that is a failure where `fails` is set. `tests` episodes are played: 1,000 where
    a test's return is 0 or 1 by chance. `maze` is the map of a maze, with its start (r) and its goal (g).
    """

    steps: int
    threshold: float | None = None
    goal: str = ""
    least: float = 0.0
    fails: bool = False
    tests: int = 10
    maze: str = ""


# Gymnasium-Robotics' own maps, from one end to the other: left to itself, it draws start and goal anew for each
# episode, and a goal that was reached says little about the next one.
UMAZE = "11111 1r001 11101 1g001 11111"
OPEN = "1111111 1r00001 1000001 10000g1 1111111"
MEDIUM = "11111111 1r011001 10010001 11000111 10010001 10100101 100010g1 11111111"

# What chance reaches in ten episodes: a speed of 2.4 with HalfCheetah, 2.0 with Swimmer, 0.4 with Walker2d,
# and -0.19 with Pusher.
# The best policy that there is succeeds in 0.744 of FrozenLake's episodes: in 100 tests it would be at the
# threshold with probability 0.87, in 1,000 with more than 0.99.
TASKS = {
    "FrozenLake-v1": Task(20000, 0.70, tests=1000),
    "InvertedPendulum-v5": Task(5000, 950.0),
    "InvertedDoublePendulum-v5": Task(10000, 9100.0),
    "PointMaze_UMaze-v3": Task(5000, goal="success", least=1.0, maze=UMAZE),
    "PointMaze_Open-v3": Task(5000, goal="success", least=1.0, maze=OPEN),
    "PointMaze_Medium-v3": Task(10000, goal="success", least=1.0, maze=MEDIUM),
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
    cells = [[int(cell) if cell.isdigit() else cell for cell in row] for row in task.maze.split()]
    env = gym.make(name, **({"maze_map": cells} if cells else {}))
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
