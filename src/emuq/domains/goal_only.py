"""Any Gymnasium environment, made goal-only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym

from emuq.errors import InputError

Predicate = Callable[[Any, float, dict], bool]
TERMINATION = "termination"


class GoalOnly(gym.Wrapper):
    """+1 and termination at the goal, -1 and termination at a failure, 0 elsewhere.

    `goal` and `failure` are predicates on (observation, reward, info) after a step, the reward being the
    inner environment's own; or "termination", the inner environment's own ending. A termination that is
    neither is kept, with reward 0: nothing goes on after it. A failure wins over a goal in the same step.
    `info["is_success"]` is in every step's info, and `info["reward"]` keeps the inner environment's reward.

    Args:
        env: The environment.
        goal: When an episode has reached the goal.
        failure: When it has failed; None: never.

    Raises:
        InputError: If `goal` or `failure` is neither a function nor "termination", or both are that.

    Examples:
        >>> import gymnasium as gym, emuq
        >>> def far(observation, reward, info): return observation[0] > 0.3
        >>> env = emuq.GoalOnly(gym.make("CartPole-v1"), goal=far, failure="termination")
        >>> observation, _ = env.reset(seed=0)
        >>> observation, reward, terminated, truncated, info = env.step(0)
        >>> reward, info["is_success"], info["reward"]
        (0.0, False, 1.0)
    """

    def __init__(self, env: gym.Env, goal: Predicate | str, failure: Predicate | str | None = None) -> None:
        super().__init__(env)
        self._goal = _check("goal", goal)
        self._failure = None if failure is None else _check("failure", failure)
        if goal == TERMINATION and failure == TERMINATION:
            raise InputError("goal and failure are both 'termination': expected at most one of them")

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        observation, inner, ended, truncated, info = self.env.step(action)
        failure = self._failure is not None and _holds(self._failure, observation, inner, info, ended)
        goal = not failure and _holds(self._goal, observation, inner, info, ended)
        terminated = bool(ended) or goal or failure
        info = {**info, "is_success": goal, "reward": inner}
        reward = 1.0 if goal else -1.0 if failure else 0.0
        return observation, reward, terminated, bool(truncated) and not terminated, info


def _check(what: str, predicate: Predicate | str) -> Predicate | str:
    if callable(predicate) or predicate == TERMINATION:
        return predicate
    raise InputError(
        f"{what} is {predicate!r}: expected a function of (observation, reward, info) or {TERMINATION!r}"
    )


def _holds(predicate: Predicate | str, observation: Any, reward: Any, info: dict, ended: bool) -> bool:
    if callable(predicate):
        return bool(predicate(observation, float(reward), info))
    return bool(ended)
