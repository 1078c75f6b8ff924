"""Table 3 as it is shown: ours beside the paper's, runs without a goal counted, Kaplan-Meier curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from emuq.experiments import plots, statistics
from emuq.experiments.base import Row, Table, select
from emuq.experiments.paper import TABLE3

Agents = Mapping[str, str]
ABSENT = "-"


def _episodes(rows: Sequence[Row]) -> list[int | None]:
    return [row.result["goal_episode"] for row in rows]


def _cap(rows: Sequence[Row]) -> int:
    return max(row.spec["episodes"] for row in rows)


def _domains(rows: Sequence[Row]) -> list[str]:
    order = {domain: i for i, (_, domain) in enumerate(TABLE3)}
    return sorted({row.spec.domain for row in rows}, key=lambda domain: order.get(domain, len(order)))


def tables(rows: Sequence[Row], agents: Agents) -> list[Table]:
    """The paper's table, and the same runs with those that found no goal counted."""
    present = [agent for agent in agents if select(rows, agent=agent)]
    header, body = ["domain"], [[domain] for domain in _domains(rows)]
    for agent in present:
        header.append(agents[agent])
        for line in body:
            line.append(_cell(select(rows, agent=agent, domain=line[0])))
        # The two presets of EMU-Q share the paper's numbers: they stand beside its own preset.
        if agent != "emuq" and any((agent, line[0]) in TABLE3 for line in body):
            header.append("in the paper")
            for line in body:
                line.append(_paper_cell(agent, line[0]))
    censored = [
        (domain, *(_censored(select(rows, agent=agent, domain=domain)) for agent in present))
        for domain in _domains(rows)
    ]
    return [
        Table(
            "Runs that find the goal within 100 episodes, and episodes to it: mean (sd) of those runs",
            tuple(header),
            tuple(tuple(line) for line in body),
        ),
        Table(
            "Runs without a goal counted too: restricted mean episodes [95%]; median environment steps",
            ("domain", *(agents[agent] for agent in present)),
            (*censored, _interquartile(rows, present)),
            "A run without a goal counts as 100 episodes in the mean and as slower than any other in the "
            "median. Last row: interquartile mean of episodes over all domains, resampled within domains.",
        ),
    ]


def _cell(cell: Sequence[Row]) -> str:
    if not cell:
        return ABSENT
    found = [episode for episode in _episodes(cell) if episode is not None]
    spread = f" ({np.std(found, ddof=1):.2f})" if len(found) > 1 else ""
    return f"{len(found)}/{len(cell)}" + (f", {np.mean(found):.2f}{spread}" if found else "")


def _paper_cell(agent: str, domain: str) -> str:
    row = TABLE3.get((agent, domain))
    if row is None:
        return ABSENT
    if row["episodes_mean"] is None:
        return f"{row['success']:.0%}"
    return f"{row['success']:.0%}, {row['episodes_mean']:.2f} ({row['episodes_std']:.2f})"


def _censored(cell: Sequence[Row]) -> str:
    if not cell:
        return ABSENT
    mean = statistics.restricted_mean(_episodes(cell), _cap(cell))
    steps = sorted(row.result["goal_steps"] or float("inf") for row in cell)
    median = steps[(len(steps) - 1) // 2]
    return f"{_text(mean)}; " + (f"{median:,.0f}" if np.isfinite(median) else "no goal")


def _interquartile(rows: Sequence[Row], agents: Sequence[str]) -> tuple[str, ...]:
    cells = []
    for agent in agents:
        strata = [select(rows, agent=agent, domain=domain) for domain in _domains(rows)]
        capped = [[row.result["goal_episode"] or row.spec["episodes"] for row in s] for s in strata]
        cells.append(_text(statistics.interquartile_mean(capped)))
    return ("interquartile mean", *cells)


def _text(estimate: statistics.Estimate) -> str:
    if estimate.value is None:
        return ABSENT
    interval = f" [{estimate.interval[0]:.1f}, {estimate.interval[1]:.1f}]" if estimate.interval else ""
    return f"{estimate.value:.1f}{interval}"


def figure(rows: Sequence[Row], agents: Agents):
    """Kaplan-Meier: the share of runs that have found the goal by each episode."""
    domains = _domains(rows)
    columns = min(4, len(domains))
    drawing, axes = plots.panels(
        columns, -(-len(domains) // columns), width=2.6, height=2.4, sharey=True, squeeze=False
    )
    for axis in axes.flat[len(domains) :]:
        axis.set_axis_off()
    handles = {}
    for axis, domain in zip(axes.flat, domains, strict=False):
        for i, (agent, label) in enumerate(agents.items()):
            if cell := select(rows, agent=agent, domain=domain):
                look, cap = plots.style(i), _cap(cell)
                curve = statistics.kaplan_meier(_episodes(cell), cap)
                x = np.r_[np.maximum(curve.times, 0.9), cap]
                y = 1 - np.r_[curve.probability, curve.probability[-1]]
                # The first method is what the page is about: it stands out among many.
                width = {"linewidth": 2.6, "zorder": 3} if i == 0 else {"linewidth": 1.4}
                (handles[label],) = axis.step(
                    x, y, where="post", color=look.colour, linestyle=look.dash, **width
                )
        axis.set(title=domain, xscale="log", xlim=(0.9, 100), ylim=(-0.03, 1.03))
        axis.set_xticks([1, 10, 100], ["1", "10", "100"])
    for axis in axes[:, 0]:
        axis.set_ylabel("share of runs")
    drawing.supxlabel("episodes to the first goal", fontsize=9.5)
    drawing.legend(list(handles.values()), list(handles), loc="outside upper center", ncols=min(4, columns))
    return drawing
