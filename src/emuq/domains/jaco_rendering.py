"""Pictures of the Jaco arm, drawn off screen by MuJoCo with EGL or OSMesa."""

from __future__ import annotations

from typing import Any

import numpy as np

from emuq.domains import jaco_model as arm
from emuq.domains.opengl import no_opengl


class Renderer:
    """`renderer(data)` is a picture, height x width x 3 bytes, from a camera that sees the whole reach."""

    def __init__(self, model: Any, width: int, height: int) -> None:
        mujoco = arm.simulator()
        try:
            self._renderer = mujoco.Renderer(model, height, width)
        except Exception as error:  # of any kind, by platform
            raise no_opengl(error) from error
        self._camera = mujoco.MjvCamera()
        self._camera.lookat[:] = (0.0, 0.0, 0.46)
        self._camera.distance, self._camera.azimuth, self._camera.elevation = 2.0, 140, -16

    def __call__(self, data: Any) -> np.ndarray:
        self._renderer.update_scene(data, self._camera)
        return self._renderer.render()

    def close(self) -> None:
        self._renderer.close()
