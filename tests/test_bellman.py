"""Policy iteration: exact on a small random MDP, the same as the plain transcription, never diverging."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box

from doubling import doubled
from drawing import seed_of
from emuq.agents.actions import Actions, actions_of
from emuq.agents.emuq import act, learn
from emuq.agents.emuq.options import PAPER, PRESETS, Options
from emuq.agents.emuq.plan import plan
from emuq.agents.emuq.state import choices_of, draw_basis, init
from emuq.linear import posterior
from emuq.linear.expectation import box_moments, quadratic_form
from emuq.linear.features import Features, action_part, random_fourier, state_part
from emuq.planning import iteration as planning
from emuq.planning import support, transitions
from emuq.planning import targets as bellman
from emuq.planning.targets import Rules, balance
from reference import Reference

pytestmark = pytest.mark.usefixtures("x64")

STATES, CHOICES = 6, 3
GAUSS = np.polynomial.legendre.leggauss(40)


@dataclasses.dataclass(frozen=True)
class Exact(Options):
    """Options of a plan that sweeps on until nothing changes any more."""

    improvements: int = 2
    tolerance: float = 1e-12

    @property
    def rules(self) -> Rules:
        rules = super().rules
        return dataclasses.replace(rules, improvements=self.improvements, tolerance=self.tolerance)


def exactly(options, **changes):
    """These options, but for some, of a plan that sweeps on."""
    return Exact(**(dataclasses.asdict(options) | changes))


def beginning(basis, options):
    """A state of no data, that looks ahead on nothing."""
    dims = basis.features.state_frequencies.shape[1], basis.actions.shape[1]
    nothing = support.nothing(basis.actions, dims[0])
    return init(basis, nothing, options, jax.random.key(0))


def tabular() -> Features:
    """A feature map that tells all state-action pairs apart: a complete Fourier basis of the grid."""
    count = STATES * CHOICES
    grid = np.stack(np.meshgrid(np.arange(STATES), np.arange(CHOICES), indexing="ij"), -1).reshape(count, 2)
    # cos(pi i (x + 1/2) / n) over both axes is the discrete cosine transform: orthogonal, hence complete.
    return Features(jnp.asarray(np.pi * grid[:, :1]), jnp.asarray(np.pi * grid[:, 1:]), 1.0, sines=False)


def where(state, choice):
    return np.array([(state + 0.5) / STATES]), np.array([(choice + 0.5) / CHOICES])


def random_mdp(rng):
    """Every pair once, with a deterministic successor, a reward, and some terminal transitions."""
    following = rng.integers(STATES, size=(STATES, CHOICES))
    rewards = rng.uniform(-1, 1, size=(STATES, CHOICES))
    terminal = rng.random((STATES, CHOICES)) < 0.2
    exploration = -rng.random((STATES, CHOICES))
    return following, rewards, terminal, exploration


def stored(mdp, chunk):
    following, rewards, terminal, _ = mdp
    data = transitions.empty(chunk * 3, 1, 1, jnp.float64)
    for s in range(STATES):
        for a in range(CHOICES):
            state, action = where(s, a)
            data = transitions.append(
                data, state, action, rewards[s, a], where(following[s, a], 0)[0], terminal[s, a]
            )
    return data


def value_iteration(mdp, rewards, stops, discount, bounds, own, other=None, kappa=1.0):
    """max-backups on the table, or backups on the argmax of own * kappa + other."""
    following, _, terminal, _ = mdp
    table = np.zeros((STATES, CHOICES))
    for _ in range(3000):
        scores = table if other is None else other + kappa * table
        best = scores.argmax(axis=1)
        value = np.clip(table[np.arange(STATES), best], *bounds)[following]
        table = rewards + discount * np.where(terminal & stops, 0.0, value)
    return table


@pytest.mark.parametrize("table", [0, 1000], ids=["streamed", "tabled"])
def test_policy_iteration_solves_a_random_mdp_exactly(table, rng):
    features = tabular()
    rules = Rules(
        discount=0.9,
        improvements=300,
        sweeps=500,
        tolerance=1e-12,
        chunk=8,
        table=table,
        single=False,
        u_bounds=(-10.0, 0.0),
    )
    mdp = random_mdp(rng)
    data = stored(mdp, 8)
    candidates = action_part(features, jnp.array([where(0, a)[1] for a in range(CHOICES)]))
    states = np.array([where(s, 0)[0] for s in range(STATES)])
    grid_s, grid_a = (
        np.repeat(states, CHOICES, 0),
        np.tile([where(0, a)[1] for a in range(CHOICES)], (STATES, 1)),
    )
    phi = features(jnp.asarray(grid_s), jnp.asarray(grid_a))
    alpha, beta = 1e-9, 1.0
    s = posterior.covariance(phi.T @ phi, alpha, beta)
    exploration = jnp.zeros(data.capacity).at[: STATES * CHOICES].set(mdp[3].ravel())
    zero = jnp.zeros(features.num_features)
    found = planning.policy_iteration(
        features, candidates, beta * s, data, exploration, zero, zero, jnp.asarray(1.0),
        jnp.array([-10.0, 10.0]), rules,
    )  # fmt: skip
    q = value_iteration(mdp, mdp[1], True, 0.9, (-10.0, 10.0), True)
    np.testing.assert_allclose((phi @ found.q_weights).reshape(STATES, CHOICES), q, atol=1e-5)
    u = value_iteration(mdp, mdp[3], False, 0.9, rules.u_bounds, False, other=q)
    np.testing.assert_allclose((phi @ found.u_weights).reshape(STATES, CHOICES), u, atol=1e-5)
    assert bool(jnp.all(found.converged))


def agent_and_reference(rng, **changes):
    """EMU-Q with the paper's rules and its transcription, on the same features and candidates."""
    candidates = np.linspace(0, 1, 7)[:, None]
    nodes, weights = ((GAUSS[0] + 1) / 2)[:, None], GAUSS[1] / 2
    actions = Actions(candidates, nodes, weights, False, np.zeros(1), np.ones(1))
    options = exactly(
        PAPER, features=30, capacity=256, sweeps=20_000, improvements=1, discount=0.8, **changes
    )
    basis = draw_basis(seed_of(rng), options, 2, choices_of(actions, options))
    state = doubled(beginning(basis, options))
    f = basis.features
    slow = Reference(
        f.state_frequencies,
        f.action_frequencies,
        candidates,
        nodes,
        weights,
        alpha=options.prior_precision,
        gamma=options.discount,
    )
    return state, slow, options


