"""Environments that newcomers bring: their spaces, their numbers, and what an agent tells of them."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import emuq
from emuq.agents.actions import actions_of, from_index, from_unit, to_unit
from emuq.agents.episodes import Transition
from emuq.agents.readings import LARGEST_REWARD, observation_of, reward_of
from emuq.agents.rffq import RFFQ
from emuq.agents.spaces import Spaces, scaling_of
from emuq.callbacks import KeepBest
from emuq.errors import InputError
from places import BOX, CHOOSING, EMUQ, Line, Troubled, agent, place


def one_line(error) -> bool:
    return "\n" not in str(error.value) and len(str(error.value)) < 400


# Actions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHOOSING)
def test_discrete_actions_begin_where_the_space_says(name):
    env = place(name)  # 1 to 4, and its steps assert that actions are among them
    learner = agent(name, env)
    learner.learn(episodes=2, progress=False)
    assert {int(action) for action in env.actions} <= {1, 2, 3, 4}
    assert all(type(action) is type(env.action_space.sample()) for action in env.actions)
    action, _ = learner.predict(env.reset()[0])
    assert env.action_space.contains(action)


def test_what_is_learned_of_a_discrete_action_is_learned_of_that_one():
    actions = actions_of(Discrete(4, start=-2))
    sent = [from_index(actions, i, np.int64) for i in range(4)]
    assert sent == [-2, -1, 0, 1]
    np.testing.assert_array_equal(to_unit(actions, np.array(sent)), np.eye(4))


class Dial(gym.Env):
    """A dial of 256 places, read as a byte and turned by -1, 0 or 1 steps of 5; the goal is at 0."""

    observation_space = Box(0, 255, (1,), np.uint8)
    action_space = Discrete(3, start=-1)

    def reset(self, *, seed=None, options=None):
        self.at, self.time = np.array([120], np.uint8), 0
        return self.at, {}

    def step(self, action):
        # NumPy adds -5 of a space's own type to bytes, and refuses to add Python's.
        self.at, self.time = np.clip(self.at + 5 * action, 0, 255).astype(np.uint8), self.time + 1
        goal = bool(self.at[0] == 0)
        return self.at, float(goal), goal, self.time >= 100, {}


def test_bytes_and_whole_actions_find_the_goal():
    learner = emuq.EMUQ(Dial(), seed=0, **EMUQ)
    assert learner.learn(episodes=5, until="goal", progress=False).first_goal is not None


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 3), (-3, 3), (0, 255)])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_candidates_of_whole_actions_are_what_is_done(low, high, dim):
    actions = actions_of(Box(low, high, (dim,), np.int64))
    done = np.array([from_index(actions, i, np.int64) for i in range(len(actions.candidates))])
    np.testing.assert_allclose(from_unit(actions, actions.candidates), done, atol=1e-9)
    assert len(np.unique(done, axis=0)) == len(done)
    assert (done.min(), done.max()) == (low, high)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Box(-1.7e308, 1.7e308, (1,), np.float64), "expected finite bounds"),
        (Box(-np.inf, np.inf, (1,)), "expected finite bounds"),
        (Box(-1, 1, (25_000,)), "25,000 dimensions: expected from 1 to 64"),
        (Discrete(10**9), "at most 4,096 actions"),
        (Box(-1, 1, (2, 2)), "expected a Box of one axis"),
    ],
)
def test_action_spaces_of_no_use_are_refused_in_one_line(space, message):
    with pytest.raises(InputError, match=message) as caught:
        emuq.EMUQ(Spaces(Box(0, 1, (2,)), space))
    assert one_line(caught)


# Observations and rewards -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds", [5, "ab", (1, 2, 3), (None, None), (1j, 2), ([0, 0, 0], [1, 1, 1]), [], {"low": 0}, (0, "1")]
)
@pytest.mark.parametrize("kind", [emuq.EMUQ, RFFQ, emuq.DORA, emuq.VIME, emuq.RND])
def test_bounds_that_are_none_are_refused_in_one_line(kind, bounds):
    with pytest.raises(InputError, match="observation_bounds is") as caught:
        kind(Line(BOX), observation_bounds=bounds)
    assert one_line(caught)


@pytest.mark.parametrize("largest", [np.inf, float(np.finfo(np.float32).max), 1e18])
@pytest.mark.parametrize("kind", [RFFQ, emuq.DORA, emuq.VIME, emuq.RND])
def test_bounds_that_only_fill_a_place_are_refused_and_others_are_taken(kind, largest):
    spaces = Spaces(Box(-largest, largest, (2,), np.float64), BOX)
    with pytest.raises(InputError, match=r"dimension 0 has no finite bounds .* pass observation_bounds"):
        kind(spaces)
    bounds = kind(spaces, observation_bounds=(-1, [1, 2]))._scaling
    np.testing.assert_array_equal([bounds.low, bounds.low + bounds.width], [[-1, -1], [1, 2]])


def test_bounds_are_loaded_with_the_agent(tmp_path):
    for kind in (RFFQ, emuq.DORA, emuq.VIME, emuq.RND):
        learner = kind(Line(BOX), observation_bounds=(-3, 7))
        learner.save(tmp_path / "agent.emuq")
        assert kind.load(tmp_path / "agent.emuq", Line(BOX))._scaling.low.tolist() == [-3, -3]


@pytest.mark.parametrize(
    "observation",
    [
        "ab",
        None,
        np.array([1j, 2j]),
        np.array([1.0, 2.0], object),
        [[1], [2, 3]],
        [0.0, np.inf],
        np.zeros(3),
        {},
    ],
)
@pytest.mark.parametrize("name", ["emuq", "rffq", "dora", "rnd", "vime", "random"])
def test_observations_that_are_no_numbers_are_refused_in_one_line(name, observation):
    learner = agent(name, place(name))
    with pytest.raises(InputError, match=r"^observation ") as caught:
        learner.predict(observation)
    assert one_line(caught)
    broken = Troubled(place(name), 1, lambda: (observation, 0.0, False, False, {}))
    with pytest.raises(InputError, match=r"^observation \(step 1\) ") as caught:
        learner.learn(episodes=1, env=broken, progress=False)
    assert one_line(caught)
    assert len(learner.history) == 0


@pytest.mark.parametrize("observation", ["a", None, 3.5, np.array([1, 2]), 99])
def test_states_that_are_not_in_the_table_are_refused_in_one_line(observation):
    learner = agent("exploration-values", place("exploration-values"))
    broken = Troubled(learner.env, 3, lambda: (observation, 0.0, False, False, {}))
    with pytest.raises(InputError, match=r"^observation is ") as caught:
        learner.learn(episodes=1, env=broken, progress=False)
    assert one_line(caught)
    assert learner.history.steps == 2


@pytest.mark.parametrize(
    "reward", ["1", None, 1j, np.zeros(2), np.array([1.0], object), np.nan, -np.inf, 3.3e38]
)
def test_rewards_that_are_no_numbers_of_use_are_refused_in_one_line(reward):
    learner = agent("random", Troubled(place("random"), 4, lambda: (np.zeros(2), reward, False, False, {})))
    with pytest.raises(InputError, match=r"^reward is .* at step 4: expected") as caught:
        learner.learn(episodes=1, progress=False)
    assert one_line(caught)
    assert learner.history.steps == 3


@pytest.mark.parametrize("reward", [1, True, np.float32(1), np.array(1), np.array([1.0])])
def test_rewards_that_mean_one_number_are_taken(reward):
    assert reward_of(reward, 1) == 1.0


@pytest.mark.filterwarnings("ignore::emuq.errors.LearningWarning")
@pytest.mark.parametrize("name", ["emuq", "emuq-paper", "rffq", "dora", "rnd", "vime", "exploration-values"])
def test_the_largest_reward_leaves_values_finite(name):
    class Rich(gym.RewardWrapper):
        def reward(self, reward):
            return LARGEST_REWARD * (1 if self.env.unwrapped.time % 2 else -1)

    learner = agent(name, Rich(place(name)))
    learner.learn(episodes=3, progress=False)
    observation = learner.env.reset()[0]
    assert np.all(np.isfinite(learner.predict(observation)[0]))
    if name != "vime":  # its value is a part of each update alone
        arguments = (observation, 1) if name.startswith("emuq") else (observation,)
        assert np.all(np.isfinite(np.asarray(learner.values(*arguments))))


def test_an_environment_may_change_the_array_it_gave_away():
    class Careless(Line):
        def reset(self, **options):
            super().reset(**options)
            self.state = np.zeros(2)
            return self.state, {}

        def step(self, action):
            _, *rest = super().step(action)
            self.state[0] += 1
            return self.state, *rest

    seen: list[Transition] = []
    learner = agent("random", Careless(BOX))
    learner.learn(episodes=1, callback=lambda event: seen.append(event.transition), progress=False)
    assert [(t.observation[0], t.next_observation[0]) for t in seen[:3]] == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("step", lambda: (np.zeros(2), 0.0, False, {}), "env.step returned"),
        ("reset", lambda: np.zeros(2), "env.reset returned"),
    ],
)
def test_an_older_interface_is_named(method, answer, message):
    env = Line(BOX)
    setattr(env, method, lambda *_, **__: answer())
    with pytest.raises(InputError, match=message) as caught:
        agent("random", env).learn(episodes=1, progress=False)
    assert one_line(caught)


def test_bytes_are_numbers():
    space = Box(0, 255, (2,), np.uint8)
    assert observation_of(space, np.array([3, 255], np.uint8)).tolist() == [3, 255]
    assert scaling_of(Spaces(space, BOX), None)(np.array([0, 255], np.uint8)).tolist() == [0, 1]


# Comfort ------------------------------------------------------------------------------------------------


def test_an_agent_says_how_it_is_doing():
    learner = agent("emuq", "emuq/MountainCar-v0", seed=3)
    assert repr(learner) == (
        "<EMUQ on emuq/MountainCar-v0, seed 3: 0 episodes, 0 steps, 0 goals, kappa 1 (Automatic)>"
    )
    assert "not learned anything yet" in learner.summary()
    assert "not planned yet" in learner.summary()
    learner = agent("emuq", place("emuq"))
    learner.learn(episodes=1, progress=False)
    assert repr(learner) == "<EMUQ on Line, seed 0: 1 episode, 10 steps, 1 goal, kappa 0 (Automatic)>"
    text = learner.summary()
    for words in (
        "learned from 1 episode and 10 steps",
        "reached in 1 episode, first in episode 1, and in 1 of the last 1",
        "kappa is 0 (set by Automatic(patience=5, kappa=1.0)): it exploits",
        "The last plan saw 10 transitions",
    ):
        assert words in text
    learner.kappa = 0.5
    assert "kappa is 0.5 (a number you set): it explores" in learner.summary()
    assert "plan" not in agent("random", place("random")).summary()


class Moody(Line):
    """Returns as they are given, an episode each."""

    def __init__(self, returns) -> None:
        super().__init__(BOX, horizon=1)
        self.returns = iter(returns)

    def step(self, action):
        observation, _, terminated, truncated, info = super().step(action)
        return observation, next(self.returns), terminated, truncated, info | {"is_success": False}


def test_the_best_is_kept(tmp_path):
    path, saved = tmp_path / "best.emuq", []
    best = KeepBest(path, last=2)
    learner = agent("random", Moody([0, 4, 2, 3, 6, 1, 1]))

    def note(event):
        if event.kind == "episode":
            saved.append(len(emuq.RandomAgent.load(path, learner.env).history) if path.exists() else 0)

    learner.learn(episodes=7, callback=[best, note], progress=False)
    assert saved == [0, 2, 3, 3, 5, 5, 5], "means 2, 3, 2.5, 4.5, 3.5, 1"
    assert best.best == 4.5


def test_the_best_is_known_by_tests(tmp_path):
    path = tmp_path / "best.emuq"
    tests = Moody([1, 1, 3, 5, 4, 3])
    learner = agent("random", Line(BOX))
    best = KeepBest(path, tests=2, env=tests)
    learner.learn(episodes=3, callback=best, progress=False)
    assert best.best == 4
    assert len(emuq.RandomAgent.load(path, learner.env).history) == 2
    with pytest.raises(InputError, match="last is 0"):
        KeepBest(path, last=0)
