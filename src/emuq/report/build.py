"""A report's files: report.html, report.md, report.json and figures/NAME-{light,dark}.svg."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emuq.errors import InputError
from emuq.report.collect import JSON_FILE, collect, read_json
from emuq.report.markdown import markdown
from emuq.report.page import page
from emuq.report.style import THEMES, draw
from emuq.run.store import FILE


def answer(folder: str | Path, names: Sequence[str]) -> dict[str, Any]:
    """Rows and claims, from the store where there is one, else from an earlier report's JSON."""
    if (Path(folder) / FILE).exists():
        return collect(folder, names).to_dict()
    found = read_json(folder)
    if names:
        found |= {
            part: [row for row in found[part] if row["experiment"] in names] for part in ("rows", "claims")
        }
    return found


def build(folder: str | Path, names: Sequence[str], out: Path) -> Path:
    """Write every file of the report under `out`; the path of the page."""
    report = collect(folder, names)
    figures = {
        section.experiment.name: {theme: draw(section.experiment, section.rows, theme) for theme in THEMES}
        for section in report.sections
    }
    drawn = {name: {t: svg for t, svg in found.items() if svg} for name, found in figures.items()}
    try:
        (out / "figures").mkdir(parents=True, exist_ok=True)
        for name, themes in drawn.items():
            for theme, svg in themes.items():
                (out / "figures" / f"{name}-{theme}.svg").write_bytes(svg)
        (out / JSON_FILE).write_text(json.dumps(report.to_dict(), indent=1) + "\n")
        (out / "report.md").write_text(markdown(report, {name: bool(found) for name, found in drawn.items()}))
        target = out / "report.html"
        target.write_text(page(report, drawn))
    except OSError as error:
        raise InputError(
            f"cannot write the report in {out} ({error.strerror}): choose another with --out"
        ) from error
    return target
