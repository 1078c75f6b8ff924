"""Ten environments that the project does not contain, as data.

They are of Gymnasium, Gymnasium-Robotics and dm_control.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from emuq.errors import MissingExtra
from emuq.experiments.suite_tasks import Decisions

if TYPE_CHECKING:
    import gymnasium as gym


class Task(NamedTuple):
    """`steps` to learn from, and what counts as solved.

    Where there is a `threshold`, Gymnasium's own, the environment is as it is, and its tests' mean return has
    to be there. Else it is goal-only: a number of the step's `info` called `goal`, or the reward where it has
    no name, is at `least`. `tests` episodes are played: 1,000 where a test's return is 0 or 1 by chance.
    `made` are the environment's own options.
    """

    steps: int
    threshold: float | None = None
    goal: str = ""
    least: float = 0.0
    tests: int = 10
    made: Mapping[str, Any] = MappingProxyType({})


def _maze(rows: str) -> dict[str, Any]:
    return {"maze_map": [[int(cell) if cell.isdigit() else cell for cell in row] for row in rows.split()]}


# Gymnasium-Robotics' own maps with a start (r) and a goal (g), one at either end. Left to itself, a maze
# draws both anew for each episode, and a goal that was reached says little about the next one.
OPEN = _maze("1111111 1r00001 1000001 10000g1 1111111")
UMAZE = _maze("11111 1r001 11101 1g001 11111")
MEDIUM = _maze("11111111 1r011001 10010001 11000111 10010001 10100101 100010g1 11111111")

# The best policy that there is succeeds in 0.744 of FrozenLake's episodes: in 100 tests it would be at the
# threshold with probability 0.87, in 1,000 with more than 0.99.
# What chance reaches in ten episodes is a speed of 2.0 with Swimmer.
TASKS = {
    "FrozenLake-v1": Task(10000, 0.70, tests=1000),
    "FrozenLake8x8-v1": Task(3000, 0.85, made={"is_slippery": False}),
    "InvertedPendulum-v5": Task(2000, 950.0),
    "InvertedDoublePendulum-v5": Task(3000, 9100.0),
    "PointMaze_Open-v3": Task(2000, goal="success", least=1.0, made=OPEN),
    "PointMaze_UMaze-v3": Task(4000, goal="success", least=1.0, made=UMAZE),
    "PointMaze_Medium-v3": Task(4000, goal="success", least=1.0, made=MEDIUM),
    "Swimmer-v5": Task(3000, goal="x_velocity", least=2.5),
    "acrobot-swingup": Task(3000, least=1.8),
    "ball_in_cup-catch": Task(2000, least=2.0),
}


def make(name: str) -> gym.Env:
    """The environment of a task, as it is or goal-only."""
    import gymnasium as gym

    import emuq

    task = TASKS[name]
    if name.startswith("PointMaze"):
        _register_robotics()
        # Where the goal stays, but for a little chance, a state is where the point is and how fast it moves.
        env = gym.wrappers.FilterObservation(gym.make(name, **task.made), ["observation"])
    else:
        env = gym.make(name, **task.made) if "-v" in name else Decisions(name)
    if task.threshold is not None:
        return env

    def reached(observation: Any, reward: float, info: dict) -> bool:
        return (info[task.goal] if task.goal else reward) >= task.least

    return emuq.GoalOnly(env, goal=reached)


def _register_robotics() -> None:
    import gymnasium as gym

    try:
        import gymnasium_robotics  # pyright: ignore[reportMissingImports] (nobody else needs it)
    except ImportError:
        raise MissingExtra("gymnasium_robotics", "", "pip install gymnasium-robotics") from None
    gym.register_envs(gymnasium_robotics)
