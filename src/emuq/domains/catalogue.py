"""Every environment as data: what `emuq envs` prints, what is registered, and where it is written.

Importing this imports neither JAX nor a simulator.
"""

from __future__ import annotations

from typing import NamedTuple

ADAPTER = "emuq.domains.adapter:Environment"


class Entry(NamedTuple):
    """`maker` is "module:function" in `emuq.domains`: a pure domain's constructor; "" for a wrapped one."""

    name: str
    observation: str
    action: str
    goal: str
    failure: str
    start: str
    horizon: int
    base: str
    maker: str = ""
    entry_point: str = ADAPTER
    extra: str = ""

    @property
    def id(self) -> str:
        return f"emuq/{self.name}-v0"


ENTRIES = (
    Entry(
        "SinglePendulum", "Box(3)", "Box(1)", "|angle from upright| < 0.05", "none",
        "any angle, |velocity| < 1; start='hanging': at rest, pointing down", 500,
        "Pendulum-v1", "single_pendulum:single_pendulum",
    ),
    Entry(
        "MountainCar", "Box(2)", "Box(1)", "position >= 0.45", "none",
        "at rest, position in [-0.6, -0.4]", 500, "MountainCarContinuous-v0", "mountain_car:mountain_car",
    ),
    Entry(
        "DoublePendulum", "Box(6)", "Box(1)", "tip's height > 1", "none",
        "hanging, each number within 0.1", 500, "Acrobot-v1", "double_pendulum:double_pendulum",
    ),
    Entry(
        "CartpoleSwingUp", "Box(4)", "Box(1)", "cos(angle) > 0.8", "|position| > 2.4",
        "hanging, each number within 0.05", 500, "CartPole-v1", "cartpole_swing_up:cartpole_swing_up",
    ),
    Entry(
        "LunarLander", "Box(8)", "Box(2)", "within 0.05 of the pad's centre", "crash, or |x| >= 1",
        "over the pad, random push and terrain", 500, "LunarLander-v3",
        entry_point="emuq.domains.simulators:lunar_lander", extra="box2d",
    ),
    Entry(
        "Reacher", "Box(10)", "Box(2)", "fingertip within 0.015 of the target", "none",
        "arm nearly straight, target drawn within 0.2", 500, "Reacher-v5",
        entry_point="emuq.domains.simulators:reacher", extra="mujoco",
    ),
    Entry(
        "Hopper", "Box(11)", "Box(3)", "height > 1.3", "|angle| > 0.2 or height < 0.7",
        "standing, each number within 0.005", 500, "Hopper-v5",
        entry_point="emuq.domains.simulators:hopper", extra="mujoco",
    ),
    Entry(
        "Jaco", "Box(4)", "Box(2)", "fingertips within 0.15 of the target", "none",
        "at home, each angle within 0.01", 50, "dm_control's Kinova Jaco",
        entry_point="emuq.domains.jaco:Jaco", extra="mujoco",
    ),
    Entry(
        "Chain", "Box(1)", "Discrete(2)", "the last state", "none",
        "the first state", 500, "Osband et al. (2014)", "chain:chain",
    ),
    Entry(
        "CliffWalking", "Discrete(48)", "Discrete(4)", "cell 47", "none (the cliff costs 1 and leads back)",
        "cell 36", 500, "CliffWalking-v1", "cliff_walking:cliff_walking",
    ),
    Entry(
        "Taxi", "Discrete(500)", "Discrete(6)", "passenger dropped at the destination", "none",
        "Gymnasium's 300 states", 200, "Taxi-v4", "taxi:taxi",
    ),
    Entry(
        "Furuta", "Box(5)", "Box(1)", "|angle from upright| < 0.25", "|arm's angle| > pi / 2",
        "hanging, each number within 0.05", 500, "Furuta et al. (1992)", "furuta:furuta",
    ),
    Entry(
        "DeepSea", "Discrete(100)", "Discrete(2)", "right in the last cell", "none: the last row ends it",
        "the first cell", 500, "Osband et al. (2019)", "deep_sea:deep_sea",
    ),
)  # fmt: skip
