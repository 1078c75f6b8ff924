"""Ready callbacks for `learn(callback=...)`. A callback is any function of an `Event`."""

from __future__ import annotations

import math
import os

import gymnasium as gym

from emuq.agents.episodes import Event
from emuq.errors import MissingExtra
from emuq.kappa.protocol import check_whole


class TensorBoard:
    """Writes each episode's return, length, goal and kappa as TensorBoard event files.

    with TensorBoard("runs/car") as board: agent.learn(episodes=20, callback=board)
    """

    def __init__(self, directory: str | os.PathLike) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise MissingExtra("tensorboardX", "tensorboard") from None
        self._writer = SummaryWriter(os.fspath(directory))

    def __call__(self, event: Event) -> None:
        if event.kind == "episode" and event.episode is not None:
            episode = event.episode
            for name, value in (
                ("return", episode.total_return),
                ("length", episode.length),
                ("goal", float(episode.goal)),
                ("kappa", episode.kappa),
            ):
                self._writer.add_scalar(f"episode/{name}", value, episode.steps)
            self._writer.flush()  # an interrupted run has all of its whole episodes

    def close(self) -> None:
        self._writer.close()

    def __enter__(self) -> TensorBoard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class KeepBest:
    """Saves the agent whenever it is better than it ever was: by the mean return of its last episodes.

        best = KeepBest("best.emuq")
        agent.learn(episodes=50, callback=best)
        agent = emuq.EMUQ.load("best.emuq", env)

    With `tests`, by the mean return of so many episodes that only exploit and that are not learned from, run
    after every episode: this costs steps of the environment and tells more, since an agent that explores is
    worse than what it has learned. The test episodes are the same ones every time.
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
