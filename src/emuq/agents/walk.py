"""The loop over learning episodes, written once for every agent.

An episode that does not finish, for Ctrl-C, a bad observation or any other error, is closed as if it had been
cut by a time limit, with its row in the history, before the error goes on: what the agent has learned from
and what the history says agree at all times.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import gymnasium as gym
import numpy as np

from emuq.agents import readings
from emuq.agents.deadline import Deadline, InTime, InTurn
from emuq.agents.episodes import Callback, Event, Transition, UnderWay
from emuq.agents.interrupts import Heard, Interrupts
from emuq.agents.summary import remark
from emuq.agents.testing import rollout
from emuq.history import Episode
from emuq.kappa import Outcome, settles
from emuq.progress import Progress

if TYPE_CHECKING:
    from emuq.agents.base import Agent


class Walk:
    """Episode after episode of one agent in one environment."""

    def __init__(
        self,
        agent: Agent,
        env: gym.Env,
        callback: Callback | None,
        bar: Progress,
        ears: Interrupts,
        deadline: Deadline | None = None,
    ) -> None:
        self._limited = None if agent.limits is None else agent.limits.on(env)
        self._agent, self._env, self._bar = agent, Heard(self._limited or env, ears), bar
        self._callback, self._ears, self._deadline = callback, ears, deadline
        self._thread = None if deadline is None else ThreadPoolExecutor(1, thread_name_prefix="emuq-learn")
        self._told = False  # the environment says whether its goal was reached

    def episode(self, limit: int | None) -> tuple[Episode, bool]:
        """One learning episode of at most `limit` steps: its row, and whether learning is to go on."""
        agent = self._agent
        try:
            go_on = self._steps(limit)
        except BaseException:
            if agent.num_transitions > agent.history.steps:
                self._close(tested=False)
            agent._under_way = None
            raise
        row = self._close(tested=True)
        self._bar.episode(row, lambda: remark(agent))
        go_on = self._tell(Event("episode", agent, None, row)) and go_on
        agent._doubts.episode(agent)
        return row, go_on

    def _steps(self, limit: int | None) -> bool:
        """All steps of an episode; whether callbacks want learning to go on."""
        agent, env, space = self._agent, self._env, self._agent.observation_space
        under_way = agent._under_way = UnderWay(agent.kappa, agent.num_transitions)
        observation = readings.reset(env, space, agent._reset_seed(len(agent.history)))
        action, most = agent._start(observation), -math.inf
        before = made = under_way.learned.steps
        answers = self._answers(under_way)
        try:
            while True:
                step = readings.step(env, space, action, made + 1, most)
                made += 1
                most, self._told = max(most, step.reward), step.told
                truncated = step.truncated or made - before == limit
                over = step.terminated or truncated
                goal = over and step.goal
                sent = action if self._limited is None else self._limited.sent
                ends = step.terminated, truncated, goal
                transition = Transition(observation, sent, step.reward, step.observation, *ends)
                action = answers.answer(transition, step, over=over)
                observation = step.observation
                go_on = True
                for seen, told in answers.learned():
                    agent._doubts.step(agent, told)
                    self._bar.step()
                    go_on = self._tell(Event("step", agent, seen)) and go_on
                if over or not go_on:
                    return go_on
        finally:
            answers.close()

    def _answers(self, under_way: UnderWay) -> InTurn | InTime:
        if self._deadline is None or self._thread is None:
            return InTurn(self._agent, under_way)
        return InTime(self._agent, under_way, self._deadline, self._thread)

    def close(self) -> None:
        """No more episodes."""
        if self._thread is not None:
            self._thread.shutdown()

    def _tell(self, event: Event) -> bool:
        return self._callback is None or self._ears.during(self._callback, event) is not False

    def _close(self, *, tested: bool) -> Episode:
        """The episode is over: its row, its tests, and what the controller of kappa makes of it."""
        agent = self._agent
        assert agent._under_way is not None
        row = agent._under_way.row(agent.num_transitions)
        agent.history.append(row)
        agent._under_way = None
        count = agent.controller.test_episodes
        returns = np.full(count, np.nan) if count else None
        try:
            agent._finish(row)
            if tested and returns is not None:
                self._test(returns)
        finally:
            outcome = Outcome(row.total_return, row.goal, returns, self._told)
            agent._control(agent.controller.update(agent._controller_state, outcome))
        return row

    def _test(self, returns: np.ndarray) -> None:
        """Returns of kappa = 0 episodes that are neither learned from nor counted.

        NaN where there is nothing to learn from a test: once kappa is 0, for then the learning episodes are
        such episodes themselves, and after a return that settles the matter.
        """
        agent = self._agent
        for i in range(len(returns) if agent.kappa > 0 else 0):
            returns[i] = rollout(agent, self._env, 0.0, len(agent.history), i)[0]
            if settles(agent.controller, returns[i]):
                break
