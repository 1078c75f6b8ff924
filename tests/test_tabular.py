"""Tabular agents: Algorithm 1 by hand, the common surface, and a compiled run equal to a Gymnasium one."""

import dataclasses

import gymnasium as gym
import numpy as np
import pytest

from emuq.agents.random import RandomAgent
from emuq.agents.tabular.agent import AdditiveRewards, EpsilonGreedy, ExplorationValues
from emuq.agents.tabular.core import Parameters
from emuq.domains.adapter import Environment
from emuq.domains.chain import chain
from emuq.domains.cliff_walking import cliff_walking
from emuq.domains.taxi import taxi
from emuq.errors import InputError
from emuq.exploration import NextStateUncertainty
from emuq.kappa import Budget, Constant, Decay, StopResume, Target
from emuq.run import loop
from emuq.run.lockstep import learn_tabular
from tabular_worlds import Corridor
from test_kappa import Halve

AGENTS = [ExplorationValues, AdditiveRewards, EpsilonGreedy, RandomAgent]
TABULAR = AGENTS[:3]
OF = {
    ExplorationValues: Parameters(by_value=True),
    AdditiveRewards: Parameters(by_reward=True, initial=1.0),
    EpsilonGreedy: Parameters(epsilon=0.1),
}


@pytest.mark.parametrize("agent", TABULAR, ids=lambda kind: kind.name)
@pytest.mark.parametrize("rate", [0.1, 0])
def test_tables_equal_q_learning_written_out_by_hand(agent, rate):
    kappa, discount = 0.5, 0.9
    learner = agent(Corridor(), rate=rate, discount=discount, kappa=kappa, seed=1)
    q = np.full((8, 2), float(OF[agent].initial))
    u, visits = np.zeros((8, 2)), np.zeros((8, 2))

    def record(event):
        if event.transition is None:
            return
        s, a, r, following, terminated, *_ = event.transition
        visits[s, a] += 1
        bonus = 0.0 if visits[s, a] == 1 else -1.0
        step = rate or 1 / visits[s, a]
        paid = r + (kappa * bonus if agent is AdditiveRewards else 0.0)
        ahead = 0.0 if terminated else discount
        q[s, a] += step * (paid + ahead * q[following].max() - q[s, a])
        u[s, a] += step * (bonus + ahead * u[following].max() - u[s, a])

    learner.learn(episodes=4, callback=record, progress=False)
    for s in range(8):
        np.testing.assert_allclose(learner.values(s), (q[s], u[s]), atol=1e-5)


def test_exploration_values_act_on_q_on_u_or_on_both():
    q, u = np.zeros((8, 2), np.float32), np.zeros((8, 2), np.float32)
    q[3], u[3] = (1.0, 0.0), (-2.0, 0.0)
    agent = ExplorationValues(Corridor(), seed=0)
    agent._set_state(agent._state._replace(q=q, u=u))
    assert [agent.predict(3, kappa=k)[0] for k in (0.0, 0.4, 0.6, float("inf"))] == [0, 0, 1, 1]
    agent.kappa = 0.0
    assert agent.predict(3)[0] == 0
    additive = AdditiveRewards(Corridor(), seed=0)
    additive._set_state(additive._state._replace(q=q, u=u))
    assert [additive.predict(3, kappa=k)[0] for k in (0.0, 9.0)] == [0, 0]  # its one table knows no kappa


def test_ties_are_random_over_time_yet_a_policy_that_does_not_learn_is_fixed():
    agent = ExplorationValues(Corridor(), seed=0)
    assert len({agent.predict(2)[0] for _ in range(20)}) == 1
    first = {ExplorationValues(Corridor(), seed=seed).predict(2)[0] for seed in range(20)}
    assert first == {0, 1}


def test_epsilon_greedy_is_random_with_probability_epsilon_kappa():
    actions = []
    agent = EpsilonGreedy(Corridor(length=30), epsilon=0.5, kappa=0.5, rate=1e-6, seed=2)
    agent._set_state(agent._state._replace(q=np.tile(np.float32([1, 0]), (30, 1))))  # left looks best
    agent.learn(
        steps=800, callback=lambda e: e.transition and actions.append(e.transition.action), progress=False
    )
    assert np.mean(actions) == pytest.approx(0.125, abs=0.035)  # a quarter random, half of it right


@pytest.mark.parametrize("agent", AGENTS, ids=lambda kind: kind.name)
def test_save_and_load_go_on_bit_for_bit(agent, tmp_path):
    whole, half = agent(Corridor(), seed=5), agent(Corridor(), seed=5)
    whole.kappa, half.kappa = Decay(0.1), Decay(0.1)
    expected = whole.learn(episodes=8, progress=False)
    half.learn(episodes=3, progress=False)
    half.save(tmp_path / "agent.emuq")
    again = agent.load(tmp_path / "agent.emuq", Corridor())
    assert again.controller == Decay(0.1)
    again.learn(episodes=5, progress=False)
    assert again.history.to_dict() == expected.to_dict()
    assert again.kappa == whole.kappa


