"""VIME: the network learns and knows what it knows, TRPO keeps to its region and improves, pools are true."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import emuq
from emuq.agents.vime import core, model, trpo
from emuq.agents.vime.agent import _empty
from emuq.errors import InputError
from emuq.precision import double
from resuming import whole_and_resumed

SMALL = {"batch": 200, "pool": 1000, "updates": 50, "hidden": 8}


@pytest.fixture(autouse=True)
def _double():
    with double():
        yield


@pytest.fixture(scope="module")
def fitted():
    """A network before and after it has seen s' = [s0 + a, s1 - a] for s0 < 0 only."""
    with double():
        options = core.Options(batch=2000, pool=2000, updates=3000, prior=model.Prior(likelihood_sd=0.3))
        rng = np.random.default_rng(0)
        s, a = rng.uniform(-1, 1, (2000, 2)), rng.uniform(-1, 1, (2000, 1))
        s[:, 0] = -np.abs(s[:, 0])
        batch = _empty(2000, 2, 1)._replace(states=s, actions=a, following=np.c_[s[:, 0] + a[:, 0], s[:, 1]])
        before = core._store(options, core.init(options, 0, 2, 1), batch)
        moments = core._moments(options, before)
        fit = jax.jit(lambda state, draws: core.fit(options, state, moments, draws))
        network, optimiser = fit(before, core.draws(options, 1, 0, 2))
        return options, before, before._replace(network=network, optimiser=optimiser), moments


def normal(*shapes):
    return tuple(jnp.asarray(np.random.default_rng(5).standard_normal(shape)) for shape in shapes)


def error(options, state, moments, s, a):
    following = np.c_[s[:, 0] + a[:, 0], s[:, 1]]
    x, y = core._normal(moments, jnp.asarray(np.c_[s, a]), jnp.asarray(following))
    noise = normal((20, len(x), 32), (20, len(x), 2))
    return -float(model.log_likelihood(options.prior, state.network, x, y, noise).mean())


def test_the_posterior_contracts_on_data_and_predicts(fitted):
    options, before, after, moments = fitted
    rng = np.random.default_rng(1)
    s, a = np.c_[-rng.uniform(0, 1, 200), rng.uniform(-1, 1, 200)], rng.uniform(-1, 1, (200, 1))
    assert error(options, after, moments, s, a) < 0.3 * error(options, before, moments, s, a)
    sds = [float(jax.nn.softplus(layer.rho).min()) for layer in after.network]
    means = [float(jax.nn.softplus(layer.rho).mean()) for layer in after.network]
    assert max(sds) < 0.25  # from 0.5
    assert max(means) < 0.5


def test_information_gain_is_larger_for_novel_transitions_than_for_familiar_ones(fitted):
    options, before, after, moments = fitted
    rng = np.random.default_rng(2)
    s, a = rng.uniform(-1, 1, (400, 2)), rng.uniform(-1, 1, (400, 1))
    batch = _empty(400, 2, 1)._replace(states=s, actions=a, following=np.c_[s[:, 0] + a[:, 0], s[:, 1]])
    noise = normal((400, 10, 32), (400, 10, 2))
    gain = jax.jit(lambda state, batch: core.gain(options, state, moments, batch, noise))
    gains, first = np.asarray(gain(after, batch)), np.asarray(gain(before, batch))
    assert np.median(gains[s[:, 0] > 0.3]) > 2 * np.median(gains[s[:, 0] < -0.3])
    assert np.median(gains[s[:, 0] < -0.3]) < np.median(first[s[:, 0] < -0.3])  # boredom
    # A broken law of motion is news, wherever it happens.
    broken = batch._replace(following=batch.following + np.array([2.0, 0.0]))
    assert np.median(gain(after, broken)) > 2 * np.median(gains)


def test_information_gain_is_the_divergence_of_a_newton_step_to_second_order():
    prior = model.Prior(newton_step=1e-4, samples=4)
    network = model.init(np.random.default_rng(0), (2, 5, 1), 0.5)
    x, y, noise = jnp.array([0.3, -0.8]), jnp.array([2.0]), normal((4, 5), (4, 1))
    gradient = jax.grad(lambda net: model.log_likelihood(prior, net, x, y, noise))(network)
    exact = 0.0
    for g, old in zip(gradient, network, strict=True):
        sd = jax.nn.softplus(old.rho)
        mean = old.mean + 1e-4 * sd**2 * g.mean
        rho = old.rho + 1e-4 * sd**2 / (2 * jax.nn.sigmoid(old.rho) ** 2) * g.rho
        new = jax.nn.softplus(rho)
        exact += float(jnp.sum(jnp.log(sd / new) + (new**2 + (mean - old.mean) ** 2) / (2 * sd**2) - 0.5))
    assert float(model.information_gain(prior, network, x, y, noise)) == pytest.approx(exact, rel=1e-3)


