"""Observations and actions of every space: what they become, and what is refused."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple

import emuq
import emuq.precision
from emuq.agents.actions import actions_of, from_index, to_unit
from emuq.agents.emuq import ranges
from emuq.agents.flatten import Flat
from emuq.agents.spaces import Scaling, Spaces, flat_scaling_of
from emuq.agents.visited import Visited
from emuq.errors import InputError, LearningWarning
from fuzzing import case
from places import BOX, EMUQ, FOUR, Line

INF = np.inf
ONE = Box(-9, 9, (1,))


def learned(low, width, dim=1) -> Scaling:
    return Scaling(np.full(dim, float(low)), np.full(dim, float(width)), True, np.ones(dim, bool))


@pytest.mark.parametrize(
    ("space", "observation", "vector"),
    [
        (Box(0, 9, (2, 2)), [[1, 2], [3, 4]], [1, 2, 3, 4]),
        (Box(-INF, INF, ()), 3.5, [3.5]),
        (Discrete(3, start=-1), 0, [0, 1, 0]),
        (Discrete(500, start=5), 7, [7]),
        (MultiDiscrete([2, 300]), [1, 299], [0, 1, 299]),
        (MultiBinary((2, 1)), [[1], [0]], [1, 0]),
        (Dict(b=Discrete(2), a=Tuple([ONE, Discrete(2)])), {"b": 1, "a": ([0.5], 0)}, [0.5, 1, 0, 0, 1]),
        (
            Dict(x=ONE, desired_goal=ONE, observation=ONE, achieved_goal=ONE),
            {"x": [7], "observation": [1], "achieved_goal": [2], "desired_goal": [5]},
            [1, 3, 5, 7],
        ),
    ],
)  # fmt: skip
def test_an_observation_becomes_a_vector_in_a_stable_order(space, observation, vector):
    flat = Flat(space)
    assert flat(observation).tolist() == vector
    assert flat.dim == len(vector)
    assert flat.rows(observation).tolist() == [vector]


def test_angles_become_cosines_and_sines_within_bounds():
    space = Box(-INF, INF, (3,), np.float64)
    flat = Flat(space, angles=[1])
    np.testing.assert_allclose(flat(np.array([5.0, 2.0, 7.0])), [5, np.cos(2.0), np.sin(2.0), 7])
    scaling = flat_scaling_of(Spaces(space, BOX), None, flat)
    assert scaling.learned.tolist() == [True, False, False, True]
    assert (scaling.low[1:3].tolist(), scaling.width[1:3].tolist()) == ([-1, -1], [2, 2])
    for wrong in ([3], [-1], [0.5], ["a"], 1):
        with pytest.raises(InputError, match="angles is"):
            Flat(space, angles=wrong)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Box(0, 255, (84, 84, 3), np.uint8), "pixels are not supported"),
        (Box(0, 1, (5000,)), "5,000 numbers: expected at most 4,096"),
        (Text(3), "have a wrapper turn it into a vector"),
        (Dict(a=Tuple([Text(3)])), r"observation\['a'\]\[0\] is in Text"),
        (Tuple([]), "has 0 numbers"),
    ],
)
def test_what_is_not_supported_is_refused_in_one_line(space, message):
    with pytest.raises(InputError, match=message) as caught:
        emuq.EMUQ(Spaces(space, BOX))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "space", [MultiDiscrete([3, 2], start=[1, -1]), MultiBinary(3), MultiDiscrete([9] * 5)]
)
def test_several_discrete_actions_are_one_hot_side_by_side(space):
    actions = actions_of(space)
    sent = np.array([from_index(actions, i, space.dtype) for i in range(len(actions.candidates))])
    assert all(space.contains(one) for one in sent)
    assert len(np.unique(sent, axis=0)) == len(sent) == min(len(sent), 512)
    np.testing.assert_array_equal(to_unit(actions, sent), actions.candidates)
    assert np.all(actions.candidates.sum(axis=1) == space.shape[0])


def test_boxes_of_more_actuators_are_searched_at_more_points():
    assert [len(actions_of(Box(-1, 1, (d,))).candidates) for d in range(1, 10)] == [
        11, 25, 27, 64, 128, 256, 256, 256, 64,
    ]  # fmt: skip


def test_rounding_takes_no_action_out_of_its_box():
    space = Box(np.float32(-1), np.float32(1e-12), (2,), np.float32)
    actions = actions_of(space)
    assert space.contains(from_index(actions, len(actions.candidates) - 1, space.dtype))


@pytest.mark.parametrize("start", range(0, 300, 100))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_random_spaces_are_handled_or_refused_in_one_line(start):
    told = [case(seed) for seed in range(start, start + 100)]
    assert all("\n" not in one for one in told)
    assert 0 < sum(one == "handled" for one in told) < 100


# Ranges that are learned ----------------------------------------------------------------------------------


def test_a_range_holds_what_is_seen_but_for_outliers(rng):
    seen = rng.uniform(-3, 7, (500, 1))
    seen[::100] = 1e9
    found = ranges.fitting(learned(-1, 2), seen)
    assert found.low < seen.min()
    assert 7 <= found.low + found.width < 100
    assert ranges.fitting(found, seen) is None, "it is at rest once it fits"
    narrow = ranges.fitting(learned(-1e5, 2e5), seen)
    assert narrow.width < 100, "and a range far too wide is noticed"


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_side_that_has_a_bound_keeps_it(sign, rng):
    sides = np.sort(sign * np.array([3.0, INF]))
    space = Box(np.array([sides[0], -1.0]), np.array([sides[1], 1.0]), dtype=np.float64)
    scaling = flat_scaling_of(Spaces(space, FOUR), None, Flat(space))
    assert sign * 3.0 in (scaling.low[0], scaling.low[0] + scaling.width[0])
    seen = np.stack([sign * rng.uniform(5, 50, 300), rng.uniform(-9, 9, 300)], axis=1)
    found = ranges.fitting(scaling, seen)
    ends = sorted(np.abs([found.low[0], found.low[0] + found.width[0]]))
    assert ends[0] == 3.0
    assert 50 < ends[1] < 70
    assert (found.low[1], found.width[1]) == (-1.0, 2.0), "what is bounded on both sides stays"
    assert ranges.fitting(found, seen) is None
    off = scaling._replace(low=np.array([7 * sign - 3, -1.0]))
    beyond = ranges.fitting(off, np.full((30, 2), sign))
    assert np.all(beyond.width > 0), "even if it is seen beyond its bound alone"


class Far(gym.Wrapper):
    """Observations in other units, without bounds."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        self.observation_space = Box(-INF, INF, env.observation_space.shape, np.float64)

    def reset(self, **options):
        return self.env.reset(**options)[0] * 1e4 - 5e7, {}

    def step(self, action):
        observation, *rest = self.env.step(action)
        return observation * 1e4 - 5e7, *rest


