"""Learning in a thread of its own, at full speed, with orders carried out between two steps.

An order is a function of the learner that returns what to say about it. It is carried out

    "step"      between two steps,
    "episode"   once the episode under way is over (what needs the environment, or a whole history),
    "cut"       at once, in place of the rest of the episode (what replaces the agent),

always by the learning thread, so that nobody else ever touches the agent.
"""

from __future__ import annotations

import logging
import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

from emuq.agents.base import Agent
from emuq.agents.episodes import Event
from emuq.errors import InputError
from emuq.kappa import Constant, Controller
from emuq.livepage import kept
from emuq.livepage.samples import Audience, Samples
from emuq.livepage.series import episodes, number

LOG = logging.getLogger("emuq.live")
MOST_ORDERS = 64  # that wait: more are refused
NOTES = 6  # of what happened, that the page shows


class Order(NamedTuple):
    """What to do, in one word for the page, and when; a `quiet` one changes nothing that viewers see."""

    name: str
    run: Callable[[Learner], str | None]
    when: str = "step"
    quiet: bool = False


class Learner:
    """`start`, `ask` for something, `close`. Everything below `ask` belongs to the learning thread."""

    def __init__(self, agent: Agent, folder: Path, audience: Audience, last: Path | None = None) -> None:
        self.agent, self.folder = agent, folder
        self.samples = Samples(agent, audience)
        self.paused, self.speed = False, math.inf  # steps a second
        self.notes: deque[str] = deque(maxlen=NOTES)
        self._orders: queue.SimpleQueue[tuple[Order, Future]] = queue.SimpleQueue()
        self._later: list[tuple[Order, Future]] = []  # wait for the end of the episode, or end it
        self._closing = self._cutting = False
        self._allowed = 0  # steps that may be made although learning is paused
        self._stepped = 0.0  # when
        self._first = kept.in_memory(agent)
        self._last = None if last is None else kept.Kept(last, agent.controller, agent._parts())
        self._thread = threading.Thread(target=self._run, name="emuq-learning", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop between two steps. The episode under way is cut, and counts."""
        self._closing = True
        if self._thread.is_alive():
            self.wake()
            self._thread.join()

    def wake(self) -> None:
        """Show the state now, even if paused: somebody has come to see it."""
        self._orders.put((Order("look", lambda learner: None), Future()))

    def ask(self, order: Order) -> Future:
        """Have something done. The future's result is what is said about it, or an `InputError`."""
        if self._orders.qsize() + len(self._later) >= MOST_ORDERS:
            raise InputError(f"{MOST_ORDERS} orders wait already: expected fewer, try again later")
        future: Future = Future()
        self._orders.put((order, future))
        return future

    # The learning thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._closing:
            try:
                self._serve()
                if not (self._closing or self._cutting):
                    self.agent.learn(episodes=1, callback=self._between, progress=False)
            except Exception as error:  # an environment is somebody's own code: say it, and wait
                LOG.exception("learning stopped")
                self.paused = True
                self.note(f"Learning stopped: {type(error).__name__}: {' '.join(str(error).split())}")
            if not self._closing:
                self._between_episodes()
        while self._later or not self._orders.empty():  # whoever waits for an answer gets one
            _, future = self._later.pop() if self._later else self._orders.get()
            future.set_exception(InputError("the page was closed before it was done"))

    def _between(self, event: Event) -> bool:
        """The callback of `learn`: whether to go on."""
        self.samples.see(event)
        if event.kind == "step":
            self._allowed = max(0, self._allowed - 1)
            self._serve()
        return not (self._closing or self._cutting)

    def _serve(self) -> None:
        """Let viewers see, carry out orders, and wait while paused or slowed down."""
        self.samples.take(self.state, now=self.paused)
        while not (self._closing or self._cutting):
            wait = self._wait()
            try:
                order, future = self._orders.get(block=wait > 0, timeout=wait or None)
            except queue.Empty:
                if wait > 0:
                    continue
                break
            self._take(order, future)
            self.samples.take(self.state, now=self.paused and not order.quiet)
        self._stepped = time.perf_counter()

    def _wait(self) -> float:
        """Seconds until the next step is due; an hour, again and again, while paused."""
        if self.paused and not self._allowed:
            return 3600.0
        return max(0.0, self._stepped + 1.0 / self.speed - time.perf_counter())

    def _take(self, order: Order, future: Future) -> None:
        nowhere = order.name == "load" and self._last is None  # refused at once: no episode is cut for it
        if order.when == "step" or nowhere:
            self._carry_out(order, future)
        else:
            self._later.append((order, future))
            self._cutting = self._cutting or order.when == "cut"

    def _between_episodes(self) -> None:
        later, self._later, self._cutting = self._later, [], False
        for order, future in later:
            self._carry_out(order, future)
        if later:
            self.samples.take(self.state, now=True)

    def _carry_out(self, order: Order, future: Future) -> None:
        try:
            said = order.run(self)
        except Exception as error:
            if not isinstance(error, InputError):
                LOG.exception("the order %s failed", order.name)
            self.note(f"{order.name} failed: {error}")
            future.set_exception(error)
            return
        if said:
            self.note(said)
        future.set_result(said)

    def note(self, text: str) -> None:
        self.notes.append(f"step {self.agent.num_transitions:,}: {text}")

    def state(self) -> dict[str, Any]:
        """All but pictures, as JSON has it."""
        agent, samples = self.agent, self.samples
        history = list(agent.history)
        return {
            "steps": agent.num_transitions,
            "episodes": len(history),
            "goals": sum(row.goal for row in history),
            "kappa": number(agent.kappa),
            "controller": type(agent.controller).__name__,
            "set_by": str(agent.controller),
            "paused": self.paused,
            "speed": number(self.speed),
            "rate": samples.rate,
            "dims": samples.maps.dims,
            "waiting": [order.name for order, _ in self._later],
            "checkpoint": self._last is not None,
            "no_picture": samples.no_picture,
            "notes": list(self.notes),
            "history": episodes(history),
            "kappas": samples.kappa.plain(),
            "uncertainty": samples.uncertainty.plain(),
        }

    # What orders do ---------------------------------------------------------------------------------

    def set_kappa(self, kappa: float | Controller) -> str:
        self.agent.kappa = kappa  # type: ignore[assignment]
        if isinstance(self.agent.controller, Constant):
            return f"kappa set to {self.agent.kappa:g} by hand"
        return f"kappa is {self.agent.kappa:g}, from now on set by {self.agent.controller}"

    def pause(self, paused: bool) -> str:
        self.paused, self._allowed = paused, 0
        return "Paused" if paused else "Learning goes on"

    def step(self) -> None:
        self.paused, self._allowed = True, 1

    def test(self, number_of: int, kappa: float) -> str:
        """Episodes that are not learned from."""
        rows = self.agent.evaluate(number_of, kappa=kappa, seed=len(self.agent.history))
        reached = [row.length for row in rows if row.goal]
        steps = f" in {sum(reached) / len(reached):.0f} steps on average" if reached else ""
        doing = "exploiting" if kappa == 0 else "exploring"
        returns = sum(row.total_return for row in rows) / len(rows)
        found = f"{len(reached)} of {len(rows)} reached the goal{steps}"
        return f"Tests, {doing} only: {found}, mean return {returns:.3g}"

    def save(self) -> str:
        self._last = kept.on_disk(self.agent, self.folder)
        return f"Saved {len(self.agent.history)} episodes in {self.folder / kept.CHECKPOINT}"

    def load(self) -> str:
        if self._last is None:
            raise InputError("there is no checkpoint to go back to: save one first")
        return self._go_back(self._last, "the last checkpoint")

    def reset(self) -> str:
        return self._go_back(self._first, "the start")

    def _go_back(self, to: kept.Kept, where: str) -> str:
        kept.go_back(self.agent, to)
        self.samples.went_back()
        return f"Went back to {where}: {len(self.agent.history)} episodes"