def test_a_trpo_step_improves_the_objective_within_its_region():
    policy = trpo.init(np.random.default_rng(0), 3, 2, 16)
    s, noise = normal((500, 3), (500, 2))
    a = trpo.mean(policy, s) + noise
    advantage = a[:, 0] * s[:, 0]  # the first action is to follow the first state
    trust = trpo.Trust()
    improve = jax.jit(lambda advantage: trpo.improve(trust, policy, s, a, advantage))
    new = improve(advantage)
    ratio = jnp.exp(trpo.log_probability(new, s, a) - trpo.log_probability(policy, s, a))
    assert 0.5 * trust.step < float(trpo.divergence(policy, new, s)) <= trust.step
    assert float(jnp.mean(ratio * advantage)) > float(advantage.mean()) + 0.05
    still = improve(jnp.zeros(500))  # nothing to gain: nothing moves
    np.testing.assert_array_equal(still.w1, policy.w1)


def test_advantages_equal_their_definition_and_stop_at_episode_ends():
    rng = np.random.default_rng(0)
    n, discount, trace = 12, 0.9, 0.8
    r, v, v_next = rng.normal(size=(3, n))
    terminated, over = np.zeros(n, bool), np.zeros(n, bool)
    terminated[4] = over[4] = over[8] = True
    given = map(jnp.asarray, (r, v, v_next, terminated, over))
    advantage, returns = trpo.advantages(*given, discount, trace)
    for t in range(n):
        end = next(i for i in range(t, n) if over[i] or i == n - 1)
        steps = range(t, end + 1)
        delta = [r[i] + discount * (0 if terminated[i] else v_next[i]) - v[i] for i in steps]
        gae = sum((discount * trace) ** k * d for k, d in enumerate(delta))
        total = sum(discount**k * r[i] for k, i in enumerate(steps))
        total += discount ** len(delta) * (0 if terminated[end] else v_next[end])
        assert float(advantage[t]) == pytest.approx(gae)
        assert float(returns[t]) == pytest.approx(total)


def test_the_pool_holds_each_transitions_own_next_state():
    env = gym.make("emuq/MountainCar-v0", max_episode_steps=30)
    agent, seen = emuq.VIME(env, seed=0, **SMALL), []
    agent.learn(
        steps=200, progress=False, callback=lambda e: seen.append(e.transition) if e.transition else None
    )
    low, high = env.unwrapped.normalisation
    ends = [2 * (t.next_observation - low) / (high - low) - 1 for t in seen]
    assert sum(t.truncated for t in seen) == 7
    np.testing.assert_allclose(np.asarray(agent._state.targets)[:200], ends, atol=1e-6)
    assert int(agent._state.stored) == 200
    assert int(agent._state.updates) == 1


def test_it_compiles_once():
    from emuq.agents.vime.agent import _update

    env = gym.make("emuq/MountainCar-v0", max_episode_steps=30)
    before = _update._cache_size()
    emuq.VIME(env, seed=0, **SMALL).learn(steps=650, progress=False)
    assert _update._cache_size() <= before + 1


class Point(gym.Env):
    """x' = x + a / 5, reward -x^2, 20 steps: standing still at 0 is best."""

    observation_space = gym.spaces.Box(-2.0, 2.0, (1,), np.float64)
    action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.t = self.np_random.uniform(-1, 1, 1), 0
        return self.x, {}

    def step(self, action):
        self.x, self.t = np.clip(self.x + action / 5, -2, 2), self.t + 1
        return self.x, -float(self.x[0] ** 2), False, self.t == 20, {}


def test_it_improves_on_a_dense_task():
    agent = emuq.VIME(Point(), seed=0, **(SMALL | {"batch": 500, "updates": 5}), discount=0.9)
    returns = np.array(agent.learn(steps=15_000, progress=False).to_dict()["return"])
    assert returns[-100:].mean() > 0.5 * returns[:100].mean()  # costs: less than half is left
    assert float(agent.info.divergence) <= agent.settings.trust.step


def test_a_saved_agent_goes_on_bit_for_bit(tmp_path):
    def fresh():
        env = gym.make("emuq/MountainCar-v0", max_episode_steps=70)
        return emuq.VIME(env, seed=3, **SMALL)

    whole, resumed = whole_and_resumed(fresh, tmp_path, 4, 4)  # 4: a batch and a part of one
    jax.tree.map(np.testing.assert_array_equal, resumed._state.policy, whole._state.policy)
    jax.tree.map(np.testing.assert_array_equal, resumed._state.network, whole._state.network)
    action, _ = resumed.predict(resumed.env.reset(seed=0)[0])
    assert resumed.action_space.contains(action)


def test_bad_options_are_named():
    env = gym.make("emuq/MountainCar-v0")
    for bad in ({"batch": 0}, {"pool": 10}, {"discount": 2.0}, {"nonsense": 1}):
        with pytest.raises(InputError, match=next(iter(bad))):
            emuq.VIME(env, **bad)
    with pytest.raises(InputError, match="VIME expects a Box"):
        emuq.VIME(gym.make("emuq/Chain-v0"))
