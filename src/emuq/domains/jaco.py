"""Jaco: a damaged arm brings its fingertips to a target by torques on the joints that still work.

Goal: fingertips within `tolerance` of the target at the end of a control step of 0.15 s, which is 30
substeps of MuJoCo. An episode of 50 steps lasts 7.5 s.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from emuq.domains import jaco_model as arm
from emuq.domains.actions import check_box
from emuq.domains.base import REWARDS, choice
from emuq.domains.jaco_targets import Reach
from emuq.errors import InputError

SUBSTEPS = 30
TOLERANCE = 0.15  # metres: a uniform random policy reaches the target in 3% of episodes
TARGETS = ("run", "episode")
START = 0.01  # radians about home within which an episode's joints start
PICTURE = (480, 480)


class Jaco(gym.Env):
    """The arm without its `locked` joints, which stay at home and have no part in observation and action.

    Observes angles (rad) and velocities (rad/s) of the working joints, and with target="episode" the
    target (m). An action in [-1, 1] is the share of a joint's peak torque. target="run" draws one target
    from `target_seed` for all episodes, "episode" one at each reset; (x, y, z) sets it. Every target can be
    reached by the working joints. reward="classic" is minus the distance to the target, in metres.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 7}  # noqa: RUF012 (Gymnasium's convention)

    def __init__(
        self,
        render_mode: str | None = None,
        reward: str = "goal",
        locked: Iterable[int] = (3, 4, 5, 6),
        target: str | Sequence[float] = "run",
        target_seed: int = 0,
        tolerance: float = TOLERANCE,
    ) -> None:
        self.reward = choice("reward", reward, REWARDS)
        self.render_mode = choice("render_mode", render_mode, (None, "rgb_array"))
        if not 0 < tolerance < 1:
            raise InputError(f"tolerance is {tolerance!r}: expected metres between 0 and 1")
        self.tolerance = float(tolerance)
        self.locked = _joints("locked", locked)
        self.working = tuple(joint for joint in arm.JOINTS if joint not in self.locked)
        if not self.working:
            raise InputError("locked is all six joints: expected one at least to work")
        self.jammed: dict[int, float] = {}
        self._mujoco = arm.simulator()
        self._assemble()
        self._reach = Reach(self.model, self.working, self.tolerance)
        self._target_of = target if isinstance(target, str) else "given"
        choice("target", self._target_of, (*TARGETS, "given"))
        self.target = np.zeros(3)
        if self._target_of == "given":
            self.target = self._reach.checked(target)
        elif self._target_of == "run":
            self.target = self._reach.draw(np.random.default_rng(_seed(target_seed)))
        self._spaces()

    def jam(self, joints: Iterable[int] | Mapping[int, float] = ()) -> None:
        """From the next reset on, these joints are stuck at home or an angle (rad) off it; none: repaired.

        Working joints keep their places in observation and action, so that an agent may go on learning:
        their angles stand still and their torques do nothing. A locked joint may be stuck elsewhere.
        """
        jammed = _joints("joints", joints)
        angles = {joint: float(joints[joint]) if isinstance(joints, Mapping) else 0.0 for joint in jammed}
        for joint, angle in angles.items():
            if not abs(angle) <= arm.SPAN:
                raise InputError(
                    f"joint {joint} is to be stuck at {angle}: expected up to {arm.SPAN:.3f} rad"
                )
            if joint not in self.working and angle == 0:
                raise InputError(
                    f"joint {joint} is locked already: expected some of {self.working}, or an angle"
                )
        self.jammed = angles
        self._assemble()
        self._stand_still()

    def reachable(self) -> bool:
        """Whether the joints that move now can bring the fingertips to the target."""
        return Reach(self.model, self._moving + 1, self.tolerance).gap(self.target) < self.tolerance

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        if self._target_of == "episode":
            self.target = self._reach.draw(self.np_random)
        self.model.site_pos[self._balls] = self.target
        self._mujoco.mj_resetData(self.model, self.data)
        start = arm.HOME[self._moving] + self.np_random.uniform(-START, START, len(self._moving))
        self.data.qpos[:] = start
        self._mujoco.mj_forward(self.model, self.data)
        self._distance = math.dist(self._tip, self.target)
        return self._observe(), {"distance": self._distance}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        if self._distance is None:
            raise InputError("step was called before reset: call reset first")
        action = check_box(action, self._low, self._high)
        self.data.ctrl[:] = (self._torque * action)[self._slots]
        self._mujoco.mj_step(self.model, self.data, SUBSTEPS)
        # Positions of sites belong to the state before the last substep: bring them up to date.
        self._mujoco.mj_kinematics(self.model, self.data)
        self._distance = math.dist(self._tip, self.target)
        goal = self._distance < self.tolerance
        reward = float(goal) if self.reward == "goal" else -self._distance
        return self._observe(), reward, goal, False, {"is_success": goal, "distance": self._distance}

    def render(self) -> np.ndarray | None:
        if self.render_mode is None:
            return None
        if self._renderer is None:
            from emuq.domains.jaco_rendering import Renderer

            self._renderer = Renderer(self.model, *PICTURE)
        return self._renderer(self.data)

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    # ------------------------------------------------------------------------------------------------

    def _assemble(self) -> None:
        """The model of what moves now."""
        moving = [joint for joint in self.working if joint not in self.jammed]
        self.model = arm.build(moving, self.tolerance, self.jammed)
        self.data = self._mujoco.MjData(self.model)
        self._moving = np.array(moving, int) - 1
        self._slots = np.array([self.working.index(joint) for joint in moving], int)
        self._balls = [self.model.site(name).id for name in ("target", "halo")]
        self._tip = self.data.site_xpos[self.model.site(arm.TIP).id]  # a view: always the newest
        self._renderer: Any = None
        self._distance: float | None = None

    def _spaces(self) -> None:
        index = np.array(self.working) - 1
        speed = arm.SPEED[index]
        low, high = arm.SPANS[index].T
        # A blow may pass the limit of speed. Agents scale with the same bounds: a velocity settles within
        # a step or two, and says little that is worth resolving.
        fast = 4 * speed
        scale = [np.r_[low, -fast], np.r_[high, fast]]
        # A stop gives way a little.
        space = [np.r_[low - 0.1, -fast], np.r_[high + 0.1, fast]]
        if self._target_of == "episode":
            box = self._reach.box
            scale, space = ([np.r_[ends, edge] for ends, edge in zip(s, box, strict=True)]
                            for s in (scale, space))  # fmt: skip
        self.normalisation = (scale[0], scale[1])
        self._bottom, self._top = space
        self.observation_space = gym.spaces.Box(*space, dtype=np.float64)
        self._torque = arm.TORQUE[index]
        self._low, self._high = -np.ones(len(index)), np.ones(len(index))
        self.action_space = gym.spaces.Box(self._low, self._high, dtype=np.float64)
        self._stand_still()

    def _stand_still(self) -> None:
        """What is observed of an arm that does not move: the moving joints are filled in at each step."""
        angles = [arm.HOME[joint - 1] + self.jammed.get(joint, 0.0) for joint in self.working]
        target = self.target if self._target_of == "episode" else ()
        self._observation = np.r_[angles, np.zeros(len(angles)), target]

    def _observe(self) -> np.ndarray:
        out, number = self._observation.copy(), len(self.working)
        out[self._slots] = self.data.qpos
        out[self._slots + number] = self.data.qvel
        if self._target_of == "episode":
            out[2 * number :] = self.target
        return np.minimum(np.maximum(out, self._bottom), self._top)


def _joints(what: str, joints: Iterable[int]) -> tuple[int, ...]:
    """The numbers of joints in order, each once, or an error."""
    try:
        numbers = tuple(sorted({int(joint) for joint in joints}))
    except (TypeError, ValueError):
        raise InputError(f"{what} is {joints!r}: expected numbers of joints, from 1 to 6") from None
    for number in numbers:
        if number not in arm.JOINTS:
            raise InputError(f"{what} has {number}: expected numbers of joints, from 1 to 6")
    return numbers


def _seed(seed: int) -> int:
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"target_seed is {seed!r}: expected a whole number from 0")
    return int(seed)
