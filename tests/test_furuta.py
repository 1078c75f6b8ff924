"""The Furuta pendulum: energy, momentum, goal and failure, delay and dead zone."""

import gymnasium as gym
import jax
import numpy as np
import pytest

from emuq import domains
from emuq.domains import furuta
from emuq.errors import InputError
from emuq.precision import double
from side_by_side import COPIES, check_goal_only, steps, uniform


def furuta_states(seed, **parts):
    numbers = uniform(seed, (-1.7, 1.7), (-5, 5), (-15, 15), (-25, 25))
    return furuta.State(*numbers, np.zeros((COPIES, 0)))._replace(**parts)


def points_of(state, number=400):
    """Kinetic and potential energy of the two rods, summed over points along them."""
    share = (np.arange(number) + 0.5) / number
    at = share[:, None]
    turn, swing, sin, cos = state.arm_velocity, state.velocity, np.sin(state.angle), np.cos(state.angle)
    arm = (at * furuta.ARM_LENGTH * turn) ** 2
    along = at * furuta.LENGTH
    tangent, radial = furuta.ARM_LENGTH * turn + along * swing * cos, along * sin * turn
    rod = tangent**2 + radial**2 + (along * swing * sin) ** 2
    height = along * (cos - 1)
    kinetic = furuta.ARM_MASS * arm.mean(0) / 2 + furuta.MASS * rod.mean(0) / 2
    return kinetic + furuta.MASS * furuta.GRAVITY * height.mean(0)


def test_furutas_energy_is_that_of_its_rods_and_changes_by_what_motor_and_friction_do():
    """dE/dt = T t' - D_r t'^2 - D a'^2: the equations of motion and the energy are of one machine."""
    state = furuta_states(5)
    with double():
        assert np.allclose(furuta.energy(state), points_of(state), rtol=1e-4, atol=1e-6)
        torque = np.linspace(-0.02, 0.02, COPIES)
        turn, swing = furuta.acceleration(state, torque)
        rates = furuta.State(state.arm_velocity, state.velocity, turn, swing, state.pending)
        _, change = jax.jvp(furuta.energy, (jax.tree.map(jax.numpy.asarray, state),), (rates,))
    lost = furuta.ARM_FRICTION * state.arm_velocity**2 + furuta.FRICTION * state.velocity**2
    assert np.allclose(change, torque * state.arm_velocity - lost, rtol=1e-9, atol=1e-12)


def test_furutas_angular_momentum_is_kept_without_torque():
    """The other constant of the motion: what the arm's axis sees of it changes by the torque alone."""
    state = furuta_states(6)

    def momentum(arm_velocity, state):
        return furuta.energy(state._replace(arm_velocity=arm_velocity))

    with double():
        torque = np.linspace(-0.02, 0.02, COPIES)
        numbers = jax.tree.map(jax.numpy.asarray, state)
        turn, swing = furuta.acceleration(numbers, torque)
        rates = furuta.State(numbers.arm_velocity, numbers.velocity, turn, swing, numbers.pending)

        def total(state):
            return jax.grad(lambda v: momentum(v, state).sum())(state.arm_velocity)

        _, change = jax.jvp(total, (numbers,), (rates,))
    assert np.allclose(change, torque - furuta.ARM_FRICTION * state.arm_velocity, rtol=1e-9, atol=1e-12)


def test_furuta():
    state = furuta_states(7)
    state.angle[:300] *= 0.02
    action = np.random.default_rng(7).uniform(-1, 1, (COPIES, 1))
    result, observed = steps("Furuta", state, action)
    assert np.allclose(
        observed[:, :3].T, [np.cos(result.state.angle), np.sin(result.state.angle), result.state.arm]
    )
    assert np.array_equal(observed[:, 3:].T, [result.state.velocity, result.state.arm_velocity])
    goal = np.abs(np.arctan2(observed[:, 1], observed[:, 0])) < 0.25
    failure = np.abs(observed[:, 2]) > np.pi / 2
    assert np.any(goal & failure), "a failure wins over a goal"
    check_goal_only(result, goal, failure)
    classic, _ = steps("Furuta", state, action, reward="classic")
    assert np.allclose(classic.reward, np.where(failure, -200, observed[:, 0] - 1))
    # Twenty steps at 1000 Hz are one at 50 Hz: the integration is fine enough.
    after = state
    for _ in range(20):
        after = steps("Furuta", after, action, rate=1000)[0].state
    for fast, slow in zip(after, result.state, strict=True):
        assert np.allclose(fast, slow, rtol=0, atol=2e-3)


def test_furutas_commands_arrive_late_and_low_ones_not_at_all():
    prompt, late = (gym.make("emuq/Furuta-v0", delay=d).unwrapped for d in (0, 3))
    commands = np.random.default_rng(0).uniform(-1, 1, (12, 1))
    prompt.reset(seed=0)
    late.reset(seed=0)
    for i in range(3):
        assert not np.allclose(late.step(commands[i])[0], prompt.step(commands[i])[0], rtol=0, atol=1e-6)
    prompt.reset(seed=0)
    for _ in range(3):
        reached, *_ = prompt.step([0.0])
    late.reset(seed=0)
    for i in range(3):
        observed, *_ = late.step(commands[i])
    assert np.allclose(observed, reached, rtol=0, atol=1e-12), "nothing has arrived yet"
    for i in range(3, 12):
        assert np.allclose(late.step(commands[i])[0], prompt.step(commands[i - 3])[0], rtol=0, atol=1e-12)
    state = furuta_states(8)
    ones = np.ones((COPIES, 1))
    still, _ = steps("Furuta", state, 0.1 * ones, dead_zone=0.5)
    coasting, _ = steps("Furuta", state, 0 * ones)
    assert np.array_equal(still.state.arm, coasting.state.arm)
    pushed, _ = steps("Furuta", state, 0.3 * ones, dead_zone=0.5)
    weaker, _ = steps("Furuta", state, 0.2 * ones)
    assert np.allclose(pushed.state.arm, weaker.state.arm, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"rate": 5}, "rate is 5: expected steps a second"),
        ({"delay": -1}, "delay is -1: expected a whole number of steps from 0 to 100"),
        ({"delay": 0.5}, "delay is 0.5"),
        ({"dead_zone": 5.0}, "dead_zone is 5.0: expected volts from 0 to below 5"),
    ],
)
def test_furutas_options_are_checked(option, said):
    with pytest.raises(InputError, match=said):
        domains.make("Furuta", **option)


@pytest.mark.parametrize("hold", [1, 5, 20])
def test_furutas_observations_stay_in_their_space(hold):
    env, rng = gym.make("emuq/Furuta-v0"), np.random.default_rng(hold)
    for episode in range(20):
        env.reset(seed=episode)
        ended, t, action = False, 0, 1.0
        while not ended:
            action = rng.choice([-1.0, 1.0]) if t % hold == 0 else action
            observation, _, terminated, truncated, _ = env.step([action])
            assert env.observation_space.contains(observation)
            ended, t = terminated or truncated, t + 1