def test_rescaling_carries_over_what_was_learned(tmp_path):
    agent = emuq.EMUQ(Far(Line(FOUR)), seed=0, **EMUQ)
    agent.learn(episodes=2, progress=False)
    low, high = agent.bounds
    visited = np.concatenate(agent.trajectories())
    assert np.all((visited >= low) & (visited <= high))
    np.testing.assert_allclose(visited, np.array(agent._raw.states)[: len(visited)], rtol=1e-6)
    new = agent._scaling._replace(low=low - 3e3, width=2 * (high - low))
    before = agent.values(visited, 2)
    with emuq.precision.double():
        state = ranges.rescaled(agent.whole_state(), agent._raw, agent._scaling, new, agent.settings)
    agent._runtime.rescale(state, np.asarray(agent._runtime._scale))
    agent._scaling = new
    for was, now in zip(before[:2], agent.values(visited, 2)[:2], strict=True):
        np.testing.assert_allclose(now, was, atol=1e-8)


def test_learned_ranges_are_saved_with_the_agent(tmp_path):
    agent = emuq.EMUQ(Far(Line(FOUR)), seed=0, **EMUQ)
    agent.learn(episodes=1, progress=False)
    agent.save(tmp_path / "far.emuq")
    again = emuq.EMUQ.load(tmp_path / "far.emuq", Far(Line(FOUR)))
    np.testing.assert_array_equal(again.bounds, agent.bounds)
    one, other = (a.learn(episodes=2, progress=False).to_dict() for a in (agent, again))
    assert one == other
    np.testing.assert_array_equal(again.bounds, agent.bounds)


def test_a_dictionary_may_be_changed_by_the_environment_that_gave_it():
    class Careless(Line):
        def __init__(self):
            super().__init__(MultiBinary(2))
            self.observation_space = Dict(at=Box(-INF, INF, (1,)), way=Discrete(3))
            self.told = {"at": np.zeros(1), "way": 0}

        def _observation(self):
            self.told["at"][0], self.told["way"] = self.place, self.time % 3
            return self.told

    agent = emuq.EMUQ(Careless(), seed=0, **EMUQ)
    agent.learn(episodes=1, progress=False)
    assert np.array(agent._raw.states)[:3, 0].tolist() == [0, 1, 2]
    assert Careless().action_space.contains(agent.predict({"at": np.ones(1), "way": 1})[0])


# Bounds that are too wide -----------------------------------------------------------------------------------


class Wide(gym.ObservationWrapper):
    """Bounds a hundred times as wide as the line."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        self.observation_space = Box(-500.0, 500.0, (2,), np.float64)

    def observation(self, observation):
        return np.asarray(observation)


def test_bounds_far_wider_than_what_is_visited_are_told_once(monkeypatch):
    monkeypatch.setattr("emuq.agents.emuq.agent.ENOUGH", 50)
    agent = emuq.EMUQ(Wide(Line(FOUR)), seed=0, **EMUQ)
    agent.learn(steps=49, progress=False)
    with pytest.warns(LearningWarning, match=r"observation 1 was within \[0, 2\], and its bounds") as told:
        agent.learn(steps=30, progress=False)
    assert len(told) == 1
    text = str(told[0].message)
    assert "are 500 times as wide (and 1 more like it)" in text
    assert "about [-2, 4] there" in text
    assert agent.bounds[0].tolist() == [-500.0, -500.0], "nothing is changed without a word"
    agent.learn(steps=30, progress=False)


@pytest.mark.parametrize(
    ("low", "high", "angles"),
    [([0, 0], [1, 50], ()), ([0, 0], [1, 0], ()), ([0.0, 0.0], [1.0, 1e-3], (1,))],
    ids=["wide, but visited", "never changes", "an angle"],
)
def test_other_bounds_are_not_doubted(low, high, angles):
    flat = Flat(Box(0.0, 60.0, (2,), np.float64), angles)
    visited = Visited(flat.dim)
    for row in (low, high):
        visited.add(flat(np.array(row, float)))
    width = np.full(flat.dim, 15.0)
    assert visited.doubt(Scaling(np.zeros(flat.dim), width), flat) is None
