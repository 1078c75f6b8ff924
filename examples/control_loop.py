"""A control loop that waits for nobody: EMU-Q on a Furuta pendulum, against the wall clock.

    python examples/control_loop.py                        # 100 Hz, then 1 kHz, ten seconds each
    python examples/control_loop.py --rate 50 --seconds 60 --planning "in step"

The machine is simulated, with a command that acts a step late and a motor that ignores half a volt. Two
things may go wrong, and both are counted: the agent is later than its deadline, so that 0 V are sent
in time (`missed`), and a whole tick of the clock goes by without any command (`overrun`).
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import gymnasium as gym

import emuq


class Paced(gym.Wrapper):
    """A machine that is sampled `rate` times a second: a step ends at the next tick."""

    def __init__(self, env: gym.Env, rate: float) -> None:
        super().__init__(env)
        self.period, self.tick, self.overrun, self.steps = 1 / rate, 0.0, 0, 0

    def reset(self, **options: Any) -> tuple[Any, dict]:
        answer = self.env.reset(**options)
        self.tick = time.perf_counter() + self.period  # the clock starts when the machine stands still
        return answer

    def step(self, action: Any) -> tuple:
        self.steps += 1
        answer = self.env.step(action)
        while (now := time.perf_counter()) > self.tick + self.period:  # a tick has gone by without a command
            self.overrun += 1
            self.tick += self.period
        if now < self.tick:
            time.sleep(self.tick - now)
        self.tick += self.period
        return answer


def control(rate: int, seconds: float, planning: str, seed: int = 0) -> dict[str, float]:
    """Learn at `rate` steps a second; what was missed."""
    machine = gym.make("emuq/Furuta-v0", rate=rate, delay=1, dead_zone=0.5, max_episode_steps=int(10 * rate))
    env = Paced(machine, rate)
    # 0 to 5 V in 1/50 s; a search of several milliseconds is too long for a kilohertz.
    agent = emuq.EMUQ(env, seed=seed, planning=planning, action_rate=50.0 / rate, lookahead=1)
    print(f"{rate} Hz, planning {planning}: compiled in {agent.warmup():.1f} s", flush=True)
    began = time.perf_counter()
    history = agent.learn(steps=int(seconds * rate), deadline=0.8 / rate, safe_action=[0.0], progress=False)
    taken = time.perf_counter() - began
    missed = sum(episode.missed or 0 for episode in history)
    goals, plans = sum(episode.goal for episode in history), len(agent.moments) or "-"
    print(f"  {env.steps} steps in {taken:.1f} s, {len(history)} episodes, {goals} goals, {plans} plans")
    print(f"  missed {missed} ({missed / env.steps:.2%}), overrun {env.overrun}", flush=True)
    return {"steps": env.steps, "missed": missed, "overrun": env.overrun, "seconds": taken}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=int, action="append", help="steps a second; 100 and 1000 by default")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--planning", default="beside", choices=("beside", "in step"))
    args = parser.parse_args()
    emuq.dispatch.inline()  # a step does not wait for another thread to wake up
    emuq.cache.enable()  # what is compiled is kept for the next time
    for rate in args.rate or (100, 1000):
        control(rate, args.seconds, args.planning)


if __name__ == "__main__":
    main()
