"""LunarLander, Reacher and Hopper beside Gymnasium's originals; GoalOnly; pictures; `emuq envs`."""

import json
import os

import gymnasium as gym
import numpy as np
import pytest

import emuq
from emuq import cli
from emuq.domains.catalogue import ENTRIES
from emuq.errors import InputError

os.environ.setdefault("MUJOCO_GL", "egl")

ORIGINALS = {
    "LunarLander": ("LunarLander-v3", {"continuous": True}),
    "Reacher": ("Reacher-v5", {}),
    "Hopper": ("Hopper-v5", {}),
}


def lands(o, inner):
    return np.hypot(o[0], o[1]) < 0.05, inner.game_over or abs(o[0]) >= 1


def reaches(o, inner):
    vector = inner.get_body_com("fingertip") - inner.get_body_com("target")
    return np.linalg.norm(vector) < 0.015, False


def jumps(o, inner):
    _, height, angle = inner.data.qpos[:3]
    return height > 1.3, abs(angle) > 0.2 or height < 0.7


DEFINITIONS = {"LunarLander": lands, "Reacher": reaches, "Hopper": jumps}


def policies(env, name):
    """Uniform actions, actions held for a while (which jump and reach further), and a lander that lands."""
    rng = np.random.default_rng(0)
    held = {}

    def uniform(t, observation):
        return rng.uniform(-1, 1, env.action_space.shape)

    def hold(t, observation):
        if t % 15 == 0:
            held["action"] = rng.choice([-1.0, 1.0], env.action_space.shape)
        return held["action"]

    if name != "LunarLander":
        return [uniform, hold]
    from gymnasium.envs.box2d.lunar_lander import heuristic

    return [uniform, hold, lambda t, observation: np.clip(heuristic(env.unwrapped.inner, observation), -1, 1)]


@pytest.mark.parametrize("name", ORIGINALS)
def test_the_same_physics_and_the_goal_as_defined(name):
    id_, options = ORIGINALS[name]
    ours, dense = gym.make(f"emuq/{name}-v0"), gym.make(f"emuq/{name}-v0", reward="classic")
    theirs = gym.make(id_, **options).unwrapped
    seen, total = set(), 0
    for episode in range(90 if name == "Hopper" else 40):
        policy = policies(ours, name)[episode % len(policies(ours, name))]
        a, b, c = (env.reset(seed=episode)[0] for env in (ours, dense, theirs))
        assert np.array_equal(a, c)
        assert np.array_equal(a, b)
        for t in range(120 if name != "LunarLander" else 400):
            action = policy(t, a)
            a, reward, terminated, _, info = ours.step(action)
            b, classic, dense_terminated, _, dense_info = dense.step(action)
            c, original, ended, *_ = theirs.step(action)
            total += 1
            assert np.allclose(a, c, rtol=0, atol=1e-6)
            assert np.array_equal(a, b)
            assert classic == pytest.approx(original, abs=1e-9)
            goal, failure = DEFINITIONS[name](c, theirs)
            expected = -1.0 if failure else 1.0 if goal else 0.0
            assert (reward, terminated, info["is_success"]) == (expected, expected != 0, expected == 1)
            assert dense_info["is_success"] == info["is_success"]
            assert dense_terminated == (terminated or (ended and name == "LunarLander"))
            seen.add(expected)
            if terminated or dense_terminated:
                break
    assert total > 1000
    assert seen == ({0.0, 1.0} if name == "Reacher" else {-1.0, 0.0, 1.0})


def test_a_failure_wins_over_a_goal_in_the_same_step():
    env = gym.make("emuq/Hopper-v0").unwrapped
    env.reset(seed=0)
    position, velocity = env.inner.data.qpos.copy(), env.inner.data.qvel.copy()
    position[1:3] = 1.5, 0.4
    env.inner.set_state(position, velocity)
    _, reward, terminated, _, info = env.step(np.zeros(3))
    assert (reward, terminated, info["is_success"]) == (-1.0, True, False)


