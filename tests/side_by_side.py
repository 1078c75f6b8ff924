"""Many states stepped at once, beside Gymnasium's originals: goal and failure as defined."""

import gymnasium as gym
import jax
import numpy as np

from emuq import domains
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
