"""The Jaco arm: dm_control's model, targets within reach, jammed joints, chance, determinism, pictures."""

import importlib.util
import os
import re
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from emuq.domains import jaco_model as arm
from emuq.domains.jaco import SUBSTEPS, Jaco
from emuq.domains.jaco_targets import APART
from emuq.errors import InputError, MissingExtra
from emuq.experiments import fig8
from emuq.experiments.base import Row
from emuq.run.spec import RunSpec

os.environ.setdefault("MUJOCO_GL", "egl")
mujoco = pytest.importorskip("mujoco")


def walk(env, seed, steps=50):
    """Observations and distances under uniform actions."""
    rng, rows = np.random.default_rng(seed), [env.reset(seed=seed)[0]]
    for _ in range(steps):
        observation, _, _, _, info = env.step(rng.uniform(-1, 1, env.action_space.shape))
        rows.append(np.r_[observation, info["distance"]])
    return np.concatenate(rows)


@pytest.mark.parametrize("options", [{}, {"locked": ()}, {"target": "episode"}, {"locked": (1, 4, 5, 6)}])
def test_the_checker_has_nothing_to_say_and_seeds_decide(options):
    check_env(Jaco(**options), skip_render_check=True)
    one, two = Jaco(**options), Jaco(**options)
    first = walk(one, 3)
    walk(two, 4)
    assert np.array_equal(first, walk(two, 3))
    low, high = one.normalisation
    assert np.all(np.isfinite(low) & np.isfinite(high) & (low < high))
    assert low.shape == one.observation_space.shape


def test_the_model_is_dm_controls():
    """Masses, links and fingertips are those of the MJCF with all joints free."""
    spec, hand = (mujoco.MjSpec.from_file(str(arm.assets() / f"jaco_{part}.xml")) for part in ("arm", "hand"))
    spec.attach(hand, site=spec.site("wristsite"), prefix="hand/")
    whole = spec.compile()
    ours = Jaco(locked=(2, 6))
    assert ours.model.body_mass.sum() == pytest.approx(whole.body_mass.sum(), rel=1e-12)
    data = mujoco.MjData(whole)
    rng = np.random.default_rng(0)
    for _ in range(20):
        angles = arm.HOME.copy()
        angles[[0, 2, 3, 4]] += rng.uniform(-1, 1, 4)
        data.qpos[:] = np.r_[angles, [arm.FINGERS] * 3]
        mujoco.mj_kinematics(whole, data)
        assert np.allclose(data.site(arm.TIP).xpos, ours._reach.tip(angles[[0, 2, 3, 4]]), atol=1e-9)


def test_torque_moves_the_joints_as_the_damping_says():
    """Full torque tends to the limit of speed; none leaves the arm where it is, its weight carried."""
    env = Jaco()
    env.reset(seed=0)
    before = env.data.qpos.copy()
    for _ in range(10):
        env.step(np.zeros(2))
    assert np.allclose(env.data.qpos, before, atol=1e-6)
    for _ in range(6):
        observation, *_ = env.step([1.0, -1.0])
    assert np.allclose(observation[2:], [arm.SPEED[0], -arm.SPEED[1]], rtol=0.05)


def test_goal_reward_and_distance_agree():
    goals = 0
    for seed in range(6):
        env, dense = Jaco(target_seed=seed), Jaco(target_seed=seed, reward="classic")
        env.reset(seed=seed)
        dense.reset(seed=seed)
        aim = _configuration(env)
        for _ in range(50):
            action = np.clip(5 * (aim - env.data.qpos), -1, 1)
            observation, reward, terminated, _, info = env.step(action)
            _, classic, ended, *_ = dense.step(action)
            tip = env._reach.tip(observation[:2])
            assert info["distance"] == pytest.approx(np.linalg.norm(tip - env.target), abs=1e-9)
            goal = info["distance"] < env.tolerance
            assert (reward, terminated, info["is_success"]) == (float(goal), goal, goal)
            assert (classic, ended) == (pytest.approx(-info["distance"]), goal)
            if terminated:
                break
        goals += terminated
    assert goals == 6, "every target can be reached within an episode by torques on the working joints"


