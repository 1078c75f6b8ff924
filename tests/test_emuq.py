"""EMU-Q as a user meets it: kappa, learning, saving, resuming, looking inside, and what is refused."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import emuq
from cars import SMALL, car, weights
from doubling import doubled, in_double
from emuq.agents.actions import actions_of, from_index
from emuq.agents.emuq import learn, programs, schedule
from emuq.agents.emuq.act import act as act_now
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.state import agent_key, beginning, choices_of
from emuq.agents.episodes import Transition, reset_seed
from emuq.agents.spaces import scaling_of
from emuq.errors import InputError
from emuq.kappa import Outcome, as_controller
from emuq.linear.features import state_part
from emuq.precision import double


def columns(agent):
    return agent.history.to_dict()


def walk_by_pure_functions(options, kappa, seed, steps):
    """EMU-Q as its equations have it: observe, act, plan when due or fold a full block at once, finish."""
    env = gym.make("emuq/MountainCar-v0", max_episode_steps=120)
    scaling, actions = scaling_of(env, None)._replace(clip=options.clip), actions_of(env.action_space)
    act, observe = jax.jit(act_now, static_argnums=3), jax.jit(learn.observe, static_argnums=7)
    fold, controller, lengths = jax.jit(learn.fold), as_controller(kappa), []
    planned = looked = used = length = 0
    total = 0.0
    control = controller.init()
    with double():
        state = doubled(beginning(agent_key(seed), options, scaling.dim, choices_of(actions, options)))
        s = jnp.asarray(scaling(env.reset(seed=reset_seed(seed, 0))[0]))
        state, weight = learn.begin(state, s), jnp.asarray(controller.value(control), float)
        index = act(state, s, weight, False)
        for count in range(1, steps + 1):
            result = env.step(from_index(actions, int(index), env.action_space.dtype))
            following, reward, terminated, truncated, info = result
            following = jnp.asarray(scaling(following))
            state = observe(
                state,
                s,
                state.basis.actions[index],
                reward,
                following,
                jnp.asarray(terminated),
                weight,
                options,
            )
            total += reward
            s, used, length = following, used + 1, length + 1
            index = act(state, s, weight, looked > 0)  # before a plan, which no action waits for
            if count >= schedule.next_plan(options, planned) and weight > 0:
                planned, used = count, 0
                state = programs.plan(state, weight, options)
            elif used == len(state.blocked.rows):
                state, used = fold(state), 0
            grown = count - looked >= max(20, 0.15 * looked)
            if np.any(state.data.rewards) and count % 20 == 0 and grown:
                state, looked = programs.look(state, options), count
            if terminated or truncated:
                goal = jnp.asarray(info["is_success"])
                state = learn.finish(state)
                control = controller.update(control, Outcome(total, goal))
                lengths.append(length)
                s = jnp.asarray(scaling(env.reset(seed=reset_seed(seed, len(lengths)))[0]))
                state, weight = learn.begin(state, s), jnp.asarray(controller.value(control), float)
                index, length, total = act(state, s, weight, looked > 0), 0, 0.0
    return lengths, np.asarray(state.data.states[:steps])


@pytest.mark.parametrize(("kappa", "interval"), [(1.0, 70), (emuq.kappa.UntilGoal(), 10)])
def test_the_agent_walks_as_its_pure_functions_do(kappa, interval):
    # In double precision: the two fold S at other steps, and the car's motion magnifies what is rounded.
    given = {"refresh": None, "plan_interval": interval}  # 70: a block of S is full before a plan
    lengths, states = walk_by_pure_functions(Options(**(SMALL | given)), kappa, seed=1, steps=400)
    agent = in_double(car(seed=1, kappa=kappa, **given))
    agent.learn(steps=400, progress=False)
    assert len(lengths) >= 1
    assert [episode.length for episode in agent.history][: len(lengths)] == lengths
    np.testing.assert_allclose(agent.whole_state().data.states[:400], states, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"plan_interval": None}, {"plan_interval": 1000, "kappa": 1.0}])
def test_resuming_equals_never_having_stopped(tmp_path, options):
    whole, half = car(seed=3, **options), car(seed=3, **options)
    whole.learn(episodes=6, progress=False)
    half.learn(episodes=3, progress=False)
    half.save(tmp_path / "half.emuq")
    resumed = emuq.EMUQ.load(tmp_path / "half.emuq", gym.make("emuq/MountainCar-v0", max_episode_steps=120))
    assert resumed.kappa == half.kappa
    resumed.learn(episodes=3, progress=False)
    assert columns(resumed) == columns(whole)
    np.testing.assert_array_equal(weights(resumed), weights(whole))


def test_learning_steps_at_a_time_keeps_whole_numbers_of_steps():
    agent = car()
    assert len(agent.learn(steps=150, progress=False)) == 2
    assert agent.history[-1].steps == agent.num_transitions == 150


def test_kappa_zero_acts_on_q_alone_and_infinity_on_u_alone():
    agent = car(kappa=1.0)
    agent.learn(episodes=2, progress=False)
    observations = np.random.default_rng(0).uniform([-1.2, -0.07], [0.6, 0.07], (40, 2))

    def actions(kappa):
        return np.array([agent.predict(o, kappa=kappa)[0][0] for o in observations])

    exploit, explore = actions(0.0), actions(float("inf"))
    assert np.any(exploit != explore)
    with double():
        blocked = agent.whole_state().blocked
        garbled = blocked.weights.at[:, 1].multiply(-3.0)
        agent._runtime.replace(agent.whole_state()._replace(blocked=blocked._replace(weights=garbled)))
        np.testing.assert_array_equal(actions(0.0), exploit)
        garbled = blocked.weights.at[:, 0].multiply(-3.0)
        agent._runtime.replace(agent.whole_state()._replace(blocked=blocked._replace(weights=garbled)))
        np.testing.assert_array_equal(actions(float("inf")), explore)


def with_random_q(agent):
    """The agent with some Q, which a car that never met the goal has not."""
    with double():
        state = agent.whole_state()
        q = np.random.default_rng(0).normal(scale=3.0, size=len(state.blocked.weights))
        blocked = state.blocked._replace(weights=state.blocked.weights.at[:, 0].set(q))
        agent._runtime.replace(state._replace(blocked=blocked))
    return agent


def test_kappa_turned_between_two_steps_bears_on_the_next_action():
    agent = with_random_q(car(kappa=1.0, lookahead=0, refresh=None, plan_interval=None))
    taken, expected, other = [], [], []

    def turn(event):
        if event.kind == "step":
            taken.append(event.transition.action[0])
            observation, turned = event.transition.next_observation, 1.0 - agent.kappa
            expected.append(agent.predict(observation)[0][0])
            other.append(agent.predict(observation, kappa=turned)[0][0])
            agent.kappa = turned

    agent.learn(steps=40, callback=turn, progress=False)
    assert taken[1:] == expected[:-1]
    assert sum(a != b for a, b in zip(expected, other, strict=True)) > 10  # it is kappa that decides


def test_greedy_action_is_the_best_candidate():
    agent = car(kappa=0.7, lookahead=0)
    agent.learn(episodes=1, progress=False)
    with_random_q(agent)
    low, high, candidates = agent._actions.low, agent._actions.high, agent._actions.candidates
    grid = low + candidates * (high - low)
    best = []
    for observation in np.random.default_rng(1).uniform([-1.2, -0.07], [0.6, 0.07], (30, 2)):
        q, u, variance = agent.values(np.tile(observation, (len(grid), 1)), grid)
        action, none = agent.predict(observation)
        assert none is None
        np.testing.assert_allclose(action, grid[np.argmax(q + 0.7 * u)])
        assert np.all((variance > 0) & (variance <= 1 / agent.settings.prior_precision))
        best.append([np.argmax(x) for x in (q + 0.7 * u, q, u)])
    both, q_alone, u_alone = np.array(best).T
    assert np.any(both != q_alone)  # a kappa that was ignored would show,
    assert np.any(both != u_alone)  # and one that was infinite


def test_a_transition_is_followed_through_eight_files():
    """Project files that one `_start` and one `_advance` go through, once all is compiled.

    A transition that folds, one that plans and one that does neither; features and looks are another story.
    """
    root, files, plans = str(Path(emuq.__file__).parent), set(), []
    agent = car(kappa=1.0, plan_interval=40, refresh=None)
    agent.learn(episodes=9, until="goal", progress=False)
    agent.learn(episodes=2, progress=False)
    agent.look()  # none is due in what follows
    env = agent.env
    observation, _ = env.reset(seed=0)

    def watch(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(root):
            files.add(frame.f_code.co_filename)

    def watched(call, *given):
        sys.setprofile(watch)
        try:
            return call(*given)
        finally:
            sys.setprofile(None)

    before = np.array(agent.whole_state().basis.features.state_frequencies)
    action = watched(agent._start, observation)
    for _ in range(60):
        following, reward, terminated, truncated, _ = env.step(action)
        given = Transition(observation, action, float(reward), following, terminated, truncated, False)
        planned = agent.planned
        action, observation = watched(agent._advance, given), following
        plans.append(agent.planned > planned)
    assert 0 < sum(plans) < 40
    np.testing.assert_array_equal(before, agent.whole_state().basis.features.state_frequencies)
    assert len(files) <= 8, sorted(files)


def test_room_doubles_and_nothing_is_lost(tmp_path):
    agent = car(capacity=256, kappa=1.0)
    agent.learn(episodes=3, progress=False)
    assert agent.num_transitions > 256
    assert agent.whole_state().data.capacity == 512
    agent.save(tmp_path / "grown.emuq")
    again = emuq.EMUQ.load(tmp_path / "grown.emuq", agent.env)
    np.testing.assert_array_equal(again.whole_state().data.states, agent.whole_state().data.states)


def test_it_solves_a_chain_that_chance_does_not():
    env = gym.make("emuq/Chain-v0", length=40, max_episode_steps=160)
    agent = emuq.EMUQ(env, seed=0, features=100, capacity=1024)
    assert agent.learn(episodes=4, until="goal", progress=False).first_goal is not None
    chance = emuq.RandomAgent(env, seed=0)
    assert chance.learn(episodes=4, until="goal", progress=False).first_goal is None


def test_the_paper_preset_is_algorithm_2():
    agent = emuq.EMUQ(gym.make("emuq/MountainCar-v0"), preset="paper")
    settings = agent.settings
    assert (settings.plan_interval, settings.q_policy, settings.mixture) == (None, "balanced", 0.0)
    assert agent.kappa == 1.0


def test_without_an_interval_it_plans_at_the_end_of_each_episode_and_only_then():
    agent, seen = car(kappa=1.0, plan_interval=None), set()
    agent.learn(episodes=2, callback=lambda event: seen.add(agent.planned), progress=False)
    first, second = (episode.steps for episode in agent.history)
    assert seen == {0, first, second}


def test_there_are_fewer_than_twenty_options():
    assert len(dataclasses.fields(Options)) < 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "best"}, "preset is 'best'"),
        ({"feature": 3}, "unknown option 'feature'"),
        ({"block": 8}, "unknown option 'block': expected one of action_lengthscale, capacity"),
        ({"plan_interval": 0}, "plan_interval is 0: expected a whole number from 1, or None"),
        ({"discount": 1.0}, "discount is 1.0"),
        ({"prior_precision": 0.0}, "prior_precision is 0.0"),
        ({"exploration_end": "never"}, "exploration_end is 'never'"),
        ({"seed": -1}, "seed is -1"),
        ({"kappa": -1.0}, "kappa"),
        ({"observation_bounds": ([0, 0, 0], [1, 1, 1])}, "observation_bounds"),
    ],
)
def test_bad_options_get_one_clear_line(options, message):
    with pytest.raises(InputError, match=message) as caught:
        car(**options)
    assert "\n" not in str(caught.value)


def test_bad_observations_are_refused_and_work_is_kept():
    agent = car()
    agent.learn(episodes=1, progress=False)
    with pytest.raises(InputError, match=r"observation has nan at index 1"):
        agent.predict(np.array([0.0, np.nan]))
    with pytest.raises(InputError, match=r"observation has shape \(3,\): expected \(2,\)"):
        agent.predict(np.zeros(3))
    assert agent.num_transitions > 0
    with pytest.raises(InputError, match="exactly one of the two"):
        agent.learn()
    with pytest.raises(InputError, match="episodes is 0"):
        agent.learn(episodes=0)


@pytest.mark.parametrize("damage", ["cut", "altered", "foreign", "missing", "other agent"])
def test_a_bad_checkpoint_is_refused_in_one_line(damage, tmp_path):
    agent, path = car(), tmp_path / "agent.emuq"
    agent.save(path)
    raw = path.read_bytes()
    if damage == "cut":
        path.write_bytes(raw[: len(raw) // 2])
    elif damage == "altered":
        path.write_bytes(raw[:2000] + bytes(b ^ 255 for b in raw[2000:2100]) + raw[2100:])
    elif damage == "foreign":
        path.write_text("a recipe for bread")
    elif damage == "missing":
        path.unlink()
    else:
        emuq.RandomAgent(agent.env, seed=0).save(path)
    with pytest.raises(InputError) as caught:
        emuq.EMUQ.load(path, agent.env)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_pictures_are_written(tmp_path):
    agent = car()
    agent.learn(episodes=2, progress=False)
    emuq.plot.value_map(agent, tmp_path / "map.png", resolution=20)
    emuq.plot.learning_curve(agent.history, tmp_path / "curve.png")
    for name in ("map.png", "curve.png"):
        assert (tmp_path / name).read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(InputError, match="dims is"):
        emuq.plot.value_map(agent, dims=(0, 0))
    assert [len(path) for path in agent.trajectories()] == [e.length for e in agent.history]


def test_tensorboard_gets_a_row_an_episode(tmp_path):
    from emuq.callbacks import TensorBoard

    agent = car()
    with TensorBoard(tmp_path) as board:
        agent.learn(episodes=2, callback=board, progress=False)
    events = list(tmp_path.glob("events.out.tfevents.*"))
    assert len(events) == 1
    assert b"episode/kappa" in events[0].read_bytes()


def test_how_the_agent_is_doing_is_logged_now_and_then():
    from emuq.callbacks import Metrics

    rows = []
    agent = car()
    agent.learn(episodes=6, callback=Metrics(lambda numbers, step: rows.append(numbers)), progress=False)
    assert [("model/error" in row, "explore/left" in row) for row in rows] == [
        (i == 5,) * 2 for i in range(1, 7)
    ]
    insight = rows[4]
    assert 0 < insight["explore/left"] < 1
    assert 0 < insight["model/error"] < 1, "better than to foretell no change"
    assert insight["model/ahead"] >= 0


def test_a_callback_stops_learning():
    agent = car(kappa=1.0)
    history = agent.learn(episodes=5, callback=lambda event: event.kind != "episode", progress=False)
    assert len(history) == 1


def test_exploration_reward_falls_where_the_agent_has_been():
    agent = car(kappa=1.0)
    agent.learn(episodes=1, progress=False)
    seen, unseen = agent.whole_state().data.states[50].astype(float), jnp.array([0.95, 0.05])
    features = agent.whole_state().basis.features
    with double():
        known, unknown = (
            float(learn.exploration_reward(agent.whole_state(), state_part(features, s), agent.settings))
            for s in (seen, unseen)
        )
    assert -1 <= known < unknown <= 0


def test_what_lies_outside_the_bounds_counts_as_at_them():
    bounds = (np.array([-0.6, -0.01]), np.array([-0.4, 0.01]))
    agent = car(kappa=1.0, observation_bounds=bounds)
    agent.learn(episodes=1, progress=False)
    states = np.asarray(agent.whole_state().data.states[: agent.num_transitions])
    assert states.min() >= 0
    assert states.max() <= 1
    free = car(kappa=1.0, observation_bounds=bounds, clip=False)
    free.learn(episodes=1, progress=False)
    assert np.asarray(free.whole_state().data.states[: free.num_transitions]).max() > 1
