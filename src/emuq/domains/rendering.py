"""Pictures of the pure-JAX domains: Gymnasium's own painters, and ours for Chain, DeepSea and Furuta."""

from __future__ import annotations

import importlib
import math
from typing import Any, Protocol

import numpy as np

from emuq.domains.base import Domain
from emuq.errors import MissingExtra


class Renderer(Protocol):
    """`draw` gives pixels (rgb_array), or shows them and gives None (human)."""

    def draw(self, state: Any, action: Any) -> np.ndarray | None: ...

    def close(self) -> None: ...


# The original whose painter shows our state.
ORIGINALS = {
    "SinglePendulum": "classic_control.pendulum:PendulumEnv",
    "MountainCar": "classic_control.continuous_mountain_car:Continuous_MountainCarEnv",
    "DoublePendulum": "classic_control.acrobot:AcrobotEnv",
    "CartpoleSwingUp": "classic_control.cartpole:CartPoleEnv",
    "CliffWalking": "toy_text.cliffwalking:CliffWalkingEnv",
    "Taxi": "toy_text.taxi:TaxiEnv",
}


def renderer(domain: Domain, mode: str) -> Renderer:
    """The painter of a domain; pygame is needed from here on."""
    try:
        import pygame  # noqa: F401
    except ImportError as error:
        raise MissingExtra("pygame", "render") from error
    if domain.name in ("Chain", "DeepSea"):
        return ChainPainter(domain, mode)
    if domain.name == "Furuta":
        return FurutaPainter(mode)
    return OriginalPainter(domain, mode)


class OriginalPainter:
    """Puts our state into Gymnasium's original and lets it draw."""

    def __init__(self, domain: Domain, mode: str) -> None:
        module, name = ORIGINALS[domain.name].split(":")
        self._original = getattr(importlib.import_module(f"gymnasium.envs.{module}"), name)(render_mode=mode)
        if domain.name == "CartpoleSwingUp":
            self._original.x_threshold = 3.0  # A wider view, in which a hanging pole is not cut off.
        self._tabular = domain.num_states is not None
        self._torque = 2.0 if domain.name == "SinglePendulum" else 1.0

    def draw(self, state: Any, action: Any) -> np.ndarray | None:
        if self._tabular:
            self._original.s = int(state)
            self._original.lastaction = None if action is None else int(action)
        else:
            self._original.state = np.array([float(number) for number in state])
            self._original.last_u = None if action is None else self._torque * float(action[0])
        return self._original.render()

    def close(self) -> None:
        self._original.close()


class Painter:
    """What our own painters share: pixels of a surface, or a window with it."""

    FPS = 8
    PAPER, INK, AGENT, GOAL = (255, 255, 255), (60, 60, 60), (40, 90, 180), (60, 160, 80)

    def __init__(self, mode: str, size: tuple[int, int]) -> None:
        self._mode, self._size = mode, size
        self._window: Any = None

    def paint(self, surface: Any, state: Any) -> None:
        """The state on a surface that is blank."""
        raise NotImplementedError

    def draw(self, state: Any, action: Any) -> np.ndarray | None:
        import pygame

        surface = pygame.Surface(self._size)
        surface.fill(self.PAPER)
        self.paint(surface, state)
        if self._mode == "rgb_array":
            return np.transpose(pygame.surfarray.array3d(surface), (1, 0, 2))
        if self._window is None:
            pygame.display.init()
            self._window = pygame.display.set_mode(self._size)
            self._clock = pygame.time.Clock()
        self._window.blit(surface, (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(self.FPS)
        return None

    def close(self) -> None:
        if self._window is not None:
            import pygame

            pygame.display.quit()
            self._window = None


class ChainPainter(Painter):
    """The states as circles in a row, in lines of 20 or in a square; the agent filled, the goal green."""

    CELL, MARGIN = 48, 16

    def __init__(self, domain: Domain, mode: str) -> None:
        square = domain.name == "DeepSea"
        one_hot = len(domain.observation_high) if square else 0
        self._length = domain.num_states or one_hot or int(domain.observation_high[0]) + 1
        self._per_line = math.isqrt(self._length) if square else 20
        lines = -(-self._length // self._per_line)
        columns = min(self._length, self._per_line)
        super().__init__(mode, (columns * self.CELL + 2 * self.MARGIN, lines * self.CELL + 2 * self.MARGIN))

    def paint(self, surface: Any, state: Any) -> None:
        import pygame

        pygame.font.init()
        font = pygame.font.Font(None, 22)
        for k in range(self._length):
            line, column = divmod(k, self._per_line)
            x, y = (self.MARGIN + int((i + 0.5) * self.CELL) for i in (column, line))
            if column + 1 < self._per_line and k + 1 < self._length:
                pygame.draw.line(surface, self.INK, (x + 17, y), (x + self.CELL - 17, y), 2)
            here, goal = k == int(state), k == self._length - 1
            colour = self.AGENT if here else self.GOAL if goal else self.INK
            pygame.draw.circle(surface, colour, (x, y), 17, 0 if here or goal else 2)
            label = font.render(str(k + 1), True, self.PAPER if here or goal else self.INK)
            surface.blit(label, label.get_rect(center=(x, y)))


class FurutaPainter(Painter):
    """The arm from above on the left, the pendulum as seen along the arm on the right."""

    SIZE, FPS = 240, 50

    def __init__(self, mode: str) -> None:
        super().__init__(mode, (2 * self.SIZE, self.SIZE))

    def paint(self, surface: Any, state: Any) -> None:
        import pygame

        middle, reach = self.SIZE // 2, 0.4 * self.SIZE
        pygame.draw.line(surface, self.INK, (self.SIZE, 0), (self.SIZE, self.SIZE), 1)
        for left, angle, colour in ((0, state.arm, self.INK), (self.SIZE, state.angle, self.AGENT)):
            centre = (left + middle, middle)
            tip = (left + middle + reach * math.sin(angle), middle - reach * math.cos(angle))
            pygame.draw.line(surface, colour, centre, tip, 8)
            pygame.draw.circle(surface, self.INK, centre, 8)
