"""LunarLander (Box2D), Reacher and Hopper (MuJoCo): Gymnasium's own, made goal-only.

Each takes `reward` and `render_mode`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled

from emuq.domains.wrapped import Wrapped
from emuq.errors import MissingExtra

LANDING_DISTANCE, REACHING_DISTANCE = 0.05, 0.015
JUMP_HEIGHT, FALL_HEIGHT, FALL_ANGLE = 1.3, 0.7, 0.2

LANDER_SCALE = (
    (-1.2, 1.2), (-0.2, 1.6), (-3.3, 2.0), (-2.8, 0.8), (-3.4, 2.5), (-4.0, 9.0), (0.0, 1.0), (0.0, 1.0),
)  # fmt: skip
# Gymnasium's own bounds leave out what a lander that spins or climbs for 500 steps reaches.
LANDER_SPACE = (
    (-2.5, 2.5), (-2.5, 60.0), (-20.0, 20.0), (-20.0, 20.0), (-80.0, 80.0), (-40.0, 40.0),
    (0.0, 1.0), (0.0, 1.0),
)  # fmt: skip
REACHER_SCALE = (
    *((-1.0, 1.0),) * 4, (-0.2, 0.2), (-0.2, 0.2), (-40.0, 40.0), (-40.0, 40.0), (-0.41, 0.41), (-0.41, 0.41),
)  # fmt: skip
# A joint under full torque against its damping tends to 200 rad/s.
REACHER_SPACE = (
    *((-1.0, 1.0),) * 4, (-0.27, 0.27), (-0.27, 0.27), (-210.0, 210.0), (-210.0, 210.0),
    (-0.5, 0.5), (-0.5, 0.5),
)  # fmt: skip
HOPPER_SCALE = (
    (-0.1, 1.3), (-0.25, 0.02), (-0.4, 0.025), (-0.4, 0.03), (-0.32, 0.7), *((-7.0, 7.0),) * 6,
)  # fmt: skip
# Gymnasium clips the velocities to 10; a fall ends the episode a step after it passes 0.2.
HOPPER_SPACE = (
    (-1.0, 4.0), (-math.pi, math.pi), (-math.pi, 1.0), (-math.pi, 1.0), (-1.5, 1.5), *((-10.0, 10.0),) * 6,
)  # fmt: skip


def lunar_lander(render_mode: str | None = None, reward: str = "goal") -> Wrapped:
    """Goal: (x, y) within 0.05 of the pad's centre. Failure: the body touches the ground, or |x| >= 1.

    Coming to rest elsewhere ends an episode only under the classic reward, as in Gymnasium.
    """
    try:
        from gymnasium.envs.box2d.lunar_lander import LunarLander
    except (ImportError, DependencyNotInstalled) as error:
        raise MissingExtra("Box2D", "box2d") from error

    def judge(inner: Any, observation: np.ndarray, info: dict) -> tuple[bool, bool]:
        x, y = float(observation[0]), float(observation[1])
        return math.hypot(x, y) < LANDING_DISTANCE, inner.game_over or abs(x) >= 1.0

    inner = LunarLander(render_mode=render_mode, continuous=True)
    return Wrapped(inner, judge, space=LANDER_SPACE, normalisation=LANDER_SCALE, reward=reward)


def reacher(render_mode: str | None = None, reward: str = "goal") -> Wrapped:
    """Goal: fingertip within 0.015 of the target, which is part of the observation. No failure."""
    try:
        from gymnasium.envs.mujoco.reacher_v5 import ReacherEnv
    except (ImportError, DependencyNotInstalled) as error:
        raise MissingExtra("mujoco", "mujoco") from error

    def judge(inner: Any, observation: np.ndarray, info: dict) -> tuple[bool, bool]:
        return math.hypot(*observation[8:10]) < REACHING_DISTANCE, False

    inner = ReacherEnv(render_mode=render_mode)
    return Wrapped(inner, judge, space=REACHER_SPACE, normalisation=REACHER_SCALE, reward=reward)


def hopper(render_mode: str | None = None, reward: str = "goal") -> Wrapped:
    """Goal: height of the torso > 1.3. Failure: |angle of the torso| > 0.2 or height < 0.7."""
    try:
        from gymnasium.envs.mujoco.hopper_v5 import HopperEnv
    except (ImportError, DependencyNotInstalled) as error:
        raise MissingExtra("mujoco", "mujoco") from error

    def judge(inner: Any, observation: np.ndarray, info: dict) -> tuple[bool, bool]:
        height, angle = observation[:2]
        return height > JUMP_HEIGHT, abs(angle) > FALL_ANGLE or height < FALL_HEIGHT

    inner = HopperEnv(render_mode=render_mode, terminate_when_unhealthy=False)
    return Wrapped(inner, judge, space=HOPPER_SPACE, normalisation=HOPPER_SCALE, reward=reward)
