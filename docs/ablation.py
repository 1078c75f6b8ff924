"""Writes the table of `ablation.md` from the runs of `emuq reproduce ablation --out FOLDER`.

    python docs/ablation.py FOLDER
"""

from __future__ import annotations

import pathlib
import re
import sys

from emuq.experiments import ablation
from emuq.experiments.plan import finished
from emuq.report.markdown import pipe_table
from emuq.run.store import Store

PAGE = pathlib.Path(__file__).parent / "ablation.md"
BEGIN, END = "<!-- ablation: begin -->", "<!-- ablation: end -->"


def main() -> None:
    with Store(sys.argv[1], create=False) as store:
        rows, _, _ = finished(ablation.EXPERIMENTS[0], store)
    (table,) = ablation.tables(rows)
    lines = [BEGIN, *pipe_table(table.header, table.rows), "", table.note, END]
    pattern = f"{re.escape(BEGIN)}.*?{re.escape(END)}"
    PAGE.write_text(re.sub(pattern, lambda _: "\n".join(lines), PAGE.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()
