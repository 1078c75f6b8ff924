"""EMU-Q's options, and the two presets: the paper's, and ours, one setting for every domain."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from emuq.errors import InputError
from emuq.linear.frequencies import Kernel, Lengthscale, Sampling
from emuq.planning.targets import Rules


@dataclass(frozen=True)
class Options:
    """Every option of EMU-Q, with the default preset's values. Lengthscales are for inputs in [0, 1]."""

    features: int = 500  # M, the number of features
    kernel: Kernel = "rbf"
    sampling: Sampling = "halton"
    state_lengthscale: Lengthscale = 0.5  # l_S
    zoom: int = 2  # fresh features double l_S, once an episode, so many times; to exploit, all or all but one
    action_lengthscale: Lengthscale = 1.0  # l_A
    effort: float = 0.0  # price of full effort while exploring, in ranges of U; none with one actuator
    fresh: bool = True  # draw features anew for each episode that explores, to exploit, and after a miss
    refresh: int | None = 150  # steps after which an episode that still explores draws them anew; None: never
    clip: bool = True  # observations outside their bounds count as at them: novelty there has no end
    mixture: float = 1.2  # each frequency has its own state scale, within exp(+-mixture)
    prior_precision: float = 0.01  # alpha
    noise_precision: float = 1.0  # beta
    discount: float = 0.99  # gamma
    exploration_discount: float | None = 0.97  # of U; None: as of Q
    plan_interval: int | None = 10  # plan once so many steps have come in ... (None: at episode ends only)
    plan_growth: float = 0.05  # ... and the data have grown by this share
    plan_at_end: bool = False  # plan at the end of each episode
    improvements: int = 2  # policy improvements a plan while exploring
    exploiting_improvements: int = 4  # and while exploiting
    draws: int = 8  # of features to exploit with: Q is kept on those that fit the returns best
    committee: int = 4  # the best of them, whose mean Q is tried as a policy
    restless: bool = True  # while no episode has failed, its members' votes vary: a cycle is left
    smoother: float = 2.0  # l_A of features drawn to exploit, in multiples of l_A
    returns: bool = True  # while exploiting, Q is at least the return that was seen to follow
    caution: float = 0.03  # while exploiting, standard deviations that Q's next value is lowered by
    sweeps: int = 12  # at most, for each improvement: far more explores worse (see docs/design.md)
    table: int = 8192  # transitions up to which every sweep is clipped, O(N M) each; beyond it is O(M^2)
    tolerance: float = 1e-4
    exploration_end: Literal["reset", "state", "zero"] = "reset"  # where U goes on after a terminal state
    reset_cost: int = 0  # steps without discovery that a reset is worth to U
    q_policy: Literal["own", "balanced"] = "own"  # whose argmax Q bootstraps on
    hold: bool = True  # exploit on weights that have been seen to work, try new ones before trusting them
    block: int = 64  # covariance updates held back at most: each half is folded in while the next one fills
    capacity: int = 1 << 16  # transitions before the room for them doubles (which compiles once)
    precision: Literal["single", "double"] = "single"  # of the step's M x M arrays, of plans' products

    def __post_init__(self) -> None:
        for name in ("plan_growth", "tolerance", "mixture", "effort", "table", "caution"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"{name} is {getattr(self, name)}: expected a finite number from 0")
        for name in ("prior_precision", "noise_precision", "smoother"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InputError(f"{name} is {getattr(self, name)}: expected a positive finite number")
        for name in ("discount", "exploration_discount"):
            if getattr(self, name) is not None and not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}: expected a number from 0 to below 1")
        for name in ("improvements", "exploiting_improvements", "draws", "committee", "sweeps", "capacity"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}: expected a whole number from 1")
        if self.refresh is not None and self.refresh < 1:
            raise InputError(f"refresh is {self.refresh}: expected a whole number from 1, or None")
        if self.block < 2 or self.block % 2:
            raise InputError(f"block is {self.block}: expected an even number from 2")
        for name, known in (
            ("exploration_end", ("reset", "state", "zero")),
            ("q_policy", ("own", "balanced")),
            ("precision", ("single", "double")),
        ):
            if getattr(self, name) not in known:
                raise InputError(f"{name} is {getattr(self, name)!r}: expected one of {', '.join(known)}")

    def next_plan(self, planned: int) -> int | None:
        """The number of transitions at which to plan again: grown by a share, so that a step's part of the
        cost stays constant. None: only at the ends of episodes."""
        if self.plan_interval is None:
            return None
        return planned + max(self.plan_interval, int(self.plan_growth * planned))

    @property
    def members(self) -> int:
        """Of a policy that is held: without fresh features there is one draw of them."""
        return self.committee if self.fresh and self.hold else 1

    @property
    def rules(self) -> Rules:
        """What planning needs. U lies in [-1 / (1 - gamma), 0], since r^e does in [-1, 0]."""
        return Rules(
            discount=self.discount,
            improvements=self.improvements,
            exploiting_improvements=self.exploiting_improvements,
            sweeps=self.sweeps,
            table=self.table,
            tolerance=self.tolerance,
            exploration_discount=self.exploration_discount,
            u_bounds=(-1.0 / (1.0 - (self.exploration_discount or self.discount)), 0.0),
            q_policy=self.q_policy,
            u_stops=self.exploration_end == "zero",
            reset_cost=self.reset_cost,
            single=self.precision == "single",
        )


DEFAULT = Options()

# Algorithm 2, with its slips mended and nothing else: one resolution, planning at episode ends only,
# both values under the balanced policy, U bootstrapped on the terminal state itself, unclipped sweeps.
PAPER = Options(
    state_lengthscale=0.3,
    action_lengthscale=0.3,
    mixture=0.0,
    fresh=False,
    refresh=None,
    zoom=0,
    clip=False,
    exploration_discount=None,
    plan_interval=None,
    plan_at_end=True,
    exploration_end="state",
    q_policy="balanced",
    exploiting_improvements=2,
    draws=1,
    committee=1,
    restless=False,
    smoother=1.0,
    returns=False,
    caution=0.0,
    sweeps=60,
    table=0,
    hold=False,
)

# Table 2 of the paper. States and actions are scaled to [0, 1].
PAPER_DOMAINS = {
    "SinglePendulum": {"features": 300, "prior_precision": 0.001},
    "MountainCar": {"features": 300, "prior_precision": 0.1, "action_lengthscale": 10.0},
    "DoublePendulum": {},
    "CartpoleSwingUp": {"state_lengthscale": 0.8, "action_lengthscale": 1.0},
    "LunarLander": {"state_lengthscale": 0.5},
    "Reacher": {"prior_precision": 0.001},
    "Hopper": {},
    "Jaco": {"features": 600, "prior_precision": 0.1},
}

PRESETS = {"default": DEFAULT, "paper": PAPER}


def resolve(preset: str, given: dict, domain: str | None = None) -> Options:
    """The preset's options with `given` ones in their place; the paper's depend on the domain."""
    if preset not in PRESETS:
        raise InputError(f"preset is {preset!r}: expected one of {', '.join(PRESETS)}")
    known = {field.name for field in dataclasses.fields(Options)}
    for name in given:
        if name not in known:
            raise InputError(f"unknown option {name!r}: expected one of {', '.join(sorted(known))}")
    tuned = PAPER_DOMAINS.get(domain or "", {}) if preset == "paper" else {}
    return dataclasses.replace(PRESETS[preset], **{**tuned, **given})


def domain_of(env: Any) -> str | None:
    """The name of one of our domains, where `env` is one."""
    spec = getattr(env, "spec", None)
    return spec.name if spec is not None and spec.namespace == "emuq" else None