def test_rest_beside_the_pad_is_neither_goal_nor_failure():
    env = gym.make("emuq/LunarLander-v0").unwrapped
    env.reset(seed=0)
    env.inner.lander.awake = False
    for leg in env.inner.legs:
        leg.awake = False
    _, reward, terminated, _, _ = env.step(np.zeros(2))
    assert (reward, terminated) == (0.0, False)


class Corridor(gym.Env):
    """A counter that ends at -3 and at 3, with a cost of 0.1 a step."""

    observation_space = gym.spaces.Discrete(7, start=-3)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0
        return self.x, {}

    def step(self, action):
        self.x += 2 * action - 1
        return self.x, -0.1, abs(self.x) == 3, False, {"x": self.x}


def walk(env, actions):
    env.reset(seed=0)
    out = [env.step(action) for action in actions]
    return [
        (reward, terminated, truncated, info["is_success"]) for _, reward, terminated, truncated, info in out
    ]


GOING, SUCCESS, FAILURE = (0.0, False, False, False), (1.0, True, False, True), (-1.0, True, False, False)
OVER = (0.0, True, False, False)


@pytest.mark.parametrize(
    ("options", "right", "left"),
    [
        ({"goal": "termination"}, [GOING, GOING, SUCCESS], [GOING, GOING, SUCCESS]),
        ({"goal": lambda o, r, i: o == 3}, [GOING, GOING, SUCCESS], [GOING, GOING, OVER]),
        (
            {"goal": lambda o, r, i: i["x"] == 3, "failure": "termination"},
            [GOING, GOING, FAILURE],
            [GOING, GOING, FAILURE],
        ),
        (
            {"goal": lambda o, r, i: o == 2, "failure": lambda o, r, i: o == -1 and r == -0.1},
            [GOING, SUCCESS],
            [FAILURE],
        ),
    ],
)
def test_goal_only(options, right, left):
    env = emuq.GoalOnly(Corridor(), **options)
    assert walk(env, [1] * len(right)) == right
    assert walk(env, [0] * len(left)) == left


def test_goal_only_keeps_the_time_limit_apart_and_the_inner_reward_at_hand():
    env = emuq.GoalOnly(gym.wrappers.TimeLimit(Corridor(), 3), goal="termination")
    assert walk(env, [1, 0, 1])[-1] == (0.0, False, True, False)
    assert walk(env, [1, 1, 1])[-1] == SUCCESS
    env.reset(seed=0)
    assert env.step(1)[4]["reward"] == -0.1


def test_goal_only_refuses_what_is_no_predicate():
    with pytest.raises(InputError, match="goal is 'x > 3': expected a function of"):
        emuq.GoalOnly(Corridor(), goal="x > 3")
    with pytest.raises(InputError, match="both 'termination'"):
        emuq.GoalOnly(Corridor(), goal="termination", failure="termination")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_pictures(entry, monkeypatch):
    """A picture has content, and shows where the agent is."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gym.make(entry.id, render_mode="rgb_array")
    env.reset(seed=0)
    try:
        first = env.render().copy()
    except Exception as error:
        if entry.extra == "mujoco":
            pytest.skip(f"no OpenGL here: {error}")
        raise
    assert first.ndim == 3
    assert first.shape[2] == 3
    assert first.dtype == np.uint8
    assert len(np.unique(first)) > 2
    env.action_space.seed(0)
    moved = False
    for _ in range(20):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        moved = moved or not np.array_equal(first, env.render())
        if terminated or truncated or moved:
            break
    assert moved
    env.close()


def test_envs_lists_every_environment(capsys):
    assert cli.main(["envs"]) == 0
    table = capsys.readouterr().out.splitlines()
    listed = [line for line in table if line.startswith("emuq/")]
    for entry, line in zip(ENTRIES, listed, strict=True):
        assert line.startswith(entry.id)
        assert entry.goal in line
    assert cli.main(["envs", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in rows] == [entry.id for entry in ENTRIES]
    assert {row["horizon"] for row in rows} == {50, 200, 500}
