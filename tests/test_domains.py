"""Every registered environment: Gymnasium's checker, determinism, endings, vectorised use, bad input."""

import builtins
import subprocess
import sys

import gymnasium as gym
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import emuq
from emuq import domains
from emuq.domains.base import episode_keys, step_key
from emuq.domains.catalogue import ENTRIES
from emuq.errors import InputError, MissingExtra
from emuq.precision import double

IDS = [entry.id for entry in ENTRIES]
MUJOCO = {entry.id for entry in ENTRIES if entry.extra == "mujoco"}
CONTINUOUS = [entry.id for entry in ENTRIES if entry.action.startswith("Box")]
DISCRETE = [entry.id for entry in ENTRIES if entry.action.startswith("Discrete")]


@pytest.fixture(autouse=True)
def _no_window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("SDL_AUDIODRIVER", "dummy")


def rollout(env, seed, steps=300):
    """Observations, rewards and flags under a fixed sequence of actions, across episodes."""
    rows = [np.ravel(env.reset(seed=seed)[0])]
    env.action_space.seed(0)
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        rows.append(np.r_[np.ravel(observation), reward, terminated, truncated, info["is_success"]])
        if terminated or truncated:
            rows.append(np.ravel(env.reset()[0]))
    return np.concatenate(rows)


@pytest.mark.parametrize("name", IDS)
def test_gymnasiums_checker_has_nothing_to_say(name):
    # MuJoCo's windows need a display; its pictures have a test of their own.
    check_env(gym.make(name).unwrapped, skip_render_check=name in MUJOCO)


@pytest.mark.parametrize("name", IDS)
def test_same_seed_same_trajectory_other_seed_another(name):
    one, two = gym.make(name), gym.make(name)
    first = rollout(one, 7)
    assert np.array_equal(first, rollout(two, 7))
    assert np.array_equal(first, rollout(two, 7)), "the seed decides, not what came before"
    other = rollout(one, 8)
    if "CliffWalking" not in name and "DeepSea" not in name:  # One start; only slips tell seeds apart.
        assert first.shape != other.shape or not np.array_equal(first, other)


def test_slips_of_the_cliff_walk_depend_on_the_seed():
    env = gym.make("emuq/CliffWalking-v0", slip=0.5)
    assert not np.array_equal(rollout(env, 7), rollout(env, 8))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_catalogue_tells_the_truth(entry):
    env = gym.make(entry.id)
    for space, text in ((env.observation_space, entry.observation), (env.action_space, entry.action)):
        size = space.n if isinstance(space, gym.spaces.Discrete) else space.shape[0]
        assert text == f"{type(space).__name__}({size})"
    assert env.spec.max_episode_steps == entry.horizon
    if entry.name in domains.PURE:
        assert domains.make(entry.name).horizon == entry.horizon
    if isinstance(env.observation_space, gym.spaces.Box):
        low, high = env.unwrapped.normalisation
        assert low.shape == high.shape == env.observation_space.shape
        assert np.all(np.isfinite(low) & np.isfinite(high) & (low < high))


@pytest.mark.parametrize("name", IDS)
def test_endings_are_never_confused(name):
    """Terminated means goal (+1) or failure (-1); truncated means the horizon, neither, and never both."""
    env = gym.make(name, max_episode_steps=40)
    env.action_space.seed(1)
    endings = set()
    for seed in range(12):
        env.reset(seed=seed)
        for t in range(1, 41):
            observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
            assert env.observation_space.contains(observation)
            assert info["is_success"] == (reward == 1.0)
            assert not (terminated and truncated)
            assert truncated == (t == 40 and not terminated)
            if env.unwrapped.observation_space.shape and "Chain" not in name:
                assert terminated == (abs(reward) == 1.0)
            if terminated or truncated:
                endings.add("terminated" if terminated else "truncated")
                break
    assert endings


@pytest.mark.parametrize("name", ["emuq/MountainCar-v0", "emuq/Reacher-v0"])
def test_horizon_is_500_and_max_episode_steps_overrides_it(name):
    for limit, options in ((500, {}), (600, {"max_episode_steps": 600}), (30, {"max_episode_steps": 30})):
        env = gym.make(name, **options)
        env.reset(seed=3)
        still = np.zeros(env.action_space.shape)
        for t in range(1, limit + 1):
            _, _, terminated, truncated, _ = env.step(still)
            assert not terminated
            assert truncated == (t == limit)


