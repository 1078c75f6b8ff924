"""What the benchmarks share: the BLAS floor, a fair clock, and how results are printed."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.linalg import blas


def seconds(run: Callable[[], object], repeats: int = 7, at_least: float = 0.05) -> float:
    """The median time of one call, each sample long enough for the clock."""
    run()
    number, samples = 1, []
    while True:
        began = time.perf_counter()
        for _ in range(number):
            run()
        taken = time.perf_counter() - began
        if taken >= at_least:
            break
        number = max(number + 1, int(number * 1.2 * at_least / max(taken, 1e-9)))
    for _ in range(repeats):
        began = time.perf_counter()
        for _ in range(number):
            run()
        samples.append((time.perf_counter() - began) / number)
    return float(np.median(samples))


def floor(m: int, dtype: type) -> float:
    """A symmetric matrix-vector product and a rank-1 update in BLAS: the least that a step can cost."""
    a = np.asfortranarray(np.eye(m, dtype=dtype))
    x = np.random.default_rng(0).normal(size=m).astype(dtype)
    symv, syr = (blas.dsymv, blas.dsyr) if dtype is np.float64 else (blas.ssymv, blas.ssyr)

    def pair() -> None:
        symv(1.0, a, x)
        syr(-1e-9, x, a=a, overwrite_a=True)

    return seconds(pair)


def report(title: str, rows: list[dict], note: str = "") -> None:
    """A table for people, and `--json FILE` for programs."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    args = parser.parse_args()
    columns = list(rows[0])
    cells = [[_cell(row[column]) for column in columns] for row in rows]
    widths = [max(len(c), *(len(row[i]) for row in cells)) for i, c in enumerate(columns)]
    print(f"\n{title}")
    for line in [columns, ["-" * w for w in widths], *cells]:
        print("  ".join(text.rjust(w) for text, w in zip(line, widths, strict=True)))
    if note:
        print(note)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
