"""Imports go one way: mathematics knows no agent, agents no environment, nothing below the rest."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "emuq"

# A module or a package may import from layers of a lower number, and from its own.
LAYERS = {
    **dict.fromkeys(("errors", "precision", "dispatch", "history"), 0),
    **dict.fromkeys(("linear", "checkpoint", "cache", "compiling", "progress", "domains"), 1),
    "planning": 2,
    **dict.fromkeys(("exploration", "kappa"), 2),
    "agents": 3,
    **dict.fromkeys(("plot", "callbacks", "run"), 4),
    "experiments": 5,
    "report": 6,
    "commands": 7,
    "cli": 8,
}
FORBIDDEN = [
    ("linear", "gymnasium"),
    ("planning", "gymnasium"),
    ("agents", "emuq.domains"),
    ("domains", "emuq.agents"),
]


def modules():
    return [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def part(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    assert part(path) in LAYERS, f"{part(path)} has no layer: give it one"
    for name in imports(path):
        if name.startswith("emuq.") and (target := name.split(".")[1]) in LAYERS:
            assert LAYERS[target] <= LAYERS[part(path)], f"{part(path)} imports {name}"


@pytest.mark.parametrize(("source", "target"), FORBIDDEN)
def test_these_do_not_know_each_other(source, target):
    paths = [path for path in modules() if part(path) == source]
    assert paths
    for path in paths:
        assert not any(name == target or name.startswith(target + ".") for name in imports(path)), path