def test_a_goal_on_the_last_step_is_no_truncation():
    env = gym.make("emuq/Chain-v0", length=2, max_episode_steps=1)
    outcomes = []
    for seed in range(20):
        env.reset(seed=seed)
        _, reward, terminated, truncated, info = env.step(1)
        outcomes.append((reward, terminated, truncated, info["is_success"]))
    assert set(outcomes) == {(1.0, True, False, True), (0.0, False, True, False)}


@pytest.mark.parametrize("name", IDS)
def test_vectorised(name):
    envs = gym.make_vec(name, num_envs=3, vectorization_mode="sync")
    observation, _ = envs.reset(seed=5)
    assert observation.shape[0] == 3
    envs.action_space.seed(0)
    for _ in range(5):
        observation, *_ = envs.step(envs.action_space.sample())
    single = gym.make(name)
    single.reset(seed=6)
    envs.reset(seed=5)
    envs.action_space.seed(0)
    for _ in range(5):
        actions = envs.action_space.sample()
        vector = envs.step(actions)
        assert np.allclose(vector[0][1], single.step(actions[1])[0], rtol=0, atol=1e-12)
    envs.close()


def test_vectorised_in_processes():
    envs = gym.make_vec(
        "emuq/MountainCar-v0", 2, vectorization_mode="async", vector_kwargs={"context": "spawn"}
    )
    observation, _ = envs.reset(seed=0)
    assert np.allclose(observation[1], gym.make("emuq/MountainCar-v0").reset(seed=1)[0])
    envs.close()


@pytest.mark.parametrize("name", CONTINUOUS)
def test_bad_continuous_actions_are_refused(name):
    env = gym.make(name)
    env.reset(seed=0)
    size = env.action_space.shape[0]
    bad = np.zeros(size)
    bad[-1] = 1.5
    with pytest.raises(InputError, match=rf"action is 1.5 at index {size - 1}: expected .* \[-1, 1\]"):
        env.step(bad)
    bad[-1] = np.nan
    with pytest.raises(InputError, match=f"action has nan at index {size - 1}"):
        env.step(bad)
    with pytest.raises(InputError, match="action has shape"):
        env.step(np.zeros(size + 1))
    with pytest.raises(InputError, match=r"expected \d numbers?"):
        env.step("left")
    env.step(np.ones(size) * (1 + 1e-7))  # Rounding of a single-precision agent is no error.


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("action", [-1, 99, 0.5, np.nan, [0, 1], "left", None])
def test_bad_discrete_actions_are_refused(name, action):
    env = gym.make(name)
    env.reset(seed=0)
    with pytest.raises(InputError, match="expected a whole number from 0 to"):
        env.step(action)


def test_the_same_options_give_the_same_domain():
    assert domains.make("Chain", length=7) is domains.make("Chain", length=np.int64(7))
    assert domains.make("Chain", length=7) is not domains.make("Chain", length=8)


def test_unknown_names_and_options_are_refused():
    with pytest.raises(InputError, match=r"length is \[3\]: expected a number or a word"):
        domains.make("Chain", length=[3])
    with pytest.raises(InputError, match=r"domain is 'Car': expected one of SinglePendulum, MountainCar"):
        domains.make("Car")
    with pytest.raises(InputError, match="MountainCar has no option 'slip': expected reward, horizon"):
        gym.make("emuq/MountainCar-v0", slip=0.1)
    with pytest.raises(InputError, match="reward is 'dense': expected 'goal' or 'classic'"):
        domains.make("Taxi", reward="dense")
    with pytest.raises(InputError, match="reward is 'dense'"):
        gym.make("emuq/Hopper-v0", reward="dense")
    with pytest.raises(InputError, match="start is 'up'"):
        domains.make("SinglePendulum", start="up")
    with pytest.raises(InputError, match="length is 1"):
        domains.make("Chain", length=1)
    with pytest.raises(InputError, match=r"slip is 2: expected a probability in \[0, 1\]"):
        domains.make("CliffWalking", slip=2)
    with pytest.raises(InputError, match="horizon is 0"):
        domains.make("Taxi", horizon=0)
    with pytest.raises(InputError, match="expected max_episode_steps"):
        gym.make("emuq/Taxi-v0", horizon=10)
    with pytest.raises(InputError, match="step was called before reset"):
        gym.make("emuq/Taxi-v0").unwrapped.step(0)


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [("LunarLander", "Box2D", "box2d"), ("Reacher", "mujoco", "mujoco"), ("Hopper", "mujoco", "mujoco")],
)
def test_a_missing_simulator_says_what_to_install(name, package, extra, monkeypatch):
    hide(monkeypatch, package)
    with pytest.raises(MissingExtra, match=rf"^{package} is not installed: pip install 'emuq\[{extra}\]'$"):
        gym.make(f"emuq/{name}-v0")