def test_parts_of_ones_own_are_passed_to_load_and_go_on(tmp_path):
    path = tmp_path / "agent.emuq"

    @dataclasses.dataclass(frozen=True)
    class Impatience:
        initial: float = 0.0

        def reward(self, visits, state, action, next_state, terminated):
            return -1.0

    agent = ExplorationValues(Corridor(), exploration=Impatience(), kappa=Halve(), seed=0)
    agent.learn(episodes=5, progress=False)
    assert agent.kappa < 1
    agent.save(path)
    with pytest.raises(InputError, match=r"Halve\(start=1.0\)"):
        ExplorationValues.load(path, Corridor())
    with pytest.raises(InputError, match=r"Impatience.*load\(path, env, exploration=\.\.\.\)"):
        ExplorationValues.load(path, Corridor(), kappa=Halve())
    again = ExplorationValues.load(path, Corridor(), kappa=Halve(), exploration=Impatience())
    assert again.kappa == agent.kappa
    assert (
        again.learn(episodes=2, progress=False).to_dict() == agent.learn(episodes=2, progress=False).to_dict()
    )
    assert ExplorationValues.load(path, Corridor(), kappa=0.3, exploration=Impatience()).kappa == 0.3


def test_frozen_agents_learn_nothing_while_kappa_is_zero():
    agent = ExplorationValues(Corridor(), kappa=StopResume(stop=2, resume=4), freeze=True, seed=0)
    agent.learn(episodes=2, progress=False)
    before = np.array(agent._state.q), np.array(agent._state.visits)
    agent.learn(episodes=2, progress=False)
    np.testing.assert_array_equal(before[0], agent._state.q)
    np.testing.assert_array_equal(before[1], agent._state.visits)
    agent.learn(episodes=1, progress=False)
    assert np.asarray(agent._state.visits).sum() > before[1].sum()


def test_target_stops_on_tests_that_leave_learning_alone():
    agent = ExplorationValues(Corridor(), kappa=Target(test_return=0.5, consecutive=3), seed=0)
    plain = ExplorationValues(Corridor(), seed=0)
    history, other = agent.learn(episodes=12, progress=False), plain.learn(episodes=12, progress=False)
    kappas = history.to_dict()["kappa"]
    stop = kappas.index(0.0)
    assert 0 < stop < 12
    assert kappas == [1.0] * stop + [0.0] * (12 - stop)
    assert history[:stop].to_dict() == other[:stop].to_dict()  # tests neither learn nor draw
    assert all(episode.length == 7 for episode in history[stop:])  # it exploits: straight to the goal


@pytest.mark.parametrize("agent", TABULAR, ids=lambda kind: kind.name)
@pytest.mark.parametrize(
    ("domain", "controller"),
    [
        (cliff_walking(), StopResume(2, 3)),
        (dataclasses.replace(taxi(), horizon=60), Target(0.1, 2)),
        (dataclasses.replace(taxi(), horizon=60), Decay(0.5)),
    ],
    ids=["cliff-stop-resume", "taxi-target", "taxi-decay"],
)
def test_a_compiled_run_equals_the_gymnasium_loop(agent, domain, controller):
    seeds, episodes = [3, 4], 4
    curves = learn_tabular(domain, OF[agent], seeds, episodes, controller, freeze=True)
    for i, seed in enumerate(seeds):
        env = gym.wrappers.TimeLimit(Environment(domain), domain.horizon)
        learner = agent(env, kappa=controller, freeze=True, seed=seed)
        columns = learner.learn(episodes=episodes, progress=False).to_dict()
        np.testing.assert_array_equal(columns["return"], curves.returns[i])
        np.testing.assert_array_equal(columns["length"], curves.lengths[i])
        np.testing.assert_array_equal(columns["goal"], curves.goals[i])
        np.testing.assert_array_equal(columns["kappa"], curves.kappas[i])
        np.testing.assert_array_equal(learner._state.q, curves.memories.agent.q[i])
        np.testing.assert_array_equal(learner._state.u, curves.memories.agent.u[i])


def test_compiled_tests_are_greedy_and_stop_exploration_when_the_gymnasium_loops_do():
    # Random walks, which learning episodes are here, would hardly ever be short enough four times in a row.
    domain, target = dataclasses.replace(chain(length=6, observation="index"), horizon=12), Target(0.5, 4)
    parameters = Parameters(epsilon=1.0, rate=0.5)
    curves = learn_tabular(domain, parameters, range(2), 40, target)
    assert 0 < np.sum(curves.kappas == 0) < curves.kappas.size
    for seed in range(2):
        env = gym.wrappers.TimeLimit(Environment(domain), domain.horizon)
        learner = EpsilonGreedy(env, epsilon=1.0, rate=0.5, kappa=target, seed=seed)
        columns = learner.learn(episodes=40, progress=False).to_dict()
        np.testing.assert_array_equal(columns["kappa"], curves.kappas[seed])


