"""The code of pages does what they say: each page's Python blocks are run one after the other."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from emuq.agents.emuq.options import DEFAULT, PRESETS

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A smaller default agent: pages show the whole one, which takes its time to compile."""
    options = {"features": 60, "capacity": 1024, "draws": 2, "committee": 2}
    monkeypatch.setitem(PRESETS, "default", dataclasses.replace(DEFAULT, **options))


def section(page: str, title: str | None = None) -> str:
    text = (DOCS / page).read_text()
    return text if title is None else text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def run(text: str) -> dict:
    """The blocks' names, after all of them."""
    blocks, names = BLOCK.findall(text), {}
    assert blocks
    for block in blocks:
        exec(compile(block, "a page", "exec"), names)
    return names


def test_your_own_environment(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = run(section("your-own-environment.md"))
    out = capsys.readouterr().out
    assert names["history"].first_goal == 1, "With seed 0 the first episode reaches the lock."
    assert names["chance"].history.first_goal is None
    assert "learned from 3 episodes" in out
    assert names["actions"].shape == (2, 1)
    assert (tmp_path / "best.emuq").exists()


def test_the_domains_page_on_environments_of_ones_own():
    pytest.importorskip("mujoco")
    names = run(section("domains.md", "Your own environment"))
    assert names["hopping"].num_transitions > 0
