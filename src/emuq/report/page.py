"""`report.html`: one file, no network, light and dark by the reader's own setting.

What it looks like is in `page.html`, a template in which everything is escaped: names come from a store that
anybody may have written.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import NamedTuple

import jinja2

from emuq.experiments.base import Claim, Verdict
from emuq.report.collect import Report
from emuq.report.words import RULE, SIGNS, duration, measured, tally

Figures = Mapping[str, Mapping[str, bytes]]

WIDE = 480.0  # points
TITLE = "Intrinsic Exploration as Multi-Objective RL"


class Picture(NamedTuple):
    """A figure as the page has it. On a phone a wide one scrolls, rather than shrink beyond reading."""

    light: str
    dark: str
    kind: str


def page(report: Report, figures: Figures) -> str:
    """The whole page as text; `figures[name][theme]` is SVG."""
    css = resources.files("emuq.report").joinpath("report.css").read_text()
    pictures = {name: _picture(drawn) for name, drawn in figures.items() if "light" in drawn}
    template = _environment().get_template("page.html")
    return template.render(report=report, pictures=pictures, css=css, title=TITLE, rule=RULE, signs=SIGNS)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("emuq", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters |= {"duration": duration, "measured": measured, "slug": _slug, "tally": _tally}
    return environment


def _picture(drawn: Mapping[str, bytes]) -> Picture:
    uri = {
        theme: "data:image/svg+xml;base64," + base64.b64encode(svg).decode() for theme, svg in drawn.items()
    }
    width = re.search(rb'width="([0-9.]+)pt"', drawn["light"])
    return Picture(uri["light"], uri["dark"], "wide" if width and float(width[1]) > WIDE else "narrow")


def _tally(claims: Sequence[Claim]) -> list[tuple[Verdict, int]]:
    return list(tally(claims).items())


def _slug(verdict: Verdict) -> str:
    return verdict.replace(" ", "-")