def test_missing_pygame_says_what_to_install(monkeypatch):
    hide(monkeypatch, "pygame")
    env = gym.make("emuq/MountainCar-v0", render_mode="rgb_array")
    env.reset(seed=0)
    with pytest.raises(MissingExtra, match=r"pip install 'emuq\[render\]'"):
        env.render()


def hide(monkeypatch, package):
    """As if `package` were not installed, for whoever imports it next."""
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.split(".")[0] == package:
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **kwargs)

    for module in list(sys.modules):
        if module.split(".")[0] == package or module.startswith(
            ("gymnasium.envs.box2d", "gymnasium.envs.mujoco")
        ):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", missing)


def test_importing_emuq_imports_no_simulator():
    code = "import sys, emuq; print([m for m in ('jax', 'mujoco', 'Box2D', 'pygame') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )
    assert "GoalOnly" in dir(emuq)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = emuq.Nothing


@pytest.mark.parametrize(
    "name", ["MountainCar", "CartpoleSwingUp", "Chain", "CliffWalking", "Taxi", "Furuta"]
)
def test_the_compiled_loop_walks_the_adapters_episode(name):
    options = {"slip": 0.3} if name == "CliffWalking" else {}
    domain, env = domains.make(name, **options), gym.make(f"emuq/{name}-v0", **options)
    env.action_space.seed(2)
    actions = np.array([env.action_space.sample() for _ in range(60)])
    with double():
        reset, steps = episode_keys(11)

        def body(state, inputs):
            t, action = inputs
            result = domain.step(state, action, step_key(steps, t))
            return result.state, (domain.observe(result.state), result.reward, result.terminated)

        state = domain.reset(reset)
        start = domain.observe(state)
        _, (observations, rewards, ends) = jax.lax.scan(body, state, (np.arange(60), actions))
        observations, rewards, ends = (np.asarray(x) for x in (observations, rewards, ends))
    assert np.array_equal(env.reset(seed=11)[0], start)
    for t in range(60):
        observation, reward, terminated, _, _ = env.step(actions[t])
        assert np.allclose(observation, observations[t], rtol=0, atol=1e-12)
        assert (reward, terminated) == (rewards[t], ends[t])
        if terminated:
            break


@pytest.mark.parametrize("name", domains.PURE)
def test_domains_follow_the_precision_around_them_and_compile_once(name):
    domain, traces = domains.make(name), []
    action = np.zeros(1) if domain.num_actions is None else 0

    def run(key):
        traces.append(key)

        def body(state, key):
            result = domain.step(state, jax.numpy.asarray(action), key)
            return result.state, result.reward

        return jax.lax.scan(body, domain.reset(key), jax.random.split(key, 5))

    batch = jax.jit(jax.vmap(run))
    for seed in (0, 1):
        state, rewards = batch(jax.random.split(jax.random.key(seed), 4))
        assert rewards.shape == (4, 5)
        assert rewards.dtype == np.float32
        assert {leaf.dtype.itemsize for leaf in jax.tree.leaves(state)} == {4}
    assert len(traces) == 1
    with double():
        _, rewards = batch(jax.random.split(jax.random.key(0), 4))
        assert rewards.dtype == np.float64


def test_a_state_can_be_looked_at_and_set():
    env = gym.make("emuq/MountainCar-v0").unwrapped
    assert env.state is None
    observation, _ = env.reset(seed=0)
    assert np.array_equal(observation, env.state)
    env.state = env.state._replace(position=0.449, velocity=0.01)
    _, reward, terminated, _, info = env.step([0.0])
    assert (reward, terminated, info["is_success"]) == (1.0, True, True)
