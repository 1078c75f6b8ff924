"""Targets that the arm can reach: fingertips of configurations drawn at random, by forward kinematics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from emuq.domains import jaco_model as arm
from emuq.errors import InputError, finite

APART = 0.4  # metres from the fingertips at home, at least
TRIES = 10_000
SAMPLES = 4096  # configurations among which a given target's nearest is sought


class Reach:
    """What the `working` joints of a model reach, from home, without a collision."""

    def __init__(self, model: Any, working: Sequence[int] | np.ndarray, tolerance: float) -> None:
        self._mujoco = arm.simulator()
        self._model, self._data = model, self._mujoco.MjData(model)
        index = np.array(working) - 1
        self._home = arm.HOME[index]
        self._low, self._high = arm.SPANS[index].T
        self._tolerance = tolerance
        self._site = model.site(arm.TIP).id
        self._start = self.tip(self._home)
        # The fingertips lie within 1.1 m of the shoulder, which is 0.28 m above the floor.
        self.box = (np.array([-1.1, -1.1, 0.0]), np.array([1.1, 1.1, 1.4]))

    def tip(self, configuration: np.ndarray) -> np.ndarray:
        """The fingertips' position: forward kinematics."""
        self._data.qpos[:] = configuration
        self._mujoco.mj_kinematics(self._model, self._data)
        return self._data.site_xpos[self._site].copy()

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """A target: the fingertips of a uniform configuration that touches nothing and is apart from home."""
        for _ in range(TRIES):
            configuration = rng.uniform(self._low, self._high)
            tip = self.tip(configuration)
            if tip[2] > 0 and np.linalg.norm(tip - self._start) > APART:
                self._mujoco.mj_forward(self._model, self._data)
                if self._data.ncon == 0:
                    return tip
        raise InputError(
            f"no target lies {APART:g} m from the start: expected working joints that move the hand so far"
        )

    def checked(self, target: Any) -> np.ndarray:
        """A given target, or an error that says how far from it the fingertips stay."""
        try:
            point = np.asarray(target, float)
        except (TypeError, ValueError):
            point = np.empty(0)
        if point.shape != (3,):
            raise InputError(f"target is {target!r}: expected 'run', 'episode' or three numbers, in metres")
        gap = self.gap(finite(point, "target"))
        if gap >= self._tolerance:
            raise InputError(
                f"target is {gap:.2f} m out of reach: expected a point that the working joints reach within "
                f"{self._tolerance:g} m"
            )
        return point

    def gap(self, point: np.ndarray) -> float:
        """The distance that is left when the fingertips come as near as they can."""
        from scipy.optimize import least_squares

        if not len(self._low):
            return float(np.linalg.norm(self._start - point))
        rng = np.random.default_rng(0)
        configurations = rng.uniform(self._low, self._high, (SAMPLES, len(self._low)))
        distances = [np.linalg.norm(self.tip(c) - point) for c in configurations]
        nearest = configurations[int(np.argmin(distances))]
        found = least_squares(lambda c: self.tip(c) - point, nearest, bounds=(self._low, self._high))
        return float(np.sqrt(2 * found.cost))
