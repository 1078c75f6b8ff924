"""While MkDocs builds the site: help texts and the changelog come from where they are kept."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
HELP = re.compile(r"<!-- help of every command -->")
CHANGELOG = "<!-- the changelog -->"


def on_page_markdown(markdown: str, **_) -> str:
    """A page's text, with what its comments ask for in their place."""
    if HELP.search(markdown):
        markdown = HELP.sub(lambda _: help_of_every_command(), markdown)
    if CHANGELOG in markdown:
        text = (ROOT / "CHANGELOG.md").read_text().partition("\n")[2]  # its title is the page's own
        markdown = markdown.replace(CHANGELOG, text.replace("](docs/", "]("))
    return markdown


def help_of_every_command() -> str:
    """`emuq COMMAND --help` of each, under a heading."""
    from emuq.cli import parser

    top = parser()
    [commands] = [a for a in top._actions if isinstance(a, argparse._SubParsersAction)]
    parts = [_block(top.format_help())]
    for name, command in commands.choices.items():
        parts.append(f"## emuq {name}\n\n{_block(command.format_help())}")
    return "\n\n".join(parts)


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"