def test_a_run_in_a_batch_equals_the_run_alone_and_parameters_may_differ():
    domain = dataclasses.replace(cliff_walking(), horizon=100)
    rates = np.array([0.1, 0.5])
    both = learn_tabular(domain, Parameters(rate=rates, by_value=True), [7, 7], 5, Budget(3))
    for i, rate in enumerate(rates):
        alone = learn_tabular(domain, Parameters(rate=rate, by_value=True), [7], 5, Budget(3))
        np.testing.assert_array_equal(both.returns[i], alone.returns[0])
    assert (both.returns[0] != both.returns[1]).any()


def test_numbers_of_a_domain_and_of_a_schedule_share_one_program():
    loop.walk.clear_cache()
    returns = []
    for slip, scale, controller in ((0.0, 1.0, Constant(1.0)), (0.3, 2.0, Decay(0.1)), (0.0, 1.0, Budget(2))):
        for horizon, episodes in ((80, 4), (100, 6)):
            domain = dataclasses.replace(cliff_walking(slip=slip, reward_scale=scale), horizon=horizon)
            curves = learn_tabular(domain, OF[ExplorationValues], [0, 1], episodes, controller)
            assert curves.returns.shape == (2, episodes)
            assert curves.lengths.max() <= horizon
            returns.append(curves.returns[:, :4])
    assert loop.walk._cache_size() == 1
    assert (returns[0] != returns[2]).any()


def test_exploration_values_explore_where_epsilon_greedy_does_not():
    goals, domain = {}, dataclasses.replace(cliff_walking(), horizon=300)
    for name, parameters in (("values", OF[ExplorationValues]), ("epsilon", OF[EpsilonGreedy])):
        first = parameters._replace(random_ties=False)
        goals[name] = learn_tabular(domain, first, range(20), 10, Constant(1.0)).goals.any(axis=1).mean()
    assert goals["values"] == 1
    assert goals["epsilon"] < 1


@pytest.mark.parametrize("agent", TABULAR, ids=lambda kind: kind.name)
def test_any_discrete_spaces_will_do(agent):
    for env in (Corridor(start=3), Corridor(observation="pair"), gym.make("Blackjack-v1")):
        learner = agent(env, seed=0)
        history = learner.learn(episodes=10, progress=False)
        assert len(history) == 10
        assert env.action_space.contains(learner.predict(env.reset(seed=0)[0])[0])


def test_random_agent_covers_any_action_space_and_repeats_itself():
    for name in ("CartPole-v1", "Pendulum-v1"):
        draws = []
        for _ in range(2):
            env = gym.make(name)
            actions = []
            RandomAgent(env, seed=1).learn(steps=20, callback=lambda e, a=actions: a.append(e.transition.action) if e.transition else None, progress=False)  # fmt: skip # noqa: E501
            assert all(env.action_space.contains(action) for action in actions)
            draws.append(np.array(actions))
        np.testing.assert_array_equal(*draws)
        assert len(np.unique(draws[0])) > 1


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: ExplorationValues(gym.make("CartPole-v1")), "observation space is Box"),
        (lambda: EpsilonGreedy(Corridor(), epsilon=1.5), r"epsilon is 1.5: expected a number in \[0, 1\]"),
        (lambda: ExplorationValues(Corridor(), discount=-0.1), "discount is -0.1"),
        (lambda: AdditiveRewards(Corridor(), initial_value=float("nan")), "initial_value is nan"),
        (lambda: ExplorationValues(Corridor(), seed=0).predict(8), "observation is 8: it lies outside"),
        (lambda: AdditiveRewards(Corridor(), kappa=float("inf")).learn(1, progress=False), "kappa is inf"),
        (lambda: learn_tabular(_continuous(), Parameters(), [0], 1, Constant(1.0)), "is not tabular"),
    ],
)
def test_bad_input_gets_one_clear_line(make, match):
    with pytest.raises(InputError, match=match) as error:
        make()
    assert "\n" not in str(error.value)


def _continuous():
    from emuq.domains.mountain_car import mountain_car

    return mountain_car()


def test_next_state_uncertainty_runs_compiled():
    domain = dataclasses.replace(cliff_walking(), horizon=200)
    curves = learn_tabular(
        domain, OF[ExplorationValues], range(4), 6, Constant(1.0), exploration=NextStateUncertainty()
    )
    assert curves.goals.any(axis=1).all()
    assert (curves.memories.agent.u <= 0).all()
