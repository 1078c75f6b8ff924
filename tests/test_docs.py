"""Pages for readers: every relative link and anchor leads somewhere, and the design page stays short."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(<?([^()\s>]+)>?[^()]*\)|(?:href|src|srcset)=\"([^\"\s]+)\"")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
NAMED = re.compile(r"<a\s[^>]*(?:id|name)=\"([^\"]+)\"")
DESCRIBED = re.compile(r"^::: (\S+)$", re.MULTILINE)  # by the site, under a heading with that anchor
LONGEST = 150  # lines of the design page


def links(text: str) -> list[str]:
    """Targets of links and pictures, without those in code and those that lead out of the repository."""
    found = (a or b for a, b in LINK.findall(CODE.sub("", text)))
    return [link for link in found if not urlsplit(link).scheme]


def slug(heading: str) -> str:
    """A heading's anchor, as GitHub makes it: its words in lower case, joined by hyphens."""
    shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    """Of every heading (a second one of the same words ends in -1) and of every <a id>."""
    text = re.sub(r"^(```|~~~).*?^\1", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found: dict[str, int] = {}
    for heading in HEADING.findall(text):
        name = slug(heading)
        found[name] = found.get(name, -1) + 1
    numbered = {f"{name}-{i}" for name, last in found.items() for i in range(1, last + 1)}
    return frozenset(found) | numbered | frozenset(NAMED.findall(text) + DESCRIBED.findall(text))


def broken(page: Path) -> list[str]:
    """Links of a page that lead nowhere, each with the reason."""
    faults = []
    for link in links(page.read_text()):
        path, _, anchor = link.partition("#")
        target = (page.parent / unquote(path)).resolve() if path else page
        if not target.exists():
            faults.append(f"{link}: no such file")
        elif anchor and anchor not in anchors(target):
            faults.append(f"{link}: no such heading")
    return faults


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert broken(page) == []


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# One, two: `three`\n## Twice\n## Twice\n"
        "[a](#one-two-three) [b](page.md#twice-1) [c](https://nowhere.example/x) `[d](gone.md)`\n"
        '[e](gone.md) ![f](gone.png) [g](#three) <img src="gone.svg">\n'
    )
    assert [fault.split(":")[0] for fault in broken(page)] == ["gone.md", "gone.png", "#three", "gone.svg"]


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "notebook").glob("*.md")), ids=lambda page: page.name
)
def test_each_page_of_the_notebook_is_in_its_index(page):
    index = page.parent / "README.md"
    assert page == index or page.name in links(index.read_text())


def test_the_design_page_is_short():
    assert len((ROOT / "docs" / "design.md").read_text().splitlines()) <= LONGEST