def walk(rng, state, slow, options, steps):
    observe, fold = jax.jit(learn.observe, static_argnames="options"), jax.jit(learn.fold)
    s = rng.random(2)
    for i in range(steps):
        a, following = rng.random(1), np.clip(s + rng.normal(size=2) * 0.1, 0, 1)
        reward, terminal = float(i % 17 == 16), i % 17 == 16
        # Stored in single precision: both see the same numbers.
        s, a, following = (np.float32(x).astype(float) for x in (s, a, following))
        state = observe(state, s, a, reward, following, np.bool_(terminal), 1.0, options)
        if int(state.blocked.used) == len(state.blocked.rows):
            state = fold(state)
        slow.step(s, a, reward, following, terminal)
        s = following
    return state, slow, options


def test_steps_and_plan_equal_the_transcription_of_algorithm_2(rng):
    state, slow, options = walk(rng, *agent_and_reference(rng), 150)
    np.testing.assert_allclose(learn.fold(state).blocked.covariance, slow.S, atol=1e-8)
    np.testing.assert_allclose(state.blocked.weights, np.stack([slow.m_q, slow.m_u], -1), atol=1e-6)
    planned = jax.jit(plan, static_argnames="options")(state, jnp.asarray(1.0), options)
    slow.end_episode(tolerance=1e-12)
    np.testing.assert_allclose(planned.blocked.weights[:, 1], slow.m_u, atol=1e-4)
    np.testing.assert_allclose(planned.blocked.weights[:, 0], slow.m_q, atol=1e-6)


def test_an_own_argmax_for_q_is_not_the_balanced_one(rng):
    plans = []
    for q_policy in ("own", "balanced"):
        twin = np.random.default_rng(1)
        state, _, options = walk(twin, *agent_and_reference(twin, q_policy=q_policy), 60)
        plans.append(plan(state, jnp.asarray(1.0), options).blocked.weights[:, 0])
    assert float(jnp.max(jnp.abs(plans[0] - plans[1]))) > 1e-3


@pytest.mark.parametrize("end", ["reset", "state", "zero"])
def test_after_a_terminal_state_q_stops_and_u_goes_on_where_it_is_told(end, rng):
    """One transition: m_U = S phi t, so that t = r^e(s') + gamma phi(s', a*)'S phi t can be solved for t."""
    options = Exact(features=20, capacity=256, exploration_end=end, sweeps=5000, exploration_discount=0.9)
    actions = Actions(np.eye(2), np.eye(2), np.full(2, 0.5), True, np.zeros(1), np.ones(1))
    basis = draw_basis(seed_of(rng), options, 1, choices_of(actions, options))
    here, action = jnp.array([0.2]), jnp.array([1.0, 0.0])
    state = learn.begin(doubled(beginning(basis, options)), here)
    state = learn.observe(
        state, here, action, jnp.asarray(1.0), jnp.array([0.9]), jnp.asarray(True), jnp.asarray(1.0), options
    )
    after = np.float32(0.2 if end == "reset" else 0.9)  # data are in single precision
    assert float(state.data.next_states[0, 0]) == np.float32(
        0.9
    )  # what was observed, whatever U goes on with
    kappa = 0.01  # so small that U does not change the policy it is evaluated under
    planned = plan(state, jnp.asarray(kappa), options)
    q, u, _ = act.values(planned, here[None], action[None], False)
    assert float(q[0]) == pytest.approx(1.0, abs=0.05)
    phi = basis.features(state.data.states[0].astype(float), action)
    gain = planned.covariance @ phi  # beta = 1
    ahead = jnp.array([[float(after)]] * 2), jnp.eye(2)
    next_q, next_u, _ = act.values(planned, *ahead, False)
    best = int(np.argmax(next_q + kappa * next_u))
    r_e = float(learn.exploration_reward(planned, state_part(basis.features, ahead[0][0]), options))
    goes_on = 0.0 if end == "zero" else 0.9
    target = r_e / (1 - goes_on * float(basis.features(*ahead)[best] @ gain))
    assert target < 1.1 * r_e or end == "zero"  # what comes after weighs in
    assert float(u[0]) == pytest.approx(float(phi @ gain) * target, abs=1e-5)


