"""Imports go one way: mathematics knows no agent, agents no environment, nothing below the rest."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from emuq.domains.catalogue import ENTRIES

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
ROOT = Path(__file__).parents[1] / "src" / "emuq"

# A module or a package may import from layers of a lower number, and from its own.
LAYERS = {
    **dict.fromkeys(("errors", "files", "precision", "dispatch", "history"), 0),
    **dict.fromkeys(("linear", "checkpoint", "cache", "compiling", "progress", "domains"), 1),
    "planning": 2,
    **dict.fromkeys(("exploration", "kappa"), 2),
    "agents": 3,
    **dict.fromkeys(("plot", "callbacks", "run", "batch"), 4),
    **dict.fromkeys(("experiments", "livepage"), 5),
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


# EMU-Q's room -----------------------------------------------------------------------------------------------

PURE = (
    "options",
    "state",
    "act",
    "learn",
    "plan",
    "ranges",
    "relevance",
    "table",
    "schedule",
    "whole",
)  # values alone
HOST = (
    "agent",
    "beginning",
    "instep",
    "runtime",
    "programs",
    "exact",
    "beside",
    "alongside",
    "background",
    "warming",
    "resuming",
    "datasets",
    "imagine",
    "insight",
    "minari_file",
    "portable",
)  # what loops, waits
THREADS = ("background", "warming")  # plans beside the loop, programs for more room
ENGINE = (*THREADS, "runtime", "programs")


def emuq_room() -> dict[str, Path]:
    return {path.stem: path for path in (ROOT / "agents" / "emuq").glob("*.py") if path.stem != "__init__"}


def test_every_file_of_emuqs_room_has_its_place():
    assert set(emuq_room()) == {*PURE, *HOST}


@pytest.mark.parametrize("name", PURE)
def test_pure_functions_know_no_thread_and_no_loop(name):
    for imported in imports(emuq_room()[name]):
        assert imported.split(".")[0] not in ("concurrent", "threading", "os", "time", "gymnasium"), imported
        assert not imported.startswith(tuple(f"emuq.agents.emuq.{host}" for host in HOST)), imported
        assert not imported.startswith(("emuq.history", "emuq.precision")), imported
        # Controllers are pure; one is part of an agent that is whole, and of nothing smaller.
        assert not imported.startswith("emuq.kappa") or name == "whole", imported


def test_only_the_agent_knows_gymnasium_and_only_the_engine_has_threads():
    for name, path in emuq_room().items():
        found = {imported.split(".")[0] for imported in imports(path)}
        assert "gymnasium" not in found or name == "agent", name
        assert ("concurrent" in found) == (name in THREADS), name


@pytest.mark.parametrize("trick", ["donate_arg", "ravel_pytree", "[None] *", "ThreadPool"])
def test_tricks_for_speed_stay_in_the_engine(trick):
    assert {name for name, path in emuq_room().items() if trick in path.read_text()} <= set(ENGINE)


def without_docstrings(path):
    """A file's code: an example in a docstring may be about any domain."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return ast.unparse(tree)


@pytest.mark.parametrize("name", [entry.name for entry in ENTRIES])
def test_agents_name_no_domain_of_ours(name):
    for path in (ROOT / "agents").rglob("*.py"):
        assert not re.search(rf"\b{name}\b", without_docstrings(path)), path
