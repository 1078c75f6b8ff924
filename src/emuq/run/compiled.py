"""EMU-Q and a pure-JAX domain in one compiled loop, one seed or many at once.

Steps of all seeds run in lockstep and episodes restart by themselves, so that the number of
transitions, and with it the moments of folding and planning, are the same for every seed: none of the
branches is batched. The loop of episodes, resets and kappa is the same as `Agent.learn`'s, and gives
the same trajectories.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from emuq.agents.emuq import contest, schedule
from emuq.agents.emuq import learn as core
from emuq.agents.emuq.act import act
from emuq.agents.emuq.options import Options
from emuq.agents.emuq.plan import plan
from emuq.agents.emuq.state import State, draw_basis, init, streams
from emuq.agents.episodes import reset_seed
from emuq.agents.spaces import actions_of
from emuq.domains.adapter import action_space
from emuq.domains.base import Domain, episode_keys, step_key
from emuq.errors import InputError
from emuq.kappa import Controller, Outcome, as_controller
from emuq.planning import transitions
from emuq.precision import double
from emuq.run.testing import Tester


class Log(NamedTuple):
    """One entry an episode; `count` episodes are whole."""

    returns: jax.Array
    lengths: jax.Array
    goals: jax.Array
    kappas: jax.Array
    steps: jax.Array
    count: jax.Array  # type: ignore[assignment]  # hides tuple.count, which nobody wants of it


class Carry(NamedTuple):
    """Everything that moves: the agent, the domain, the episode under way, the controller, the log."""

    agent: State
    domain: Any
    stream: jax.Array  # the key of the episode's steps
    observation: jax.Array
    action: jax.Array
    length: jax.Array
    total: jax.Array
    controller: Any
    reset_seeds: jax.Array
    log: Log


class Compiled:
    """Many seeds of EMU-Q on one domain: `run = Compiled(domain, options, seeds); run.steps(1000)`."""

    def __init__(
        self,
        domain: Domain,
        options: Options,
        seeds: Sequence[int],
        kappa: float | Controller,
        max_episodes: int = 100,
    ) -> None:
        if options.fresh:
            raise InputError("fresh is True: seeds in lockstep keep their features, pass fresh=False")
        self.domain, self.options, self.seeds = domain, options, list(seeds)
        self.controller = as_controller(kappa)
        self.actions = actions_of(action_space(domain))
        self._tester = Tester(domain, self.actions, options)
        with double():
            carries = [self._carry(seed, max_episodes) for seed in self.seeds]
            self.carry = jax.tree.map(lambda *x: jnp.stack(x), *carries)
            self.carry = _unbatch(self.carry)
            axes = _axes(self.carry)
            self._walk = jax.jit(
                jax.vmap(self._walk_one, in_axes=(axes, None), out_axes=axes), donate_argnums=0
            )
            self._fold = jax.jit(jax.vmap(self._fold_one, in_axes=(axes,), out_axes=axes), donate_argnums=0)
            self._plan = jax.jit(jax.vmap(self._plan_one, in_axes=(axes,), out_axes=axes), donate_argnums=0)
            self._begin = jax.jit(jax.vmap(self._begin_one, in_axes=(axes,), out_axes=axes))
            self.carry = self._begin(self.carry)
        self.count = self.used = self.planned = 0

    def steps(self, number: int, until: Callable[[Log], bool] | None = None) -> None:
        """Walk `number` steps with every seed, folding and planning when due, or until `until` says so."""
        options = self.options
        with double():
            last = self.count + number
            while self.count < last:
                due = self._next_plan()
                n = min(last - self.count, options.block - self.used, due - self.count)
                self.carry = self._walk(self.carry, n)
                self.count, self.used = self.count + n, self.used + n
                if self.count == due:
                    self.carry = self._plan(self.carry)
                    self.planned, self.used = self.count, 0
                    if until is not None and until(self.carry.log):
                        break
                elif self.used == options.block:
                    self.carry = self._fold(self.carry)
                    self.used = 0

    def _next_plan(self) -> int:
        due = schedule.next_plan(self.options, self.planned)
        if due is None:
            raise InputError("plan_interval is None: seeds in lockstep plan by the number of steps")
        return due

    def _carry(self, seed: int, max_episodes: int) -> Carry:
        basis_rng, key = streams(seed)
        basis = draw_basis(basis_rng, self.options, len(self.domain.observation_low), self.actions)
        agent = init(basis, self.options, key)
        resets = jnp.asarray([reset_seed(seed, i) for i in range(max_episodes + 1)], jnp.int64)
        zeros = functools.partial(jnp.zeros, max_episodes + 1)
        log = Log(zeros(), zeros(jnp.int32), zeros(bool), zeros(), zeros(jnp.int32), jnp.zeros((), jnp.int32))
        reset, stream = episode_keys(resets[0])
        domain = self.domain.reset(reset)
        return Carry(
            agent, domain, stream, self._tester.observe(domain), jnp.zeros((), int), jnp.zeros((), jnp.int32),
            jnp.zeros(()), self.controller.init(), resets, log,
        )  # fmt: skip

    def _begin_one(self, carry: Carry) -> Carry:
        agent = core.begin(carry.agent, carry.observation)
        return carry._replace(agent=agent, action=act(agent, carry.observation, self._kappa(carry)))

    def _fold_one(self, carry: Carry) -> Carry:
        return carry._replace(agent=core.fold(carry.agent))

    def _plan_one(self, carry: Carry) -> Carry:
        agent = plan(carry.agent, self._kappa(carry), self.options)
        # A plan at the very end of an episode comes before the next one's first action, as in `Agent.learn`.
        first = act(agent, carry.observation, self._kappa(carry))
        return carry._replace(agent=agent, action=jnp.where(carry.length == 0, first, carry.action))

    def _kappa(self, carry: Carry) -> jax.Array:
        return jnp.asarray(self.controller.value(carry.controller), jnp.float64)

    def _walk_one(self, carry: Carry, number: jax.Array) -> Carry:
        return jax.lax.fori_loop(0, number, lambda _, c: self._step(c), carry)

    def _step(self, carry: Carry) -> Carry:
        kappa, domain = self._kappa(carry), self.domain
        unit = carry.agent.basis.actions[carry.action]
        raw = self._tester.raw(unit)
        step = domain.step(carry.domain, raw, step_key(carry.stream, carry.length))
        following = self._tester.observe(step.state)
        agent = core.observe(
            carry.agent, carry.observation, unit, step.reward, following, step.terminated, kappa, self.options
        )
        length, total = carry.length + 1, carry.total + step.reward
        over = step.terminated | (length >= domain.horizon)
        # The next episode, where this one is over.
        agent = agent._replace(data=transitions.end(agent.data, over))
        if self.options.hold:
            judged = core.judged(agent, length, step.goal, kappa == 0, self.options)
            agent = agent._replace(contest=contest.when(over, judged, agent.contest))
        i = carry.log.count
        controller = carry.controller
        updated = self.controller.update(controller, Outcome(total, step.goal))
        controller = jax.tree.map(lambda new, old: jnp.where(over, new, old), updated, controller)
        log = carry.log
        row = (total, length, step.goal & over, kappa, agent.data.count)
        log = Log(*(x.at[i].set(new) for x, new in zip(log[:-1], row, strict=True)), count=i + over)
        log = log._replace(count=jnp.minimum(log.count, log.returns.shape[0] - 1))
        reset, stream = episode_keys(carry.reset_seeds[log.count])
        fresh = domain.reset(reset)
        state = jax.tree.map(lambda new, old: jnp.where(over, new, old), fresh, step.state)
        observation = jnp.where(over, self._tester.observe(fresh), following)
        stream = jax.random.wrap_key_data(
            jnp.where(over, jax.random.key_data(stream), jax.random.key_data(carry.stream))
        )
        agent = agent._replace(start=jnp.where(over, observation, agent.start))
        action = act(agent, observation, self._kappa(carry._replace(controller=controller)))
        length, total = jnp.where(over, 0, length), jnp.where(over, 0.0, total)
        return Carry(
            agent, state, stream, observation, action, length, total, controller, carry.reset_seeds, log
        )


def _axes(carry: Carry) -> Carry:
    """0 for everything but the counters that all seeds share."""
    axes = jax.tree.map(lambda _: 0, carry)
    agent = axes.agent
    return axes._replace(
        agent=agent._replace(
            counted=None,
            data=agent.data._replace(count=None),
            blocked=agent.blocked._replace(used=None),
        )
    )


def _unbatch(carry: Carry) -> Carry:
    agent = carry.agent
    return carry._replace(
        agent=agent._replace(
            counted=agent.counted[0],
            data=agent.data._replace(count=agent.data.count[0]),
            blocked=agent.blocked._replace(used=agent.blocked.used[0]),
        )
    )
