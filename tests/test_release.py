"""What is released says one thing: one version, the names that are public, the paper."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import emuq

ROOT = Path(__file__).parents[1]


def test_the_version_has_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "emuq.__version__"}
    latest = re.search(r"^## \[?([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert latest is None or latest.group(1) == emuq.__version__


def test_every_public_name_is_there_and_is_told_to_editors():
    assert set(emuq.__all__) == {*emuq._PUBLIC, *emuq._MODULES}
    told = (ROOT / "src" / "emuq" / "__init__.py").read_text().split("if TYPE_CHECKING:")[1].split("\n\n")[0]
    for name in emuq.__all__:
        assert re.search(rf"\b{name}\b", told), f"editors do not know emuq.{name}"
        assert getattr(emuq, name) is not None
    for name, module in emuq._PUBLIC.items():
        assert getattr(importlib.import_module(module), name) is getattr(emuq, name)
