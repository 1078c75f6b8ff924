"""The live page in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import re
import shutil
import signal

import gymnasium as gym
import pytest

import emuq
from cars import SMALL
from weigher import EXPLOIT, Walkway, Weigher

pytest.importorskip("starlette", reason="the extra live is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

CHROMIUM = shutil.which("chromium")
HOW = "there is no chromium to open the live page with: apt-get install chromium"
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=HOW)
PATIENCE = 60_000  # milliseconds, for a busy machine


def launched(driver):
    return driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])


@pytest.fixture(scope="module")
def driver():
    with playwright.sync_playwright() as found:
        yield found


@pytest.fixture(scope="module")
def chromium(driver):
    browser = launched(driver)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """An agent whose actions say what kappa is; it learns while the tests of this module run."""
    with emuq.live(Weigher(Walkway()), names=["x", "y"], out=tmp_path_factory.mktemp("run")) as found:
        yield found


@pytest.fixture
def view(chromium, page):
    yield from opened(chromium, page.url)


def opened(browser, url):
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    tab, faults = context.new_page(), []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    tab.goto(url)
    expect(tab.locator("#connection")).to_have_text("Connected", timeout=PATIENCE)
    yield tab
    context.close()
    assert faults == []


def number(tab, name):
    return int(tab.locator(f"#{name}").inner_text().replace(",", ""))


def shown(tab, name, text):
    expect(tab.locator(f"#{name}")).to_have_text(text, timeout=PATIENCE)


def advances(tab, name="steps"):
    before = tab.locator(f"#{name}").inner_text()
    expect(tab.locator(f"#{name}")).not_to_have_text(before, timeout=PATIENCE)


def test_the_page_opens_and_learning_advances(view):
    expect(view.locator("#frame")).to_be_visible(timeout=PATIENCE)
    advances(view)
    advances(view, "episodes")


def test_kappa_on_the_page_changes_the_agents_actions(view, page):
    view.get_by_role("button", name="Explore", exact=True).click()
    shown(view, "formula", "acts on U alone: it only explores")
    slider = view.get_by_role("slider")
    slider.press("Home")  # by the keyboard, to its lower end: 0
    shown(view, "set-by", "Set by hand.")
    shown(view, "formula", "acts on Q alone: it only exploits")
    while page.do(lambda agent: agent.history[-1].kappa) != 0:
        pass
    assert page.do(lambda agent: agent.env.actions[-10:]) == [EXPLOIT] * 10
    expect(view.locator("#chart-kappa")).to_have_attribute("aria-label", "kappa: now 0", timeout=PATIENCE)


def test_pause_pauses_and_a_step_is_one(view, page):
    view.get_by_role("button", name="Pause").click()
    expect(view.get_by_role("button", name="Go on")).to_be_visible(timeout=PATIENCE)
    paused = page.do(lambda agent: agent.num_transitions)
    assert page.do(lambda agent: agent.num_transitions) == paused
    view.get_by_role("button", name="One step").click()
    shown(view, "steps", f"{paused + 1:,}")
    view.get_by_role("button", name="Go on").click()
    advances(view)


def test_a_checkpoint_saved_from_the_page_loads(view, page):
    view.get_by_role("button", name="Save a checkpoint").click()
    expect(view.locator("#notes li").first).to_contain_text("Saved", timeout=PATIENCE)
    loaded = Weigher.load(page._learner.folder / "agent.emuq", Walkway())
    assert loaded.history.steps == loaded.num_transitions > 0
    view.get_by_role("button", name="Go back to the last one").click()
    said = f"Went back to the last checkpoint: {len(loaded.history)} episodes"
    expect(view.locator("#notes li").first).to_contain_text(said, timeout=PATIENCE)


def test_a_rule_and_tests_can_be_asked_for(view, page):
    view.locator("#controller").select_option("Budget")
    view.get_by_label("episodes", exact=True).fill("7")
    view.get_by_role("button", name="Use this rule").click()
    expect(view.locator("#set-by")).to_contain_text("Budget(episodes=7", timeout=PATIENCE)
    view.get_by_role("button", name="Exploring only").click()
    expect(view.locator("#notes li").first).to_contain_text("5 of 5 reached the goal", timeout=PATIENCE)


def test_a_second_viewer_sees_the_same(view, chromium, page):
    second = opened(chromium, page.url)
    other = next(second)
    view.get_by_role("button", name="Balanced").click()
    shown(other, "kappa-now", "1")
    expect(other.get_by_role("button", name="Balanced")).to_have_attribute("aria-pressed", "true")
    view.get_by_role("button", name="Pause").click()
    expect(other.get_by_role("button", name="Go on")).to_be_visible(timeout=PATIENCE)
    steps = page.do(lambda agent: agent.num_transitions)
    assert number(view, "steps") == number(other, "steps") == steps
    other.get_by_role("button", name="Go on").click()
    advances(view)
    next(second, None)


def test_a_killed_browser_stops_nothing_and_a_lost_connection_comes_back(view, driver, page):
    browser = launched(driver)
    doomed = next(opened(browser, page.url))
    process = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"][0]["id"]
    assert doomed.locator("#connection").inner_text() == "Connected"
    os.kill(process, signal.SIGKILL)
    advances(view)
    for socket in list(page._server.server_state.connections):
        socket.transport.abort()
    expect(view.locator("#connection")).to_have_class("off", timeout=PATIENCE)
    shown(view, "connection", "Connected")
    advances(view)


def test_a_foreign_page_and_a_missing_token_get_nothing(chromium, page):
    context = chromium.new_context(bypass_csp=True)
    bare = page.url.partition("?")[0]
    tab = context.new_page()
    assert tab.goto(bare).status == 403
    assert "emuq live" in tab.content()
    assert "kappa" not in tab.content()
    tab.goto("data:text/html,<p>Somebody else's page</p>")
    connect = """url => new Promise(done => {
        const socket = new WebSocket(url);
        socket.onmessage = () => done("heard");
        socket.onclose = () => done("refused");
    })"""
    query = page.url.partition("?")[2]
    address = bare.replace("http", "ws") + "socket"
    assert tab.evaluate(connect, f"{address}?{query}") == "refused"
    context.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 820)])
def test_maps_of_emuq_are_drawn_and_can_be_turned(chromium, car_page, scheme, width):
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    tab = context.new_page()
    tab.goto(car_page.url)
    label = tab.locator("#map-u")
    across = "velocity" if scheme == "light" else "position"
    tab.locator("#dim-x").select_option(label=across, timeout=PATIENCE)
    expect(label).to_have_attribute("aria-label", re.compile(f"over {across} and"), timeout=PATIENCE)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for name in ("u", "q", "variance"):
        colours = tab.evaluate(
            """id => { const c = document.getElementById(id), d = c.getContext("2d");
                const n = d.getImageData(0, 0, c.width, c.height).data, seen = new Set();
                for (let i = 0; i < n.length; i += 400) seen.add(n.slice(i, i + 3).join());
                return seen.size; }""",
            f"map-{name}",
        )
        assert colours > 20
    expect(tab.locator("#left")).not_to_have_text("not measured")
    context.close()


@pytest.fixture(scope="module")
def car_page(tmp_path_factory):
    env = gym.make("emuq/MountainCar-v0", max_episode_steps=120)
    with emuq.live(
        emuq.EMUQ(env, plan_interval=None, kappa=1.0, **SMALL),
        out=tmp_path_factory.mktemp("car"),
    ) as found:
        yield found
