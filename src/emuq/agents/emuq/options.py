"""EMU-Q's options, and the two presets: the paper's, and ours, one setting for every environment.

Each option's comment says what happens when it is turned on, or up; docs/ablation.md says where it was
measured.
"""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from emuq.errors import InputError
from emuq.linear.frequencies import Lengthscale
from emuq.planning.foretelling import DEPTH
from emuq.planning.targets import Rules


@dataclass(frozen=True)
class Options:
    """Every option of EMU-Q, with the default preset's values. Lengthscales are for inputs in [0, 1]."""

    # The features, on which Q and U are linear.
    features: int = 500  # M: more of them tell more situations apart; a step and a plan cost M^2
    state_lengthscale: Lengthscale = 0.5  # l_S: the larger, the farther a value generalises over states
    action_lengthscale: Lengthscale = 1.0  # l_A: the same over actions
    mixture: float = (
        1.2  # the larger, the more scales at once: each frequency has its own, l_S exp(+-mixture)
    )
    clip: bool = True  # take an observation outside its bounds as at them: novelty out there has no end
    # Drawing features again.
    refresh: int | None = 150
    # ^ Draw them for each exploring episode, and again within one that has lasted so many steps: one draw may
    # miss something. None: draw once, and never again.
    zoom: int = 2  # so many of these draws double l_S in turn: exploration begins fine and becomes coarser
    # The posterior.
    prior_precision: float = 0.01  # alpha: the larger, the more evidence it takes to move a value away from 0
    noise_precision: float = 1.0  # beta: the larger, the more one transition counts
    # What Q and U are.
    discount: float = 0.99  # gamma, of Q: nearer to 1 looks farther ahead
    exploration_discount: float | None = 0.97  # of U: nearer to 1 explores farther ahead; None: as of Q
    exploration_end: Literal["reset", "state", "zero"] = "reset"
    # ^ What U goes on with after a terminal state: the episode's start, the terminal state itself, or
    # nothing.
    q_policy: Literal["own", "balanced"] = "own"  # Q's next action: the best in Q, or the best in Q + kappa U
    effort: float = 0.0  # what full effort costs while exploring, in ranges of U: more makes it gentler
    # Planning.
    plan_interval: int | None = 10  # plan again after at least so many steps; None: when an episode ends
    sweeps: int = 12  # at most so many for each improvement: more cost more and explore no better
    table: int = 8192  # up to so many transitions every sweep is clipped, at O(N M); beyond, none, at O(M^2)
    # Exploiting (kappa = 0).
    lookahead: int = 16
    # ^ Steps that Q looks ahead with a model of the dynamics, at most: as far as it foretells them. 0: Q is
    # regressed on its features.
    # Memory: what is computed stays the same.
    capacity: int = 1 << 16  # transitions that there is room for at first; the room doubles when it is full

    def __post_init__(self) -> None:
        for name in ("mixture", "effort", "table"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"{name} is {getattr(self, name)}: expected a finite number from 0")
        for name in ("prior_precision", "noise_precision"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InputError(f"{name} is {getattr(self, name)}: expected a positive finite number")
        for name in ("discount", "exploration_discount"):
            if getattr(self, name) is not None and not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}: expected a number from 0 to below 1")
        for name in ("sweeps", "capacity"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}: expected a whole number from 1")
        for name in ("refresh", "plan_interval"):
            if getattr(self, name) is not None and not getattr(self, name) >= 1:
                raise InputError(f"{name} is {getattr(self, name)}: expected a whole number from 1, or None")
        if self.lookahead not in range(DEPTH + 1):  # also what is no number
            raise InputError(f"lookahead is {self.lookahead}: expected 0 (none), or steps up to {DEPTH}")
        for name, known in (
            ("exploration_end", ("reset", "state", "zero")),
            ("q_policy", ("own", "balanced")),
        ):
            if getattr(self, name) not in known:
                raise InputError(f"{name} is {getattr(self, name)!r}: expected one of {', '.join(known)}")

    def at(self, numbers: dict[str, Any]) -> Options:
        """The same with some numbers that are traced: values to compute with, no key of a program."""
        found = copy.copy(self)
        for name, value in numbers.items():
            object.__setattr__(found, name, value)
        return found

    @property
    def rules(self) -> Rules:
        """What planning needs. U lies in [-1 / (1 - gamma), 0], since r^e does in [-1, 0]."""
        later = self.discount if self.exploration_discount is None else self.exploration_discount
        return Rules(
            discount=self.discount,
            sweeps=self.sweeps,
            table=self.table,
            exploration_discount=self.exploration_discount,
            u_bounds=(-1.0 / (1.0 - later), 0.0),
            q_policy=self.q_policy,
            u_stops=self.exploration_end == "zero",
        )


DEFAULT = Options()

# Algorithm 2 with its slips mended (docs/deviations.md) and nothing else: features of one scale, drawn once;
# plans at episode ends only; both values under the balanced policy; U goes on from the terminal state
# itself; sweeps are not clipped. What its table 2 sets apart for each domain is in
# `emuq.experiments.presets`.
PAPER = Options(
    state_lengthscale=0.3,
    action_lengthscale=0.3,
    mixture=0.0,
    refresh=None,
    zoom=0,
    clip=False,
    exploration_discount=None,
    plan_interval=None,
    exploration_end="state",
    q_policy="balanced",
    sweeps=60,
    table=0,
    lookahead=0,
)

PRESETS = {"default": DEFAULT, "paper": PAPER}


def resolve(preset: str, given: dict) -> Options:
    """The preset's options, with the `given` ones in their place."""
    if preset not in PRESETS:
        raise InputError(f"preset is {preset!r}: expected one of {', '.join(PRESETS)}")
    known = {field.name for field in dataclasses.fields(Options)}
    for name in given:
        if name not in known:
            raise InputError(f"unknown option {name!r}: expected one of {', '.join(sorted(known))}")
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    return dataclasses.replace(PRESETS[preset], **plain)