def test_bounds_of_q_follow_the_rewards():
    one = jnp.array([-1.0, 1.0])
    np.testing.assert_allclose(bellman.widen(0 * one, jnp.asarray(0.0), jnp.asarray(False), 0.9), 0 * one)
    np.testing.assert_allclose(bellman.widen(0 * one, jnp.asarray(0.01), jnp.asarray(True), 0.9), 0.01 * one)
    np.testing.assert_allclose(bellman.widen(one, jnp.asarray(1.0), jnp.asarray(True), 0.9), one)
    np.testing.assert_allclose(bellman.widen(one, jnp.asarray(-1.0), jnp.asarray(False), 0.9), 10 * one)
    np.testing.assert_allclose(bellman.widen(one, jnp.asarray(50.0), jnp.asarray(True), 0.9), 50 * one)
    for unit in (1e-3, 1.0, 1e3):
        assert float(bellman.in_units(jnp.asarray(0.5), unit * one)) == pytest.approx(0.5 * unit)
    assert float(bellman.in_units(jnp.asarray(0.5), 0 * one)) == 0.5  # nothing was paid: Q is 0


def test_sweeps_stop_before_they_diverge():
    rules = Rules(sweeps=500, tolerance=1e-9)
    start, constant = jnp.ones((2, 3)), jnp.ones(3)
    factors = jnp.array([[1.2], [0.5]])  # the one diverges, the other does not: each stops for itself
    m, _, sweeps, converged = planning.settle(lambda m: constant + factors * m, start, rules, planning.GROWTH)
    assert converged.tolist() == [False, True]
    assert int(sweeps[0]) == 5  # 1.2^4 > 2
    assert float(jnp.max(jnp.abs(m[0]))) < 10
    np.testing.assert_allclose(m[1], 2.0, atol=1e-8)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_single_precision_of_products_hardly_changes_a_plan(preset, rng):
    count, scores = 600, {}
    states = rng.random((count + 1, 2))
    actions, queries = rng.random((count, 1)), rng.random((200, 3))
    options = exactly(PRESETS[preset], features=60, capacity=1024, improvements=1, tolerance=1e-4)
    for precision in ("single", "double"):
        basis = draw_basis(np.uint32(0), options, 2, choices_of(actions_of(Box(-1, 1, (1,))), options))
        state = beginning(basis, options)
        state = doubled(state) if precision == "double" else state
        data = state.data._replace(
            states=state.data.states.at[:count].set(states[:-1].astype("f4")),
            next_states=state.data.next_states.at[:count].set(states[1:].astype("f4")),
            actions=state.data.actions.at[:count].set(actions.astype("f4")),
            rewards=state.data.rewards.at[:count:50].set(1.0),
            terminal=state.data.terminal.at[:count:50].set(True),
            ended=state.data.ended.at[:count:50].set(True),
            count=jnp.int32(count),
        )
        planned = plan(state._replace(data=data), jnp.asarray(1.0), options)
        asked = map(jnp.asarray, (queries[:, :2], queries[:, 2:]))
        scores[precision] = basis.features(*asked) @ planned.blocked.weights
    spread = np.ptp(scores["double"], axis=0)
    assert (spread > 0.1).all()
    assert (np.abs(scores["single"] - scores["double"]) < 1e-2 * spread).all()


def test_exploration_rewards_lie_between_minus_one_and_zero(rng):
    features = random_fourier(seed_of(rng), 40, 2, 1)
    data = transitions.empty(512, 2, 1)
    for _ in range(300):
        data = data._replace(count=data.count + 1)
    data = data._replace(next_states=jnp.asarray(rng.random((512, 2)), jnp.float32))
    basis = box_moments(features, jnp.zeros(1), jnp.ones(1))
    for scale in (0.0, 1.0, 100.0):
        form = quadratic_form(features, basis, scale * jnp.eye(40))
        rewards = bellman.exploration_rewards(features, basis, form, 100.0, data, 256)[:300]
        np.testing.assert_allclose(rewards, scale / 100 - 1, atol=1e-9)


def test_kappa_zero_is_q_alone_and_infinity_is_u_alone():
    q, u = jnp.array([1.0, 2.0]), jnp.array([-5.0, -50.0])
    np.testing.assert_array_equal(balance(q, u, jnp.asarray(0.0)), q)
    np.testing.assert_array_equal(balance(q, u, jnp.asarray(jnp.inf)), u)
    np.testing.assert_array_equal(balance(q, u, jnp.asarray(2.0)), q + 2 * u)
