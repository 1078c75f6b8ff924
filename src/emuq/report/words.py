"""Numbers and verdicts in words, the same in every output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from emuq.experiments.base import Claim, Verdict
from emuq.experiments.statistics import FEWEST

RULE = (
    "Intervals are 95%. A claim is reproduced when its whole interval lies on the claimed side of the "
    "threshold, not reproduced when it lies on the other, and undecided when it touches the threshold. "
    f"Fewer than {FEWEST} runs decide nothing: all of 5 favour one of two equal methods in 3.1% of cases, "
    "more than the 2.5% that an interval leaves on a side."
)
VERDICTS: tuple[Verdict, ...] = ("reproduced", "not reproduced", "undecided")
NONE = "\N{EN DASH}"
SIGNS: dict[Verdict, str] = {"reproduced": "✓", "not reproduced": "✗", "undecided": "?"}


def number(value: float | None) -> str:
    """Three significant digits, no exponent for everyday sizes."""
    if value is None:
        return NONE
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        text = f"{value:,.{max(0, 2 - _magnitude(value))}f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "\N{MINUS SIGN}")
    return f"{value:.2e}".replace("-", "\N{MINUS SIGN}")


def _magnitude(value: float) -> int:
    return 0 if value == 0 else max(-3, len(str(int(abs(value)))) - 1 if abs(value) >= 1 else -1)


def interval(bounds: Sequence[float] | None) -> str:
    """[low, high], or nothing when there is none."""
    return "" if bounds is None else f"[{number(bounds[0])}, {number(bounds[1])}]"


def measured(claim: Claim) -> str:
    """ "3.1 [2.8, 3.4]"."""
    return f"{number(claim.statistic)} {interval(claim.interval)}".strip()


def tally(claims: Sequence[Claim]) -> dict[Verdict, int]:
    counts = Counter(claim.verdict for claim in claims)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
