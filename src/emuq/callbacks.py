"""Ready callbacks for `learn(callback=...)`. A callback is any function of an `Event`."""

from __future__ import annotations

import os

from emuq.agents.episodes import Event
from emuq.errors import MissingExtra


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
