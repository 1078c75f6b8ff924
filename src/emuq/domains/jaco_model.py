"""The Jaco arm and hand as a MuJoCo model: dm_control's MJCF with motors, stops, a floor and a target.

Kinova's own numbers: peak torques of 30.5 and 6.8 N m, and speeds that its firmware holds below 36 and
48 degrees a second. Here viscous damping stands for the firmware: a joint under full torque tends to its
limit speed. The arm's weight is compensated, as it is under Kinova's own torque control.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from emuq.domains.opengl import no_opengl
from emuq.errors import MissingExtra

JOINTS = (1, 2, 3, 4, 5, 6)  # base, shoulder, elbow, and three of the wrist
HOME = np.array([0.0, 2.25, 1.6, 0.0, 0.0, 0.0])  # fingertips straight above the base
FINGERS = 0.9  # radians: nearly closed
TORQUE = np.array([30.5] * 3 + [6.8] * 3)
FRICTION = np.array([2.0] * 3 + [1.0] * 3)  # the MJCF's frictionloss
SPEED = np.deg2rad([36.0] * 3 + [48.0] * 3)
DAMPING = (TORQUE - FRICTION) / SPEED
# The MJCF's stops: of shoulder and elbow alone, the others turn on.
RANGE = np.full((6, 2), (-np.inf, np.inf))
RANGE[1:3] = (0.820305, 5.462881), (0.331613, 5.951573)
# Stops of a working joint: 60 degrees about home, both ways, and within those of the MJCF.
SPAN = math.pi / 3
SPANS = np.clip(HOME[:, None] + (-SPAN, SPAN), RANGE[:, :1], RANGE[:, 1:])
TIMESTEP = 0.005
TIP = "hand/pinchsite"  # where the fingertips meet


def simulator() -> Any:
    """MuJoCo itself, or the error that says what it lacks. It loads OpenGL as soon as it is imported."""
    if importlib.util.find_spec("mujoco") is None:
        raise MissingExtra("mujoco", "mujoco")
    try:
        import mujoco
    except Exception as error:  # of any kind, by platform
        raise no_opengl(error) from error
    return mujoco


def assets() -> Path:
    """The folder of the arm's MJCF. dm_control is found, not imported: that would take seconds."""
    found = importlib.util.find_spec("dm_control")
    if found is None or not found.submodule_search_locations:
        # The extra leaves it out from Python 3.13 on, for want of a wheel of what dm_control asks for.
        how = "pip install --no-deps dm_control" if sys.version_info >= (3, 13) else None
        raise MissingExtra("dm_control", "mujoco", how)
    return Path(found.submodule_search_locations[0]) / "third_party" / "kinova"


def build(moving: Collection[int], tolerance: float, stuck: Mapping[int, float] | None = None) -> Any:
    """The arm with motors on the `moving` joints and the others welded at home, or `stuck` so far from it."""
    mujoco = simulator()
    folder = assets()
    spec, hand = (mujoco.MjSpec.from_file(str(folder / f"jaco_{part}.xml")) for part in ("arm", "hand"))
    spec.attach(hand, site=spec.site("wristsite"), prefix="hand/")
    for joint in spec.joints:
        number = int(joint.name[-1])
        if joint.name.startswith("hand/") or number not in moving:
            home = HOME[number - 1] + (stuck or {}).get(number, 0.0)
            angle = FINGERS if joint.name.startswith("hand/") else home
            _turn(mujoco, joint.parent, angle)
            spec.delete(joint)
        else:
            torque = TORQUE[number - 1]
            joint.limited, joint.range = True, SPANS[number - 1]
            motor = spec.add_actuator(name=joint.name, target=joint.name)
            motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
            motor.ctrllimited, motor.ctrlrange = True, (-torque, torque)
    for body in spec.bodies[1:]:
        body.gravcomp = 1.0
        if body.parent.name != "world":
            # MuJoCo lets neighbours overlap, but not those of a link that is welded to the world.
            spec.add_exclude(bodyname1=body.parent.name, bodyname2=body.name)
    spec.option.timestep = TIMESTEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    _scene(mujoco, spec, tolerance)
    model = spec.compile()
    # Set in the compiled model: releases of MuJoCo differ in the type of a joint's damping in a spec.
    model.dof_damping[:] = [DAMPING[int(model.joint(i).name[-1]) - 1] for i in range(model.njnt)]
    return model


def _turn(mujoco, body, angle: float) -> None:
    """Turn a body about its joint, whose axis is z and passes through its origin."""
    turned = np.empty(4)
    mujoco.mju_mulQuat(turned, body.quat, np.array([math.cos(angle / 2), 0, 0, math.sin(angle / 2)]))
    body.quat = turned


def _scene(mujoco, spec, tolerance: float) -> None:
    """Floor, sky, lights, camera and the target: a ball within a halo of the tolerance."""
    geom, texture = mujoco.mjtGeom, mujoco.mjtTexture
    spec.add_texture(name="sky", type=texture.mjTEXTURE_SKYBOX, width=64, height=384,
                     builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT, rgb1=(0.93, 0.95, 0.97),
                     rgb2=(0.62, 0.70, 0.78))  # fmt: skip
    spec.add_texture(name="tiles", type=texture.mjTEXTURE_2D, width=128, height=128,
                     builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER, rgb1=(0.80, 0.82, 0.84),
                     rgb2=(0.74, 0.76, 0.78))  # fmt: skip
    tiles = spec.add_material(name="tiles", texrepeat=(8, 8))
    tiles.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "tiles"
    world = spec.worldbody
    world.add_geom(name="floor", type=geom.mjGEOM_PLANE, size=(2, 2, 0.1), material="tiles")
    world.add_light(pos=(1.2, -1.2, 2.5), dir=(-0.4, 0.4, -1), diffuse=(0.7, 0.7, 0.7))
    # Not at the origin: MuJoCo would take them for fixed to it, and never look at their positions again.
    world.add_site(name="target", pos=(0, 0, 1), type=geom.mjGEOM_SPHERE, size=(0.3 * tolerance,) * 3,
                   group=0, rgba=(0.85, 0.1, 0.1, 1))  # fmt: skip
    world.add_site(name="halo", pos=(0, 0, 1), type=geom.mjGEOM_SPHERE, size=(tolerance,) * 3, group=0,
                   rgba=(0.85, 0.1, 0.1, 0.25))  # fmt: skip
    spec.visual.headlight.ambient = (0.45, 0.45, 0.45)
    spec.visual.global_.offwidth = spec.visual.global_.offheight = 1024
