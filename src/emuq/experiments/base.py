"""What an experiment is: data (its specs) and analysis (its claims, tables and figure).

A module `emuq/experiments/NAME.py` ends with `EXPERIMENTS = (Experiment(...), ...)` and is named in
`emuq.experiments.MODULES`. It imports JAX, environments and matplotlib inside its functions only, so
that listing experiments costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from emuq.experiments.statistics import FEWEST, Estimate
from emuq.run.spec import RunSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Verdict = Literal["reproduced", "not reproduced", "undecided"]
Result = dict[str, Any]


class Row(NamedTuple):
    """A finished run: what was asked, and what came of it."""

    spec: RunSpec
    result: Result
    seconds: float = 0.0


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, a number measured for it with its 95% interval, and what follows.

    `measure` says what the number is: "return after the stop minus before", `runs` how many runs of each
    method it rests on. A claim that does not hold is a finding. `statistic` is None when there are too few
    runs to compute it.
    """

    experiment: str
    claim: str
    measure: str
    statistic: float | None
    interval: tuple[float, float] | None
    verdict: Verdict
    runs: int = 0

    @classmethod
    def above(
        cls, experiment: str, claim: str, measure: str, estimate: Estimate, threshold: float = 0.0
    ) -> Claim:
        """Reproduced when the whole interval lies above the threshold, not when it lies below it."""
        return cls._of(experiment, claim, measure, estimate, threshold, math.inf)

    @classmethod
    def below(
        cls, experiment: str, claim: str, measure: str, estimate: Estimate, threshold: float = 0.0
    ) -> Claim:
        """Reproduced when the whole interval lies below the threshold, not when it lies above it."""
        return cls._of(experiment, claim, measure, estimate, -math.inf, threshold)

    @classmethod
    def within(
        cls, experiment: str, claim: str, measure: str, estimate: Estimate, low: float, high: float
    ) -> Claim:
        """Equivalence: reproduced when the whole interval lies between the two, not when wholly outside."""
        return cls._of(experiment, claim, measure, estimate, low, high)

    @classmethod
    def _of(
        cls, experiment: str, claim: str, measure: str, estimate: Estimate, low: float, high: float
    ) -> Claim:
        value, interval, runs = estimate
        return cls(experiment, claim, measure, value, interval, verdict(estimate, low, high), runs)

    def to_dict(self) -> dict[str, Any]:
        interval = None if self.interval is None else list(self.interval)
        return {"experiment": self.experiment, "claim": self.claim, "measure": self.measure,
                "statistic": self.statistic, "interval": interval, "runs": self.runs,
                "verdict": self.verdict}  # fmt: skip


def verdict(estimate: Estimate, low: float, high: float) -> Verdict:
    """low < interval < high, or all of it on one other side. Undecided where it touches either, and for few
    runs, whatever their interval: that of two equal runs has no width at all."""
    if estimate.interval is None or estimate.runs < FEWEST:
        return "undecided"
    least, most = estimate.interval
    if low < least <= most < high:
        return "reproduced"
    return "not reproduced" if most < low or least > high else "undecided"


@dataclass(frozen=True)
class Table:
    """Cells are text, already rounded; the first column names the row."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def one_by_one(spec: RunSpec) -> Hashable:
    """Every run is a group of its own."""
    return spec.key


def never(spec: RunSpec) -> bool:
    return False


def no_tables(rows: Sequence[Row]) -> list[Table]:
    return []


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the paper.

    name, title   its name on the command line, and one line that says what it shows
    runs          the paper's number of runs (seeds) of each method; `emuq reproduce` runs range(runs)
    specs         seeds -> every run, as data
    execute       specs of one group -> one JSON-able result each, in their order (NaN is not JSON: use None)
    group         spec -> a key; specs with equal keys go to `execute` together (a vmapped batch)
    claims, tables, figure
                  finished runs -> what is shown; they must stand a part of the runs being absent.
                  A figure takes its colours from matplotlib's rcParams ("C0", "text.color"), for it is
                  drawn twice, for light and for dark pages; build it with matplotlib.figure.Figure.
    source        the experiment whose runs this one analyses, where it has none of its own
    varies        settings that tell conditions apart in summaries ("length" of a chain)
    on_request    agents that run only when they are named (`--agents`)
    beyond        not in the paper: run only when it is named
    in_batches    spec -> whether its group goes to `execute` in batches of seeds, as many as suit the device
    again         finished runs -> the command that makes them, where it is not `emuq reproduce`
    paper         (agent, domain) -> the paper's own numbers, by their names in a summary row
    notes         values the paper leaves open and other things a reader must know
    """

    name: str
    title: str
    runs: int
    specs: Callable[[Sequence[int]], tuple[RunSpec, ...]]
    execute: Callable[[Sequence[RunSpec]], list[Result]]
    claims: Callable[[Sequence[Row]], list[Claim]]
    group: Callable[[RunSpec], Hashable] = one_by_one
    tables: Callable[[Sequence[Row]], list[Table]] = no_tables
    figure: Callable[[Sequence[Row]], Figure] | None = None
    source: str = ""
    varies: tuple[str, ...] = ()
    on_request: tuple[str, ...] = ()
    beyond: bool = False
    in_batches: Callable[[RunSpec], bool] = never
    again: Callable[[Sequence[Row]], str] | None = None
    paper: Mapping[tuple[str, str], Mapping[str, float | None]] = field(default_factory=dict)
    notes: str = ""

    @property
    def runs_of(self) -> str:
        """The experiment name under which this one's runs are stored."""
        return self.source or self.name


def select(
    rows: Sequence[Row], *, agent: str | None = None, domain: str | None = None, **settings
) -> list[Row]:
    """The rows with this agent, domain and settings, in the order of their seeds."""
    chosen = [
        row
        for row in rows
        if (agent is None or row.spec.agent == agent)
        and (domain is None or row.spec.domain == domain)
        and all(row.spec.get(name) == value for name, value in settings.items())
    ]
    return sorted(chosen, key=lambda row: row.spec.seed)


def paired(first: Sequence[Row], second: Sequence[Row]) -> list[tuple[Row, Row]]:
    """The runs of two methods on the same seeds, seed by seed."""
    others = {row.spec.seed: row for row in second}
    return [(row, others[row.spec.seed]) for row in first if row.spec.seed in others]
