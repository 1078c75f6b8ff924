"""The code of pages does what they say: each page's Python blocks are run one after the other.

Pages show the whole agent, and learn as long as it takes. Here the default agent is smaller (`small`), and a
call of `learn` or `evaluate` may be cut short (`cut`); nothing else is changed. A few blocks take names from
the text around them: `GIVEN` has those.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import gymnasium as gym
import jax
import numpy as np
import pytest

import emuq
from emuq.agents.base import Agent
from emuq.agents.emuq.options import DEFAULT, PRESETS
from emuq.agents.tabular.agent import TabularAgent

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_CODE = {str(page.relative_to(ROOT)) for page in PAGES if BLOCK.search(page.read_text())}
# Pages whose agents are all on observations and actions of the same sizes: one test, compiled once.
ON_THE_CAR = ("README.md", "docs/index.md", "docs/live.md", "docs/start.md", "docs/steering-kappa.md")
ON_TABLES = (
    "docs/api/index.md",
    "docs/comparing-methods.md",
    "docs/controlling-exploration.md",
    "docs/keeping-and-watching.md",
)
OTHERS = (
    "docs/many-runs.md",
    "docs/control-loop.md",
    "docs/your-own-environment.md",
    "docs/domains.md",
    "docs/baselines.md",
    "docs/jaco.md",
)
UNTIL_TARGET = 190  # episodes: a page tells the number of the one that reaches it
LENGTHS = ("steps", "total_timesteps")
GIVEN = {
    "docs/controlling-exploration.md": lambda: {"observation": 0},
    "docs/baselines.md": lambda: {"emuq": emuq, "env": gym.make("emuq/MountainCar-v0")},
    "docs/domains.md": lambda: {"key": jax.random.key(0), "action": jax.numpy.zeros(1)},
}


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    """A smaller default agent: pages show the whole one, which takes its time to compile."""
    options = {"features": 60, "capacity": 1024}
    monkeypatch.setitem(PRESETS, "default", dataclasses.replace(DEFAULT, **options))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def cut(monkeypatch):
    """Ends a call of `learn` or `evaluate` early: after so many episodes, or so many steps of learning."""
    learning, testing = Agent.learn, Agent.evaluate

    def cut(episodes: int, steps: int, tests: int = 1) -> None:
        def learn(self, number=None, **given):
            given["progress"] = False
            number = given.pop("episodes", number)
            if number is None:
                told = {name: min(steps, given.pop(name)) for name in LENGTHS if name in given}
                return learning(self, **told, **given)
            if episodes == 0 and not isinstance(self, TabularAgent):
                return learning(self, steps=steps, **given)
            most = UNTIL_TARGET if isinstance(self.controller, emuq.kappa.Target) else episodes
            return learning(self, min(number, most), **given)

        def evaluate(self, number=20, **given):
            return testing(self, min(given.pop("episodes", number), tests), **given)

        monkeypatch.setattr(Agent, "learn", learn)
        monkeypatch.setattr(Agent, "evaluate", evaluate)

    return cut


def run(page: str) -> dict:
    """The blocks' names, after all of them."""
    names = GIVEN.get(page, dict)()
    for block in BLOCK.findall((ROOT / page).read_text()):
        exec(compile(block, page, "exec"), names)
    return names


def test_every_page_with_code_is_run():
    assert {*ON_THE_CAR, *ON_TABLES, *OTHERS} == WITH_CODE


def test_pages_on_the_car(cut, capsys):
    cut(episodes=0, steps=40)
    agents = {page: run(page)["agent"] for page in ON_THE_CAR}
    assert agents["README.md"].kappa == 0.0
    assert agents["docs/index.md"].num_transitions == 40
    assert agents["docs/start.md"].num_transitions == 80, "it goes on after it was loaded"
    steering = agents["docs/steering-kappa.md"].history.to_dict()["kappa"]
    assert steering == [float("inf"), 0.0, 1.0, 1.0]


def test_pages_on_tables(cut, tmp_path, capsys):
    cut(episodes=20, steps=100, tests=5)
    names = {page: run(page) for page in ON_TABLES}
    steps = names["docs/comparing-methods.md"]["steps"]
    assert sum(steps["exploration values"]) < sum(steps["random"])
    assert names["docs/comparing-methods.md"]["draws"].shape == (2000,)
    controlling = names["docs/controlling-exploration.md"]
    assert controlling["history"].to_dict()["kappa"].index(0.0) == 184
    assert type(controlling["agent"].controller).__name__ == "Halve"
    kept = names["docs/keeping-and-watching.md"]
    assert kept["best"].best == 1.0
    assert len(kept["rows"]) == 3
    assert kept["state"] is None
    assert list(tmp_path.glob("runs/chain/*"))


def test_many_runs(monkeypatch, capsys):
    whole = emuq.batch.run

    def few(domain, seeds, **given):
        """Every tenth run, for a few steps."""
        own = {name: value[::10] for name, value in given.items() if isinstance(value, np.ndarray)}
        runs = whole(domain, seeds[::10], steps=8, **(given | own))
        return runs._replace(
            **{name: np.repeat(values, 10, axis=0) for name, values in runs._asdict().items()}
        )

    monkeypatch.setattr(emuq.batch, "run", few)
    assert run("docs/many-runs.md")["runs"].goals.shape == (60, 1)


def test_a_control_loop(capsys):
    names = run("docs/control-loop.md")
    assert names["seconds"] >= 0
    assert names["agent"].num_transitions == 400
    assert names["again"].moments == names["first"].moments


def test_your_own_environment(tmp_path, capsys):
    names = run("docs/your-own-environment.md")
    out = capsys.readouterr().out
    assert names["history"].first_goal == 1, "With seed 1 the first episode reaches the lock."
    assert names["chance"].history.first_goal is None
    assert "learned from 3 episodes" in out
    assert names["actions"].shape == (2, 1)
    assert (tmp_path / "best.emuq").exists()


def test_the_domains_page(cut):
    pytest.importorskip("mujoco")
    cut(episodes=0, steps=8)
    names = run("docs/domains.md")
    assert names["hopping"].num_transitions == 8
    assert names["observation"].shape == (2,)


def test_the_baselines_page():
    pytest.importorskip("optax")
    assert run("docs/baselines.md")["agent"].options["form"] == "bonus"


def test_the_page_of_the_arm(cut):
    pytest.importorskip("dm_control")
    cut(episodes=0, steps=8)
    names = run("docs/jaco.md")
    assert names["agent"].num_transitions == 16
    assert names["agent"].controller == emuq.kappa.UntilGoal()
