"""`report.html`: one file, no network, light and dark by the reader's own setting."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources

from emuq.experiments.base import Claim, Table, Verdict
from emuq.report.collect import Report, Section
from emuq.report.words import SIGNS, VERDICTS, duration, measured, tally

Figures = Mapping[str, Mapping[str, bytes]]

WIDE = 480.0  # points
TITLE = "Intrinsic Exploration as Multi-Objective RL"


def page(report: Report, figures: Figures) -> str:
    """The whole page as text; `figures[name][theme]` is SVG."""
    body = [_header(report), _ledger(report)]
    body += [_section(section, figures.get(section.experiment.name, {})) for section in report.sections]
    body.append(_origin(report))
    css = resources.files("emuq.report").joinpath("report.css").read_text()
    names = [section.experiment.name for section in report.sections]
    links = "".join(f'<a href="#{name}">{name}</a>' for name in names)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{TITLE}: experiments run again</title><style>{css}</style></head><body>"
        f'<nav aria-label="Experiments"><div><a href="#top">Ledger</a>{links}'
        '<a href="#origin">How it was run</a></div></nav>'
        f'<main id="top">{"".join(body)}</main></body></html>\n'
    )


def _header(report: Report) -> str:
    counts = tally(report.claims)
    tiles = "".join(
        f'<li class="tile {_slug(v)}"><b>{counts[v]}</b><span>{_sign(v)} {v}</span></li>' for v in VERDICTS
    )
    return (
        f'<header><p class="over">The paper\'s experiments, run again with emuq</p><h1>{TITLE}</h1>'
        f'<p class="lead">{len(report.claims)} claims, each tested on fresh runs: '
        f"{report.runs:,} of them, {duration(report.seconds)} of compute.</p>"
        f'<ul class="tiles">{tiles}</ul></header>'
    )


def _ledger(report: Report) -> str:
    rows = "".join(_claim(claim) for claim in report.claims)
    return (
        '<section aria-labelledby="ledger"><h2 id="ledger">Ledger of claims</h2>'
        "<p>What the paper's text says of its figures and tables, and what a random policy adds to it. "
        "Intervals are 95%. A claim is reproduced when its whole interval lies on the claimed side of "
        "the threshold, not reproduced when it lies on the other, and undecided in between.</p>"
        '<table class="ledger"><thead><tr><th>Experiment</th><th>Claim</th><th>Measured</th>'
        f"<th>Verdict</th></tr></thead><tbody>{rows}</tbody></table></section>"
    )


def _claim(claim: Claim) -> str:
    return (
        f'<tr><td class="where"><a href="#{claim.experiment}">{claim.experiment}</a></td>'
        f"<td>{escape(claim.claim)}</td>"
        f'<td class="measured"><b>{escape(measured(claim))}</b><small>{escape(claim.measure)}</small></td>'
        f'<td class="verdict">{_chip(claim.verdict, claim.verdict)}</td></tr>'
    )


def _section(section: Section, drawn: Mapping[str, bytes]) -> str:
    experiment = section.experiment
    chips = "".join(_chip(v, f"{n} {v}") for v, n in tally(section.claims).items() if n)
    notes = f'<p class="notes">{escape(experiment.notes)}</p>' if experiment.notes else ""
    return (
        f'<section class="experiment" aria-labelledby="{experiment.name}">'
        f'<h2 id="{experiment.name}"><span>{experiment.name}</span> {escape(experiment.title)}</h2>'
        f'<p class="meta">{_seeds(section)}{chips}</p>{notes}'
        f"{_picture(experiment.title, drawn)}"
        f"{''.join(_table(table) for table in section.tables)}{_failures(section)}"
        f'<p class="again">Run it again: <code>emuq reproduce {experiment.name}</code></p></section>'
    )


def _seeds(section: Section) -> str:
    of = section.experiment.runs
    return f"<span>{section.seeds} seeds of the paper's {of}, {len(section.rows):,} runs</span>"


def _picture(title: str, drawn: Mapping[str, bytes]) -> str:
    if "light" not in drawn:
        return ""
    uri = {
        theme: "data:image/svg+xml;base64," + base64.b64encode(svg).decode() for theme, svg in drawn.items()
    }
    # On a phone a row of panels scrolls, rather than shrink beyond reading.
    width = re.search(rb'width="([0-9.]+)pt"', drawn["light"])
    kind = "wide" if width and float(width[1]) > WIDE else "narrow"
    return (
        f'<figure class="{kind}" tabindex="0"><picture>'
        '<source media="screen and (prefers-color-scheme: dark)" '
        f'srcset="{uri["dark"]}"><img src="{uri["light"]}" alt="{escape(title)}"></picture></figure>'
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<h3>{escape(table.title)}</h3><div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escape(table.title)}"><table class="data"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(_cells(row) for row in table.rows)}</tbody></table></div>{note}"
    )


def _cells(row: Sequence[str]) -> str:
    first, *others = row
    return f"<tr><th>{escape(first)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in others)}</tr>"


def _failures(section: Section) -> str:
    aside = (
        f'<p class="note">{section.set_aside} stored runs belong to another version of this experiment '
        "and were set aside.</p>"
        if section.set_aside
        else ""
    )
    if not section.errors:
        return aside
    items = "".join(f"<li>{escape(error)}</li>" for error in section.errors)
    return (
        f"{aside}<details open><summary>{len(section.errors)} runs failed</summary><ul>{items}</ul></details>"
    )


def _origin(report: Report) -> str:
    versions = "".join(
        f"<li><span>{escape(package)}</span> {escape(', '.join(found))}</li>"
        for package, found in report.versions.items()
    )
    unknown = ""
    if report.unknown:
        unknown = f"<p>Rows of unknown experiments, not shown: {escape(', '.join(report.unknown))}.</p>"
    hosts = escape("; ".join(report.hosts))
    return (
        '<section id="origin" aria-labelledby="how"><h2 id="how">How it was run, and how to run it again</h2>'
        f"<p>{report.runs:,} runs, {duration(report.seconds)} of compute, on {hosts}. Each run is keyed by a "
        "hash of its full specification; its seed, versions, wall time and kind of host are stored with it."
        f'</p>{unknown}<ul class="versions">{versions}</ul>'
        "<pre><code>pip install 'emuq[all]'\nemuq reproduce --out results\nemuq report results</code></pre>"
        "</section>"
    )


def _chip(verdict: Verdict, text: str) -> str:
    return f'<span class="chip {_slug(verdict)}">{_sign(verdict)} {text}</span>'


def _sign(verdict: Verdict) -> str:
    return f'<i aria-hidden="true">{SIGNS[verdict]}</i>'


def _slug(verdict: Verdict) -> str:
    return verdict.replace(" ", "-")
