"""Draw the pictures of controlling-exploration.md from results: python docs/controlling_exploration.py DIR.

DIR is where `emuq reproduce fig2b fig3a fig4a table1 sensitivity --out DIR` left its runs.
"""

import sys
from pathlib import Path

from emuq import experiments
from emuq.experiments.plan import finished
from emuq.run.store import Store

PICTURES = ("fig2b", "fig3a", "fig4a", "fig4b", "sensitivity")


def main(folder: str) -> None:
    store = Store(Path(folder))
    for experiment in experiments.named(PICTURES):
        rows, _, _ = finished(experiment, store)
        if rows and experiment.figure is not None:
            target = Path(__file__).parent / "figures" / f"{experiment.name}.png"
            experiment.figure(rows).savefig(target, dpi=110)
            print(f"{target}: {len(rows)} runs")


if __name__ == "__main__":
    main(sys.argv[1])
