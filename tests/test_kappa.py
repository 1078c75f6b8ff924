"""Controllers of kappa: what each promises, under jit and vmap, in both precisions, and as JSON."""

import json
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from emuq import kappa as control
from emuq import precision
from emuq.errors import InputError
from emuq.kappa import Automatic, Budget, Constant, Decay, Outcome, StopResume, Target, UntilGoal

ALL = [
    Constant(0.5),
    Decay(0.1),
    Budget(3),
    StopResume(2, 4),
    Target(0.1, 5),
    UntilGoal(patience=2),
    Automatic(patience=2),
]


def trace(controller, goals, tests=None):
    """kappa before each episode."""
    state, values = controller.init(), []
    for i, goal in enumerate(goals):
        values.append(float(controller.value(state)))
        state = controller.update(state, Outcome(0.0, goal, None if tests is None else tests[i]))
    return values


def test_schedules_follow_their_definitions():
    assert trace(Constant(0.1), [False] * 3) == [0.1] * 3
    np.testing.assert_allclose(
        trace(Decay(0.1), [False] * 4), [1 / (1 + 0.1 * t) for t in range(4)], rtol=1e-6
    )
    assert trace(Budget(2, kappa=3.0), [False] * 4) == [3, 3, 0, 0]
    assert trace(Budget(0), [False]) == [0]
    assert trace(StopResume(1, 3), [False] * 5) == [1, 0, 0, 1, 1]


def test_target_stops_only_when_every_test_passes_and_never_starts_again():
    low, high = [0.1, 1.0, 1.0], [0.11, 1.0, 1.0]  # 0.1 is not more than 0.1
    controller = Target(0.1, consecutive=3)
    assert controller.test_episodes == 3
    assert trace(controller, [True] * 4, [low, high, low, low]) == [1, 1, 0, 0]
    state = controller.init()
    for tests in (low, high, low):
        state = controller.update(state, Outcome(0.0, True, jnp.asarray(tests)))
    assert int(state.episodes) == 2
    with pytest.raises(InputError, match="needs 3 test returns"):
        controller.update(controller.init(), Outcome(0.0, True))


def test_until_goal_explores_again_when_the_goal_is_lost():
    goals = [False, True, False, True, False, False, False, True, False]
    assert trace(UntilGoal(patience=2), goals) == [1, 1, 0, 0, 0, 0, 1, 1, 0]


def told(controller, outcomes):
    state, values = controller.init(), []
    for total, goal, has_goal in outcomes:
        values.append(float(controller.value(state)))
        state = controller.update(state, Outcome(total, goal, None, has_goal))
    return values


def test_automatic_is_until_goal_where_there_is_a_goal():
    goals = [False, True, False, True, False, False, False, True, False]
    assert told(Automatic(patience=2), [(-i, goal, True) for i, goal in enumerate(goals)]) == trace(
        UntilGoal(patience=2), goals
    )


def test_automatic_explores_until_returns_differ_and_again_when_nothing_improves():
    returns = [-200, -200, -150, -140, -130, -130, -135, -180, -130, -129, -129, -129, -129, -129, -129]
    kappas = told(Automatic(patience=2), [(r, False, False) for r in returns])
    # Two alike: nothing to exploit. -140 and -130 are better, two are not: one explores, then it takes four.
    assert kappas == [1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1]


def test_automatic_takes_a_goal_that_is_reached_for_one():
    assert told(Automatic(patience=2), [(0, False, False), (90, True, False), (-9, False, False)]) == [
        1,
        1,
        0,
    ]


@pytest.mark.parametrize("controller", ALL, ids=lambda c: type(c).__name__)
def test_jit_vmap_and_plain_calls_agree_in_both_precisions(controller):
    goals = np.array([[False, True, False, False, False, False], [False] * 6])
    tests = np.tile(np.linspace(0.0, 1.0, 6)[:, None], (2, 1, 5)).reshape(2, 6, 5)

    def scan(goals, tests):
        def body(state, outcome):
            return controller.update(state, Outcome(0.0, *outcome)), jnp.asarray(
                controller.value(state), jnp.float32
            )

        return jax.lax.scan(body, controller.init(), (goals, tests))

    state, values = jax.jit(jax.vmap(scan))(goals, tests)
    for row in range(2):
        np.testing.assert_array_equal(values[row], trace(controller, goals[row], tests[row]))
    with precision.double():
        wide_state, wide = jax.jit(jax.vmap(scan))(goals, tests)
    np.testing.assert_array_equal(values, wide)
    assert [leaf.dtype for leaf in jax.tree.leaves(state)] == [
        leaf.dtype for leaf in jax.tree.leaves(wide_state)
    ]


@pytest.mark.parametrize("controller", [*ALL, Constant(math.inf)], ids=repr)
def test_json_round_trip(controller):
    text = json.dumps(control.to_json(controller), allow_nan=False)
    assert control.from_json(json.loads(text)) == controller


@dataclass(frozen=True)
class Halve:
    start: float = 1.0
    test_episodes = 0

    def init(self):
        return jnp.float32(self.start)

    def value(self, state):
        return state

    def update(self, state, outcome):
        return jnp.where(outcome.goal, state / 2, state)


def test_a_controller_of_ones_own_is_taken_and_named_on_load():
    assert control.as_controller(Halve()) == Halve()
    assert trace(Halve(), [True, False, True, False]) == [1, 0.5, 0.5, 0.25]
    description = control.to_json(Halve(2.0))
    assert description["class"].endswith("test_kappa.Halve")
    with pytest.raises(InputError, match=r"Halve\(start=2\.0\).*load\(path, env, kappa=Halve\(\.\.\.\)\)"):
        control.from_json(description)


def test_a_name_like_ours_is_not_mistaken_for_ours():
    impostor = type("Decay", (Halve,), {"__module__": "elsewhere"})()
    assert control.to_json(impostor)["class"] == "elsewhere.Decay"


def test_numbers_become_constants():
    assert control.as_controller(2) == Constant(2.0)
    assert control.as_controller(np.float32(0.5)) == Constant(0.5)
    assert control.as_controller(jnp.float32(0.5)) == Constant(0.5)
    assert control.as_controller(math.inf).value(()) == math.inf
    assert Constant(0.1).value(()) == 0.1


@pytest.mark.parametrize(
    "make",
    [
        lambda: control.as_controller(-1),
        lambda: control.as_controller(math.nan),
        lambda: control.as_controller("1"),
        lambda: control.as_controller(None),
        lambda: control.as_controller(True),
        lambda: control.as_controller(Decay),
        lambda: Decay(-0.1),
        lambda: Decay(math.nan),
        lambda: Decay(0.1, kappa=-1.0),
        lambda: Budget(-1),
        lambda: Budget(1.5),
        lambda: Budget(math.inf),
        lambda: StopResume(5, 4),
        lambda: Target(math.nan),
        lambda: Target(0.1, 0),
        lambda: UntilGoal(patience=0),
        lambda: control.from_json({"class": "Decay", "fields": {"d": 1}}),
    ],
)
def test_bad_values_are_one_clear_line(make):
    with pytest.raises(InputError) as error:
        make()
    assert "\n" not in str(error.value)