def _configuration(env):
    """The angles at which the fingertips are nearest to the target, on a grid."""
    grid = np.stack(np.meshgrid(*(np.linspace(*span, 40) for span in arm.SPANS[:2])), -1).reshape(-1, 2)
    return grid[np.argmin([np.linalg.norm(env._reach.tip(point) - env.target) for point in grid])]


def test_targets_lie_within_reach_and_apart_from_the_start():
    env = Jaco(target="episode")
    targets = []
    for seed in range(40):
        observation, info = env.reset(seed=seed)
        assert np.array_equal(observation[4:], env.target)
        assert info["distance"] > APART - 0.02
        assert env._reach.gap(env.target) < 0.01 if seed < 3 else env.target[2] > 0
        targets.append(env.target.copy())
    assert np.std(targets, axis=0).min() > 0.03, "all over the reachable space"
    one, two, other = Jaco(target_seed=5), Jaco(target_seed=5), Jaco(target_seed=6)
    for seed in (0, 1):
        one.reset(seed=seed)
        assert np.array_equal(one.target, two.target)
    assert not np.array_equal(one.target, other.target)
    assert np.array_equal(Jaco(locked=(), target=one.target).target, one.target)


def test_chance_rarely_reaches_the_target():
    rng, goals, episodes = np.random.default_rng(0), 0, 100
    for episode in range(episodes):
        env = gym.make("emuq/Jaco-v0", target_seed=500 + episode)
        env.reset(seed=episode)
        over = False
        while not over:
            *_, terminated, truncated, info = env.step(rng.uniform(-1, 1, 2))
            over = terminated or truncated
        goals += info["is_success"]
    assert goals / episodes < 0.05


def test_jammed_joints_stand_still_and_keep_their_places():
    env = Jaco(locked=())
    env.jam((3, 4, 5, 6))
    observation, _ = env.reset(seed=0)
    assert observation.shape == (12,)
    damaged = Jaco(target=env.target, tolerance=0.9)
    damaged.reset(seed=0)
    for _ in range(10):
        observation, *_ = env.step(np.ones(6))
        assert np.array_equal(observation[2:6], arm.HOME[2:])
        assert np.all(observation[8:] == 0)
    env.jam()
    env.reset(seed=0)
    observation, *_ = env.step(np.ones(6))
    assert np.all(observation[6:] > 0.1), "repaired"
    with pytest.raises(InputError, match="joint 3 is locked already"):
        Jaco().jam((3,))


def test_a_joint_may_be_stuck_off_its_place():
    env, whole = Jaco(locked=(4, 5, 6)), Jaco()
    env.jam({3: -0.4})
    observation, _ = env.reset(seed=0)
    assert observation[2] == pytest.approx(arm.HOME[2] - 0.4)
    whole.reset(seed=0)
    tip = whole._tip.copy()
    whole.jam({3: -0.4})  # a locked one, too: the hand is elsewhere
    whole.reset(seed=0)
    assert np.linalg.norm(whole._tip - tip) > 0.1
    with pytest.raises(InputError, match=r"joint 3 is to be stuck at 2\.0: expected up to 1\.047 rad"):
        whole.jam({3: 2.0})


def test_it_knows_whether_the_target_is_within_reach():
    env = Jaco()
    assert env.reachable()
    env.jam({3: 1.0})
    assert not env.reachable()
    env.jam((1,))
    assert not env.reachable(), "no arm in one plane"
    env.jam((1, 2))
    assert not env.reachable(), "nothing moves"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"locked": (7,)}, "locked has 7: expected numbers of joints, from 1 to 6"),
        ({"locked": "elbow"}, "locked is 'elbow'"),
        ({"locked": range(1, 7)}, "locked is all six joints"),
        ({"locked": (1, 2, 3, 4, 5)}, "no target lies 0.4 m from the start"),
        ({"target": "there"}, "target is 'there': expected 'run' or 'episode'"),
        ({"target": (2.0, 0.0, 0.5)}, r"target is \d.\d\d m out of reach"),
        ({"target": (1.0, 2.0)}, "three numbers, in metres"),
        ({"target": (1.0, 2.0, np.nan)}, "target has nan at index 2"),
        ({"target_seed": -1}, "target_seed is -1"),
        ({"tolerance": 0.0}, "tolerance is 0.0"),
        ({"reward": "dense"}, "reward is 'dense'"),
        ({"render_mode": "human"}, "render_mode is 'human'"),
    ],
)
def test_bad_options_are_refused_in_one_line(options, message):
    with pytest.raises(InputError, match=message) as caught:
        Jaco(**options)
    assert "\n" not in str(caught.value)


