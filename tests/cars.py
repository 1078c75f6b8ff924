"""A small EMU-Q on MountainCar, for the tests of the agent."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

import emuq

SMALL = {"features": 60, "capacity": 2048}


def car(**options):
    return emuq.EMUQ(gym.make("emuq/MountainCar-v0", max_episode_steps=120), **(SMALL | options))


def weights(agent):
    return np.asarray(agent.whole_state().blocked.weights)
