"""`report.md`, and the results table of a README between its markers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emuq.errors import InputError
from emuq.experiments.base import Table
from emuq.report.collect import Report, Section
from emuq.report.words import NONE, RULE, SIGNS, duration, measured, number, tally

README_AGENTS = ("emuq", "emuq-paper", "random", "rnd", "dora-lll", "vime")
BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"


def markdown(report: Report, figures: dict[str, bool]) -> str:
    """The whole report; `figures` names the experiments that have `figures/NAME.svg`."""
    counts = tally(report.claims)
    lines = [
        "# Intrinsic Exploration as Multi-Objective RL: the paper's experiments, run again",
        "",
        f"{report.runs:,} runs, {duration(report.seconds)} of compute. Of {len(report.claims)} claims "
        + ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
        + f". {RULE}",
        "",
        "## Ledger",
        "",
        *pipe_table(
            ("experiment", "claim", "measured", "verdict"),
            [
                (
                    f"[{c.experiment}](#{c.experiment})",
                    c.claim,
                    f"{c.measure}: {measured(c)}",
                    f"{SIGNS[c.verdict]} {c.verdict}",
                )
                for c in report.claims
            ],
        ),
    ]
    for section in report.sections:
        lines += _section(section, figures.get(section.experiment.name, False))
    return "\n".join([*lines, "", *_origin(report)]) + "\n"


def _section(section: Section, has_figure: bool) -> list[str]:
    experiment = section.experiment
    lines = [
        "",
        f"## {experiment.name}",
        "",
        f"{experiment.title}. {section.told_seeds}.",
    ]
    if experiment.notes:
        lines += ["", experiment.notes]
    for table in section.tables:
        lines += ["", f"**{table.title}**", "", *pipe_table(table.header, table.rows)]
        lines += ["", table.note] if table.note else []
    if has_figure:
        name = f"figures/{experiment.name}"
        lines += [
            "",
            f'<picture><source media="(prefers-color-scheme: dark)" srcset="{name}-dark.svg">'
            f'<img alt="{experiment.title}" src="{name}-light.svg"></picture>',
        ]
    lines += [""] + [f"- failed: {escaped(error)}" for error in section.errors] if section.errors else []
    lines += ["", f"Again: {code(section.again)}"] if section.again else []
    return lines


def _origin(report: Report) -> list[str]:
    versions = ", ".join(f"{package} {'/'.join(found)}" for package, found in report.versions.items())
    lines = ["## How it was run", "", f"On {escaped('; '.join(report.hosts))}. {escaped(versions)}.", ""]
    if report.unknown:
        lines += [f"Rows of unknown experiments, not shown: {escaped(', '.join(report.unknown))}.", ""]
    return [*lines, "Again:", "", *(f"    {line}" for line in [*report.again, "emuq report results"])]


def escaped(text: str) -> str:
    """Text from a store as text: no table, code, link, tag or line of its own."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]])", r"\\\1", text).replace("|", "&#124;")


def code(text: str) -> str:
    """Text as code, between more backticks than it has in a row."""
    text = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def pipe_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    head, *body = ([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in (header, *rows))
    return [_line(head), _line("---" for _ in head), *(_line(row) for row in body)]


def _line(cells) -> str:
    return "| " + " | ".join(cells) + " |"


def readme_table(answer: dict[str, Any]) -> str:
    """The table3 rows of `--json`'s answer, ours beside the paper's, as Markdown."""
    rows = [row for row in answer["rows"] if row["experiment"] == "table3" and row["runs"]]
    if not rows:
        raise InputError("the results have no run of table3: run emuq reproduce table3 first")
    present = list(dict.fromkeys(row["agent"] for row in rows))
    # A README has room for some: both presets, chance and the strongest rivals. The report has all.
    agents = [agent for agent in present if agent in README_AGENTS] or present
    cells = {(row["domain"], row["agent"]): row for row in rows}
    body = [
        (
            escaped(domain),
            *(_cell(cells.get((domain, agent))) for agent in agents),
            _paper(cells.get((domain, "emuq-paper")) or cells.get((domain, "emuq"))),
        )
        for domain in dict.fromkeys(row["domain"] for row in rows)
    ]
    table = Table("", ("domain", *(code(agent) for agent in agents), "EMU-Q in the paper"), tuple(body))
    counts = ", ".join(
        f"{sum(claim['verdict'] == verdict for claim in answer['claims'])} {verdict}" for verdict in SIGNS
    )
    return "\n".join(
        [
            "Runs that find the goal within 100 episodes, and the mean number of episodes they need (sd):",
            "",
            *pipe_table(table.header, table.rows),
            "",
            f"Of {len(answer['claims'])} claims checked, the paper's and our own: {counts}.",
        ]
    )


def _cell(row: dict[str, Any] | None) -> str:
    if row is None or row["successes"] is None:
        return NONE
    spread = f" ({number(row['episodes_std'])})" if row["episodes_std"] is not None else ""
    return f"{row['successes']}/{row['runs']}" + (
        f", {number(row['episodes_mean'])}{spread}" if row["successes"] else ""
    )


def _paper(row: dict[str, Any] | None) -> str:
    if row is None or row.get("paper_success") is None:
        return NONE
    return f"{row['paper_success']:.0%}, {row['paper_episodes_mean']} ({row['paper_episodes_std']})"


def write_readme(path: str | Path, answer: dict[str, Any]) -> None:
    """Replace what stands between the markers in a README."""
    path = Path(path)
    try:
        text = path.read_text()
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}): expected a README with {BEGIN}") from error
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise InputError(f"{path} lacks the markers: expected {BEGIN} and {END}, once each")
    block = f"{BEGIN}\n{readme_table(answer)}\n{END}"
    path.write_text(re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: block, text, flags=re.DOTALL))
