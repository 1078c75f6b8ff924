"""Who sets kappa, and when: Q + kappa U, with kappa a function of what has happened (Section 4).

A controller is a frozen value with pure methods over a small state, so that one implementation serves
Gymnasium loops, compiled loops and vmapped seeds, and its state is saved with the agent's.
`kappa = 1` is the natural scale everywhere: exploration rewards lie in [-1, 0] for every agent here.

A controller of one's own is three methods and a number of test episodes:

    @dataclass(frozen=True)
    class Halve:
        test_episodes = 0
        def init(self): return jnp.float32(1.0)
        def value(self, state): return state
        def update(self, state, outcome): return jnp.where(outcome.goal, state / 2, state)
"""

from emuq.kappa.controllers import CONTROLLERS, as_controller, schedule
from emuq.kappa.description import from_json, to_json
from emuq.kappa.listening import Automatic, AutomaticState, Target, TargetState, UntilGoal, UntilGoalState
from emuq.kappa.protocol import Controller, Outcome, settles
from emuq.kappa.schedules import Budget, Constant, Decay, StopResume

__all__ = [
    "CONTROLLERS",
    "Automatic",
    "AutomaticState",
    "Budget",
    "Constant",
    "Controller",
    "Decay",
    "Outcome",
    "StopResume",
    "Target",
    "TargetState",
    "UntilGoal",
    "UntilGoalState",
    "as_controller",
    "from_json",
    "schedule",
    "settles",
    "to_json",
]
