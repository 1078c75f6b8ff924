"""Stepped from the same states, side by side with Gymnasium's originals; goal and failure as defined."""

import gymnasium as gym
import jax
import numpy as np
import pytest

from emuq import domains
from emuq.domains import cartpole_swing_up, double_pendulum, furuta, mountain_car, single_pendulum
from emuq.errors import InputError
from emuq.precision import double

COPIES = 3000


def steps(name, state, actions, **options):
    """Many steps of a domain at once, as NumPy arrays: (step, observation)."""
    domain = domains.make(name, **options)
    with double():
        keys = jax.random.split(jax.random.key(0), len(actions))
        result = jax.vmap(domain.step)(jax.tree.map(jax.numpy.asarray, state), actions, keys)
        observations = jax.vmap(domain.observe)(result.state)
    return jax.tree.map(np.asarray, result), np.asarray(observations)


def uniform(seed, *bounds, size=COPIES):
    rng = np.random.default_rng(seed)
    return [rng.uniform(low, high, size) for low, high in bounds]


def original(name, **options):
    env = gym.make(name, **options).unwrapped
    env.reset(seed=0)
    return env


def goal_only(goal, failure):
    """The reward and the ending as defined, from NumPy's own comparison."""
    failure = np.broadcast_to(failure, goal.shape)
    return np.where(failure, -1.0, np.where(goal, 1.0, 0.0)), goal | failure, goal & ~failure


def check_goal_only(result, goal, failure):
    reward, terminated, success = goal_only(goal, failure)
    assert np.array_equal(result.reward, reward)
    assert np.array_equal(result.terminated, terminated)
    assert np.array_equal(result.goal, success)
    assert 0 < success.sum() < success.size, "the sample shows both sides of the goal"


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


def every(states, actions):
    state, action = np.meshgrid(np.arange(states), np.arange(actions), indexing="ij")
    return state.ravel().astype(np.int32), action.ravel().astype(np.int32)


def check_table(name, original_name, states, actions, **options):
    """All transitions against Gymnasium's table; the classic reward is its reward."""
    state, action = every(states, actions)
    result, _ = steps(name, state, action, reward="classic", **options)
    table = original(original_name).P
    for i, (s, a) in enumerate(zip(state, action, strict=True)):
        [(probability, following, reward, terminated)] = table[s][a]
        assert probability == 1.0
        assert (result.state[i], result.reward[i], result.terminated[i]) == (following, reward, terminated)
    return state, action, result.state


def test_cliff_walking():
    state, action, following = check_table("CliffWalking", "CliffWalking-v1", 48, 4, slip=0.0)
    table = original("CliffWalking-v1").P
    falls = np.array([table[s][a][0][2] == -100 for s, a in zip(state, action, strict=True)])
    for scale in (1.0, 100.0):
        result, _ = steps("CliffWalking", state, action, slip=0.0, reward_scale=scale)
        assert np.array_equal(
            result.reward, scale * np.where(following == 47, 1.0, np.where(falls, -1.0, 0.0))
        )
        assert np.array_equal(result.terminated, following == 47)
        assert np.array_equal(result.goal, following == 47)


def test_cliff_walking_slips_as_often_as_asked():
    """A slip draws one of four directions, so that three quarters of them show."""
    number = 20_000
    state, action = np.full(number, 17, np.int32), np.zeros(number, np.int32)
    for slip in (0.0, 0.1, 1.0):
        result, _ = steps("CliffWalking", state, action, slip=slip)
        share = np.mean(result.state != 17 - 12)
        assert abs(share - 0.75 * slip) < 4 * np.sqrt(0.25 / number) + 1e-12
        if slip:
            assert set(result.state) == {5, 16, 18, 29}


def test_taxi():
    state, action, following = check_table("Taxi", "Taxi-v4", 500, 6)
    result, _ = steps("Taxi", state, action)
    table = original("Taxi-v4").P
    classic = np.array([table[s][a][0][2] for s, a in zip(state, action, strict=True)])
    was_in, is_in = state // 4 % 5 == 4, following // 4 % 5 == 4
    elsewhere = (action == 5) & was_in & ~is_in & (classic == -1)
    assert np.array_equal(
        result.reward, np.where(classic == 20, 1.0, np.where((classic == -10) | elsewhere, -0.1, 0.0))
    )
    assert np.array_equal(result.goal, classic == 20)
    assert np.array_equal(result.terminated, classic == 20)


def test_taxi_starts_as_gymnasium_does():
    expected = np.flatnonzero(original("Taxi-v4").initial_state_distrib)
    with double():
        first = np.asarray(jax.vmap(domains.make("Taxi").reset)(jax.random.split(jax.random.key(0), 6000)))
    assert np.array_equal(np.unique(first), expected)


@pytest.mark.parametrize("length", [5, 20])
def test_chain(length):
    number = 20_000
    state = np.full(number, 2, np.int32)
    left, _ = steps("Chain", state, np.zeros(number, np.int32), length=length)
    assert np.all(left.state == 1)
    assert np.all(left.reward == 0)
    right, _ = steps("Chain", state, np.ones(number, np.int32), length=length)
    assert set(right.state) == {1, 3}
    p = 1 / length
    assert abs(np.mean(right.state == 1) - p) < 4 * np.sqrt(p * (1 - p) / number)
    first, _ = steps("Chain", 0 * state, np.zeros(number, np.int32), length=length)
    assert np.all(first.state == 0)
    last, observed = steps("Chain", 0 * state + length - 2, np.ones(number, np.int32), length=length)
    check_goal_only(last, last.state == length - 1, False)
    assert np.array_equal(observed[:, 0], last.state)


@pytest.mark.parametrize("sparsity", [0.0, 0.3, 1.0])
def test_chain_sparsity(sparsity):
    number = 20_000
    result, _ = steps(
        "Chain", np.full(number, 8, np.int32), np.ones(number, np.int32), length=10, sparsity=sparsity
    )
    assert np.all(result.reward[result.goal] == 1.0)
    others = result.reward[~result.goal]
    assert set(others) <= {0.0, -1.0}
    assert abs(np.mean(others == -1.0) - (1 - sparsity)) < 4 * np.sqrt(0.25 / others.size)


def test_chain_as_a_table():
    env = gym.make("emuq/Chain-v0", length=4, observation="index")
    assert env.observation_space == gym.spaces.Discrete(4)
    assert env.reset(seed=0)[0] == 0
    assert env.step(0)[0] == 0
