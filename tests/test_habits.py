"""Habits that newcomers bring from other libraries: lengths, ids, callbacks, how to ask for an action."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from emuq.errors import InputError
from places import AGENTS, BOX, Line, agent, place


def one_line(error) -> bool:
    return "\n" not in str(error.value) and len(str(error.value)) < 400


@pytest.mark.parametrize("number", [2.5, 0, -1, "3", True, float("inf")])
@pytest.mark.parametrize("name", ["episodes", "steps", "total_timesteps"])
def test_lengths_are_whole_numbers(name, number):
    learner = agent("random", place("random"))
    with pytest.raises(InputError, match=name) as caught:
        learner.learn(**{name: number}, progress=False)
    assert one_line(caught)
    assert len(learner.history) == 0


def test_total_timesteps_are_steps():
    one, other = agent("random", place("random")), agent("random", place("random"))
    one.learn(total_timesteps=17, progress=False)
    other.learn(steps=17, progress=False)
    assert one.num_transitions == 17
    assert one.history.to_dict() == other.history.to_dict()
    with pytest.raises(InputError, match="exactly one"):
        one.learn(steps=3, total_timesteps=3)


@pytest.mark.parametrize("name", [name for name in AGENTS if not AGENTS[name][2]])
def test_an_id_is_an_environment(name):
    learner = agent(name, "emuq/MountainCar-v0")
    assert learner.env is not None
    assert learner.env.spec.id == "emuq/MountainCar-v0"


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("emuq/Mountain-v0", "env is 'emuq/Mountain-v0'"),
        (None, "env is None: expected a Gymnasium environment"),
        (Line, "expected a Gymnasium environment"),
    ],
)
@pytest.mark.parametrize("name", ["emuq", "rffq", "dora", "rnd", "vime", "random", "epsilon-greedy"])
def test_what_is_no_environment_is_refused_in_one_line(name, env, message):
    with pytest.raises(InputError, match=message) as caught:
        agent(name, env)
    assert one_line(caught)
    learner = agent(name, place(name))
    if env is not None:
        with pytest.raises(InputError, match=message):
            learner.learn(episodes=1, env=env, progress=False)


@pytest.mark.parametrize("name", ["rffq", "dora", "rnd", "vime", "random", "epsilon-greedy"])
def test_copies_that_step_together_are_refused_by_agents_that_learn_in_one(name):
    copies = gym.vector.SyncVectorEnv([lambda: Line(BOX)] * 2)
    with pytest.raises(InputError, match="a vector of environments: expected a single one") as caught:
        agent(name, copies)
    assert one_line(caught)
    with pytest.raises(InputError, match="a vector of environments: expected a single one"):
        agent(name, place(name)).learn(episodes=1, env=copies, progress=False)


def test_every_one_of_several_callbacks_hears_everything_and_each_may_stop():
    first, second = [], []
    learner = agent("random", place("random"))
    callbacks = [
        lambda event: second.append(event.kind) or len(second) < 7,
        lambda event: first.append(event.kind),
    ]
    learner.learn(episodes=3, callback=callbacks, progress=False)
    assert first == second == ["step"] * 7 + ["episode"]
    learner.learn(episodes=1, callback=[], progress=False)
    for wrong in (3, [print, "x"], object()):
        with pytest.raises(InputError, match="callback is") as caught:
            learner.learn(episodes=1, callback=wrong, progress=False)
        assert one_line(caught)


@pytest.mark.parametrize("name", AGENTS)
def test_stable_baselines3s_way_to_ask_for_an_action(name):
    env = place(name)
    learner = agent(name, env)
    learner.learn(episodes=1, progress=False)
    observations = [env.reset()[0], env.step(env.action_space.sample())[0]]
    batch = np.array(observations)
    actions, state = learner.predict(batch, state=None, episode_start=np.ones(2, bool), deterministic=True)
    assert state is None
    assert actions.shape == (2, *env.action_space.shape)
    assert all(env.action_space.contains(action) for action in actions)
    if name != "random":
        np.testing.assert_array_equal(actions, [learner.predict(one)[0] for one in observations])
    assert learner.predict(observations[0], None, None, False)[1] is None
    with pytest.raises(InputError, match="state is"):
        learner.predict(observations[0], state=np.zeros(3))


def evaluate_policy(model, env, n_eval_episodes=3):
    """What Stable-Baselines3's function of this name asks of a model, on a vector of one environment."""
    returns, states = [], None
    for _ in range(n_eval_episodes):
        observation, total, start, over = env.reset()[0], 0.0, True, False
        while not over:
            actions, states = model.predict(
                np.stack([observation]), state=states, episode_start=np.array([start]), deterministic=True
            )
            observation, reward, terminated, truncated, _ = env.step(actions[0])
            total, start, over = total + reward, False, terminated or truncated
        returns.append(total)
    return np.mean(returns), np.std(returns)


@pytest.mark.parametrize("name", ["emuq", "vime", "exploration-values"])
def test_evaluate_policy_finds_what_evaluate_finds(name):
    learner = agent(name, place(name))
    learner.learn(episodes=1, progress=False)
    assert evaluate_policy(learner, place(name)) == (1.0, 0.0)