def test_a_missing_part_says_what_to_install(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "dm_control" else find(name)
    )
    for version, how in (((3, 11), "'emuq[mujoco]'"), ((3, 13), "--no-deps dm_control")):
        monkeypatch.setattr(sys, "version_info", version)
        message = f"^dm_control is not installed: pip install {re.escape(how)}$"
        with pytest.raises(MissingExtra, match=message):
            Jaco()


def test_pictures_show_the_target():
    env = Jaco(render_mode="rgb_array")
    env.reset(seed=0)
    try:
        picture = env.render().astype(int)
    except InputError as error:
        pytest.skip(str(error))
    red = (picture[..., 0] > 150) & (picture[..., 1] < 90) & (picture[..., 2] < 90)
    assert red.sum() > 50
    for ball in ("target", "halo"):
        assert np.allclose(env.data.site(ball).xpos, env.target)
    env.step([1.0, 1.0])
    assert not np.array_equal(picture, env.render())
    env.close()
    assert Jaco().render() is None


def test_without_opengl_one_line_says_what_to_do():
    code = (
        "from emuq.domains.jaco import Jaco\n"
        "from emuq.errors import InputError\n"
        "try: env = Jaco(render_mode='rgb_array'); env.reset(seed=0); print(env.render().shape)\n"
        "except InputError as error: print(error)"
    )
    environment = {**os.environ, "MUJOCO_GL": "osmesa", "PYOPENGL_PLATFORM": "osmesa"}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert out.returncode == 0, out.stderr
    text = out.stdout.strip()
    assert text == "(480, 480, 3)" or (text.startswith("no OpenGL to draw with") and "libosmesa6" in text)
    assert "\n" not in text


def test_a_step_is_the_substeps_and_little_more():
    """benchmarks/jaco.py measures the cost; here: as many substeps as are stated."""
    env = Jaco()
    env.reset(seed=0)
    env.step(np.zeros(2))
    assert env.data.time == pytest.approx(SUBSTEPS * arm.TIMESTEP)


def finished(agents, share, seeds=6):
    """Runs of fig8 as if each agent had solved this share of its episodes, evenly."""
    rows = []
    for spec in fig8.specs(range(seeds)):
        if spec.agent in agents:
            goals = [int((i + spec.seed) % 10 < 10 * share[spec.agent]) for i in range(fig8.EPISODES)]
            result = {"goals": goals, "lengths": [50] * fig8.EPISODES, "goal_episode": 1, "goal_steps": 50}
            rows.append(Row(spec, result))
    return rows


def test_claims_of_the_figure_follow_the_runs():
    share = {"emuq": 0.9, "emuq-paper": 0.2, "rffq": 0.3, "random": 0.0}
    verdicts = {claim.claim: claim.verdict for claim in fig8.claims(finished(share, share))}
    assert verdicts["EMU-Q, default solves more episodes than RFF-Q, as in the paper"] == "reproduced"
    paper = "EMU-Q, paper's parameters"
    assert verdicts[f"{paper} solves more episodes than RFF-Q, as in the paper"] == "not reproduced"
    assert [text for text, verdict in verdicts.items() if "80%" in text and verdict == "reproduced"] == [
        "EMU-Q, default completes the task consistently: at least 80% of the last 50 episodes"
    ]
    assert fig8.claims([]) == []
    assert fig8.CHECKPOINTS[0] == 40
    assert fig8.CHECKPOINTS[-1] == 200
    assert len(fig8.tables(finished(("rffq",), share))[0].rows) == 1


def test_a_run_of_the_figure_has_the_target_of_its_seed():
    spec = RunSpec.of("fig8", "random", "Jaco", 3, episodes=8, horizon=50)
    one, two = fig8.execute([spec, spec])
    assert one == two
    assert len(one["goals"]) == 8
    assert all(length == 50 for goal, length in zip(one["goals"], one["lengths"], strict=True) if not goal)
