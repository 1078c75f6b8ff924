"""The controllers of kappa that come with emuq, by name, and what else may be given for one."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from emuq.errors import InputError
from emuq.kappa.listening import Automatic, Target, UntilGoal
from emuq.kappa.protocol import Controller, is_number
from emuq.kappa.schedules import Budget, Constant, Counting, Decay, StopResume

CONTROLLERS: dict[str, type] = {
    kind.__name__: kind for kind in (Constant, Decay, Budget, StopResume, Target, UntilGoal, Automatic)
}


def schedule(controller: Controller, episodes: int) -> jax.Array | None:
    """kappa of each episode, where the controller decides without hearing what happened; None where not."""
    if isinstance(controller, Constant):
        return jnp.full(episodes, controller.kappa, float)
    if getattr(type(controller), "update", None) is Counting.update:
        return jnp.asarray(jax.vmap(controller.value)(jnp.arange(episodes, dtype=jnp.int32)), float)
    return None


def as_controller(kappa: float | Controller) -> Controller:
    """A number becomes `Constant`; a controller is taken as it is; anything else is an error."""
    if is_number(kappa):
        return Constant(float(kappa))  # type: ignore[arg-type]
    if isinstance(kappa, Controller) and not isinstance(kappa, type):
        return kappa
    raise InputError(
        f"kappa is {kappa!r}: expected a number from 0 or a controller such as emuq.kappa.Decay(c=0.1) "
        "(with init, value, update and test_episodes)"
    )
