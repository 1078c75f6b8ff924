"""Writes the table of `foreign.md` from the runs of `emuq reproduce foreign --out FOLDER`.

python docs/foreign.py FOLDER --seeds 20
"""

from __future__ import annotations

import argparse
import pathlib
import re

from emuq.experiments import foreign
from emuq.experiments.plan import finished
from emuq.report.markdown import pipe_table
from emuq.run.store import Store

PAGE = pathlib.Path(__file__).parent / "foreign.md"
BEGIN, END = "<!-- foreign: begin -->", "<!-- foreign: end -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--seeds", type=int, default=foreign.RUNS, help="the first so many, 0 and on")
    given = parser.parse_args()
    with Store(given.folder, create=False) as store:
        rows, _, _ = finished(foreign.EXPERIMENTS[0], store)
    (table,) = foreign.tables([row for row in rows if row.spec.seed < given.seeds])
    lines = [BEGIN, *pipe_table(table.header, table.rows), "", table.note, END]
    pattern = f"{re.escape(BEGIN)}.*?{re.escape(END)}"
    PAGE.write_text(re.sub(pattern, lambda _: "\n".join(lines), PAGE.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()
