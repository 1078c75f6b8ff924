"""Learning with the live page open in a browser, over learning without it, in one run.

Both do the same work: the agent goes back to one checkpoint before each stretch of steps, and what it learns
from there is the same, bit for bit. Stretches with the page open and without alternate. The other number is
how long it takes from a click on the page until the agent has the new kappa, once all is compiled.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time

import gymnasium as gym
import numpy as np
from playwright.sync_api import sync_playwright

import emuq
from emuq import dispatch
from emuq.livepage.orders import parse
from timing import report

PAIRS, STEPS, CLICKS = 5, 250, 5
WARM = 300  # steps before the checkpoint


def steps(page) -> int:
    return page.do(lambda agent: agent.num_transitions)


def speed(page) -> float:
    """Steps a second, from the checkpoint on."""
    page._learner.ask(parse('{"do": "load"}')).result()
    began, first = time.perf_counter(), steps(page)
    while (last := steps(page)) < first + STEPS:
        time.sleep(0.05)
    return (last - first) / (time.perf_counter() - began)


def latency(page, tab) -> float:
    """Seconds from a click until the agent acts on the kappa that was clicked."""
    kappa = 0.0 if page.do(lambda agent: agent.kappa) else 1.0
    began = time.perf_counter()
    tab.locator(f"[data-kappa='{kappa:g}']").click()
    while page.do(lambda agent: agent.kappa) != kappa:
        pass
    return time.perf_counter() - began


def main() -> None:
    dispatch.inline()
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    env = gym.make("emuq/MountainCar-v0", render_mode="rgb_array")
    agent = emuq.EMUQ(env, seed=0, kappa=1.0, capacity=16384)
    with tempfile.TemporaryDirectory() as out, emuq.live(agent, out=out) as page, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        while steps(page) < WARM:
            time.sleep(0.5)
        page._learner.ask(parse('{"do": "save"}')).result()
        speed(page)  # compiles what is left to compile
        with_page, without = [], []
        for _ in range(PAIRS):
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            tab.goto(page.url)
            tab.locator("#frame").wait_for()
            with_page.append(speed(page))
            tab.close()
            without.append(speed(page))
            print(f"{with_page[-1]:.0f} steps/s with the page open, {without[-1]:.0f} without", flush=True)
        tab = browser.new_page()
        tab.goto(page.url)
        late = [latency(page, tab) for _ in range(2 * CLICKS)][CLICKS:]
        browser.close()
    ratios = np.array(with_page) / np.array(without)
    row = {
        "open, steps/s": float(np.median(with_page)),
        "without, steps/s": float(np.median(without)),
        "ratio": float(np.median(ratios)),
        "lowest": float(ratios.min()),
        "highest": float(ratios.max()),
        "click to kappa, ms": 1e3 * float(np.median(late)),
        "slowest, ms": 1e3 * float(np.max(late)),
    }
    report("EMU-Q on MountainCar with the live page open", [row], "Bars: ratio >= 0.8, slowest <= 1000.")


if __name__ == "__main__":
    main()
