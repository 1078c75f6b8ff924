"""Makes the pictures of `live.md` and the README's animation, from runs in a real browser.

python docs/live.py
"""

from __future__ import annotations

import io
import os
import pathlib
import shutil
import tempfile
import time

import gymnasium as gym
from PIL import Image
from playwright.sync_api import sync_playwright

import emuq
from emuq.livepage.learner import Order
from emuq.livepage.orders import parse

IMAGES = pathlib.Path(__file__).resolve().parent / "images" / "live"
WIDTH = 800  # pixels of the animation
EXPLORING, EXPLOITING, STEPS = 36, 24, 10  # pictures while it does, and steps from one to the next
# Of the whole page the animation has the slider, the car and U.
STYLE = """
main { grid-template-columns: 0.95fr 1fr 1fr !important; }
.more, .four, .maps .row, #map-grid figure:not(:first-child), details, #set-by, .world .buttons { display: none; }
.maps { grid-column: auto !important; } #map-grid { display: block; } #map-u { height: 262px; }
"""


def made(kappa: float, out: str):
    env = gym.make("emuq/MountainCar-v0", render_mode="rgb_array")
    return emuq.live(emuq.EMUQ(env, seed=0, kappa=kappa), out=out)


def steps(page) -> int:
    return page.do(lambda agent: agent.num_transitions)


def walked(page, count: int) -> None:
    """So many steps more, and no other."""
    target = steps(page) + count
    page._learner.ask(Order("walk", lambda learner: setattr(learner, "_allowed", count))).result()
    while steps(page) < target:
        time.sleep(0.02)


def animate(browser, out: str) -> None:
    """U draining as the car explores, then kappa to 0."""
    with made(float("inf"), out) as page:
        tab = browser.new_context(viewport={"width": 1060, "height": 420}, bypass_csp=True).new_page()
        tab.goto(page.url)
        tab.add_style_tag(content=STYLE)
        page._learner.ask(parse('{"do": "pause"}')).result()
        page._learner.ask(parse('{"do": "reset"}')).result()
        frames = []
        for number in range(EXPLORING + EXPLOITING):
            if number == EXPLORING:
                tab.locator("[data-kappa='0']").click()
                while page.do(lambda agent: agent.kappa) != 0:
                    pass
            walked(page, STEPS)
            time.sleep(0.3)  # the browser draws
            frames.append(shrunk(tab.screenshot(clip={"x": 0, "y": 0, "width": 1060, "height": 392})))
    duration = [110] * len(frames)
    duration[EXPLORING - 1] = duration[-1] = 900
    target = IMAGES / "live.webp"
    frames[0].save(target, save_all=True, append_images=frames[1:], duration=duration, loop=0, quality=60)
    print(target, target.stat().st_size)


def shrunk(picture: bytes) -> Image.Image:
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    return whole.resize((WIDTH, round(whole.height * WIDTH / whole.width)), Image.Resampling.LANCZOS)


def photograph(browser, out: str) -> None:
    """The page after some exploration and some exploitation: on a laptop, dark, on a tablet."""
    with made(1.0, out) as page:
        while page.do(lambda agent: len(agent.history)) < 6:
            time.sleep(0.2)
        for order in (
            '{"do": "kappa", "kappa": 0}',
            '{"do": "save"}',
            '{"do": "test", "episodes": 5, "kappa": 0}',
        ):
            page._learner.ask(parse(order)).result()
        while page.do(lambda agent: len(agent.history)) < 16:
            time.sleep(0.2)
        for name, width, scheme in (
            ("laptop", 1280, "light"),
            ("dark", 1280, "dark"),
            ("tablet", 820, "light"),
        ):
            tab = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme
            ).new_page()
            tab.goto(page.url)
            tab.locator("#frame").wait_for()
            tab.wait_for_timeout(2000)
            palette = Image.open(io.BytesIO(tab.screenshot(full_page=True))).convert("RGB").quantize(256)
            palette.save(IMAGES / f"{name}.png", optimize=True)
            tab.close()


def main() -> None:
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    IMAGES.mkdir(parents=True, exist_ok=True)
    os.chdir(tempfile.mkdtemp())  # notes on the page name the folder that a user would have
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        animate(browser, "out/live")
        photograph(browser, "out/live")
        browser.close()


if __name__ == "__main__":
    main()
