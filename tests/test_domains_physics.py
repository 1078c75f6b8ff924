"""Stepped from the same states, side by side with Gymnasium's originals; goal and failure as defined."""

import gymnasium as gym
import jax
import numpy as np
import pytest

from emuq import domains
from emuq.domains import cartpole_swing_up, double_pendulum, mountain_car, single_pendulum
from emuq.precision import double
from side_by_side import COPIES, check_goal_only, original, steps, uniform


def test_single_pendulum():
    angle, velocity, action = uniform(0, (-7, 7), (-8, 8), (-1, 1))
    angle[:300] *= 0.01
    velocity[:300] *= 0.05
    state = single_pendulum.State(angle, velocity)
    result, observed = steps("SinglePendulum", state, action[:, None])
    classic, _ = steps("SinglePendulum", state, action[:, None], reward="classic")
    env = original("Pendulum-v1")
    for i in range(COPIES):
        env.state = np.array([angle[i], velocity[i]])
        observation, reward, *_ = env.step(2 * action[i : i + 1])
        assert np.allclose(env.state, [x[i] for x in result.state], rtol=0, atol=1e-9)
        assert np.allclose(observation, observed[i], rtol=0, atol=1e-6)
        assert classic.reward[i] == pytest.approx(reward, abs=1e-9)
    from_upright = np.abs(np.arctan2(observed[:, 1], observed[:, 0]))
    check_goal_only(result, from_upright < 0.05, False)
    assert np.array_equal(classic.terminated, result.terminated)


def test_mountain_car():
    position, velocity, action = uniform(1, (-1.2, 0.6), (-0.07, 0.07), (-1, 1))
    position[:200] = -1.2 + 0.02 * np.abs(position[:200])
    state = mountain_car.State(position, velocity)
    result, observed = steps("MountainCar", state, action[:, None])
    classic, _ = steps("MountainCar", state, action[:, None], reward="classic")
    env = original("MountainCarContinuous-v0")
    for i in range(COPIES):
        env.state = np.array([position[i], velocity[i]])
        observation, reward, terminated, *_ = env.step(action[i : i + 1])
        assert np.allclose(observation, observed[i], rtol=0, atol=1e-6)
        # Gymnasium's goal also asks for a velocity to the right; the paper's does not.
        if terminated or not result.goal[i]:
            assert classic.reward[i] == pytest.approx(reward, abs=1e-9)
            assert classic.terminated[i] == terminated
    check_goal_only(result, observed[:, 0] >= 0.45, False)


def test_double_pendulum():
    pi = np.pi
    *state, action = uniform(2, (-pi, pi), (-pi, pi), (-4 * pi, 4 * pi), (-9 * pi, 9 * pi), (-1, 1))
    for part in state[2:]:
        part[: COPIES // 2] *= 0.1
    result, observed = steps("DoublePendulum", double_pendulum.State(*state), action[:, None])
    classic, _ = steps("DoublePendulum", double_pendulum.State(*state), action[:, None], reward="classic")
    env = original("Acrobot-v1")
    for i in range(COPIES):
        env.state = np.array([part[i] for part in state])
        env.AVAIL_TORQUE = [action[i]]
        observation, reward, terminated, *_ = env.step(0)
        assert np.allclose(env.state, [x[i] for x in result.state], rtol=0, atol=1e-6)
        assert np.allclose(observation, observed[i], rtol=0, atol=2e-6)
        assert (classic.reward[i], classic.terminated[i]) == (reward, terminated)
    c1, s1, c2, s2 = observed[:, :4].T
    check_goal_only(result, -c1 - (c1 * c2 - s1 * s2) > 1.0, False)


def test_cartpole_swing_up():
    *state, action = uniform(3, (-2.5, 2.5), (-8, 8), (-5, 6), (-8, 8), (-1, 1))
    result, observed = steps("CartpoleSwingUp", cartpole_swing_up.State(*state), action[:, None])
    env = original("CartPole-v1")
    for i in range(COPIES):
        env.state = np.array([part[i] for part in state])
        env.force_mag = 10 * action[i]
        env.steps_beyond_terminated = None
        env.step(1)
        assert np.allclose(env.state, observed[i], rtol=0, atol=1e-9)
    goal, failure = np.cos(observed[:, 2]) > 0.8, np.abs(observed[:, 0]) > 2.4
    assert np.any(goal & failure), "a failure wins over a goal"
    check_goal_only(result, goal, failure)
    classic, _ = steps("CartpoleSwingUp", cartpole_swing_up.State(*state), action[:, None], reward="classic")
    assert np.allclose(classic.reward, np.where(failure, -200, np.cos(observed[:, 2]) - 1))
    assert np.array_equal(classic.terminated, result.terminated)


def test_cartpole_observations_stay_in_their_space():
    """Even under the force that pumps most: with the pole's swing, or back and forth along the track."""
    env = gym.make("emuq/CartpoleSwingUp-v0")
    rng = np.random.default_rng(0)
    for episode in range(30):
        observation, _ = env.reset(seed=episode)
        ended, t, hold = False, 0, 1.0
        while not ended:
            if episode % 3 == 0:
                action = -np.sign(observation[3] * np.cos(observation[2]))
            elif episode % 3 == 1:
                action = 1.0 if observation[0] < 0 else -1.0
            else:
                hold = action = rng.choice([-1.0, 1.0]) if t % 15 == 0 else hold
            observation, _, terminated, truncated, _ = env.step([action])
            assert env.observation_space.contains(observation)
            ended, t = terminated or truncated, t + 1


STARTS = {
    "SinglePendulum": ([-1, -1, -1], [1, 1, 1]),
    "MountainCar": ([-0.6, 0], [-0.4, 0]),
    "DoublePendulum": ([0.995, -0.1, 0.995, -0.1, -0.1, -0.1], [1, 0.1, 1, 0.1, 0.1, 0.1]),
    "CartpoleSwingUp": ([-0.05, -0.05, np.pi - 0.05, -0.05], [0.05, 0.05, np.pi + 0.05, 0.05]),
    "Furuta": ([-1, -0.05, -0.05, -0.05, -0.05], [-0.9987, 0.05, 0.05, 0.05, 0.05]),
}


@pytest.mark.parametrize("name", STARTS)
def test_starts(name):
    domain, (low, high) = domains.make(name), STARTS[name]
    with double():
        keys = jax.random.split(jax.random.key(0), 2000)
        first = np.asarray(jax.vmap(lambda key: domain.observe(domain.reset(key)))(keys))
    spread = np.array(high) - low
    assert np.all((first >= low) & (first <= high))
    assert np.all(np.ptp(first, axis=0) >= 0.9 * spread), "the whole range is used"


def test_hanging_start():
    env = gym.make("emuq/SinglePendulum-v0", start="hanging")
    assert np.allclose(env.reset(seed=0)[0], [-1, 0, 0])
    assert np.allclose(env.step([0.0])[0], [-1, 0, 0]), "hanging is at rest"
