"""Ready callbacks for `learn(callback=...)`. A callback is any function of an `Event`."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import gymnasium as gym

from emuq.agents.episodes import Event
from emuq.agents.summary import Insightful
from emuq.errors import InputError, MissingExtra, quoted
from emuq.history import Episode
from emuq.kappa.protocol import check_whole
from emuq.progress import FIRST_REMARK


def numbers_of(episode: Episode) -> dict[str, float]:
    """An episode's numbers by the names under which they are logged."""
    return {
        "episode/return": float(episode.total_return),
        "episode/length": float(episode.length),
        "episode/goal": float(episode.goal),
        "episode/kappa": float(episode.kappa),
    }


def numbers_at(event: Event) -> dict[str, float]:
    """What is logged at the end of an episode; after 5, 10, 20, 40, ... of them also how the agent is doing.

    That is `agent.insight()`, whose cost grows with the data.
    """
    assert event.episode is not None
    found, times = numbers_of(event.episode), len(event.agent.history) / FIRST_REMARK
    if not isinstance(event.agent, Insightful) or times < 1 or not math.log2(times).is_integer():
        return found
    insight = event.agent.insight()
    if insight is None:
        return found
    known = {"explore/left": insight.left, "explore/novelty": insight.novelty}
    if insight.error is not None:
        known |= {"model/error": insight.error, "model/ahead": float(insight.ahead)}
    return found | known


class Metrics:
    """Hands each episode's return, length, goal and kappa to a logger: W&B's, MLflow's, or your own.

    After 5, 10, 20, 40, ... episodes of an agent that has `insight`, also what it has left to explore, how
    new its latest steps were, what its model of the dynamics misses, and how many steps it looks ahead.

    Weights & Biases and MLflow each have a function that takes a dict of numbers and a step: `run.log` of a
    run that `wandb.init` made, and `mlflow.log_metrics`. emuq needs neither to be installed.

    Args:
        log: Called as `log(numbers, step=steps)` after every episode.

    Examples:
        >>> def log(numbers, step): print(sorted(numbers))
        >>> history = agent.learn(episodes=1, callback=emuq.callbacks.Metrics(log), progress=False)
        ['episode/goal', 'episode/kappa', 'episode/length', 'episode/return']
    """

    def __init__(self, log: Callable[..., Any]) -> None:
        if not callable(log):
            raise InputError(
                f"log is {quoted(log)}: expected a function of numbers and step, such as run.log of W&B or "
                "mlflow.log_metrics"
            )
        self._log = log

    def __call__(self, event: Event) -> None:
        if event.kind == "episode" and event.episode is not None:
            self._log(numbers_at(event), step=event.episode.steps)


class TensorBoard:
    """Writes what `Metrics` logs as TensorBoard event files: return, length, goal, kappa; now and then more.

    Args:
        directory: The folder of this run; `tensorboard --logdir` takes it, or the folder above it.

    Raises:
        MissingExtra: If tensorboardX is not installed.

    Examples:
        >>> with emuq.callbacks.TensorBoard("runs/chain") as board:
        ...     history = agent.learn(episodes=2, callback=board, progress=False)
    """

    def __init__(self, directory: str | os.PathLike) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise MissingExtra("tensorboardX", "tensorboard") from None
        self._writer = SummaryWriter(os.fspath(directory))

    def __call__(self, event: Event) -> None:
        if event.kind == "episode" and event.episode is not None:
            for name, value in numbers_at(event).items():
                self._writer.add_scalar(name, value, event.episode.steps)
            self._writer.flush()  # an interrupted run has all of its whole episodes

    def close(self) -> None:
        """End the files. `with` does it by itself."""
        self._writer.close()

    def __enter__(self) -> TensorBoard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class KeepBest:
    """Saves the agent whenever it is better than it ever was: by the mean return of its last episodes.

    With `tests`, by the mean return of so many episodes that only exploit and that are not learned from, run
    after every episode: this costs steps of the environment and tells more, since an agent that explores is
    worse than what it has learned. The test episodes are the same ones every time.

    Args:
        path: The file to save to.
        last: How many of the last episodes are averaged.
        tests: How many test episodes are averaged instead, if any.
        env: The environment of the tests; the agent's own by default.

    Attributes:
        best: The mean return of what is in the file.

    Examples:
        >>> best = emuq.callbacks.KeepBest("best.emuq", tests=2)
        >>> history = agent.learn(episodes=3, callback=best, progress=False)
        >>> best.best
        1.0
        >>> agent = emuq.ExplorationValues.load("best.emuq", agent.env)
    """

    def __init__(
        self, path: str | os.PathLike, *, last: int = 10, tests: int = 0, env: gym.Env | None = None
    ) -> None:
        check_whole("last", last, 1)
        check_whole("tests", tests, 0)
        self.path, self.best = os.fspath(path), -math.inf  # the mean return of what is in the file
        self._last, self._tests, self._env = int(last), int(tests), env

    def __call__(self, event: Event) -> None:
        if event.kind != "episode":
            return
        agent = event.agent
        recent = agent.evaluate(self._tests, env=self._env) if self._tests else agent.history[-self._last :]
        if not self._tests and len(recent) < self._last:
            return
        mean = sum(episode.total_return for episode in recent) / len(recent)
        if mean > self.best:
            agent.save(self.path)
            self.best = mean
