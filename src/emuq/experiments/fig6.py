"""Figure 6: steps to the goal of a chain, by its length (b) and by the sparsity of its rewards (c)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from emuq.experiments import goals, plots, statistics
from emuq.experiments.base import Claim, Experiment, Row, Table, paired, select
from emuq.run.spec import RunSpec

LENGTHS = (5, 10, 20, 30, 40, 50)
SHORT = (3, 4, 5, 6, 7)  # where epsilon-greedy that prefers the first of equal actions still arrives
SPARSITIES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
STEPS_B, STEPS_C, LENGTH_C = 100_000, 1000, 10
EPSILON, EPSILON_FIRST = 0.1, 0.5
GOOD = 0.95  # r2 of a good fit
CENTRES = {"mean": np.mean, "median": np.median}  # the paper's, and one that a single lost run cannot move

AGENTS = {
    "emuq": "EMU-Q, default",
    "emuq-paper": "EMU-Q, paper's preset",
    "epsilon-greedy": "epsilon-greedy, ties at random",
    "epsilon-greedy-first": "epsilon-greedy, first of equals",
}


def _settings(agent: str, length: int, steps: int, sparsity: float) -> dict:
    """A run is one episode of at most `steps` steps, which is kindest to epsilon-greedy. EMU-Q's episodes are
    cut at twice the chain's length: the paper's preset plans, and ours draws fresh features, between them."""
    horizon = 2 * length if agent.startswith("emuq") else steps
    settings = {"length": length, "sparsity": sparsity, "horizon": horizon, "episodes": -(-steps // horizon)}
    if agent == "emuq-paper":
        # The paper gives no number for the chain, and a kernel of l_S = 0.3 in one dimension needs few.
        settings["options"] = (("features", 100),)
    if agent.startswith("epsilon"):
        first = agent.endswith("first")
        settings |= {"epsilon": EPSILON_FIRST if first else EPSILON, "ties": "first" if first else "random"}
    return settings


def specs_b(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    return tuple(
        RunSpec.of("fig6b", agent, "Chain", seed, **_settings(agent, length, _cap(agent), 1.0))
        for agent in AGENTS
        for length in (SHORT if agent.endswith("first") else LENGTHS)
        for seed in seeds
    )


def _cap(agent: str) -> int:
    # EMU-Q stores every transition: a run that is lost is lost long before.
    return 2000 if agent.startswith("emuq") else STEPS_B


def specs_c(seeds: Sequence[int]) -> tuple[RunSpec, ...]:
    return tuple(
        RunSpec.of("fig6c", agent, "Chain", seed, **_settings(agent, LENGTH_C, STEPS_C, sparsity))
        for agent in ("emuq", "epsilon-greedy", "epsilon-greedy-first")
        for sparsity in SPARSITIES
        for seed in seeds
    )


def _steps(rows: Sequence[Row]) -> list[float]:
    """Steps to the goal; a run without one counts as all the steps it took."""
    return [float(row.result["steps"]) for row in rows]


def _by(rows: Sequence[Row], agent: str, setting: str) -> dict[float, list[Row]]:
    found = select(rows, agent=agent)
    values = sorted({row.spec[setting] for row in found})
    return {value: select(found, **{setting: value}) for value in values}


def claims_b(rows: Sequence[Row]) -> list[Claim]:
    return [
        *(
            _growth(rows, agent, linear=True, centre=centre)
            for agent in ("emuq", "emuq-paper")
            for centre in CENTRES
            if select(rows, agent=agent)
        ),
        *(
            _growth(rows, agent, linear=False)
            for agent in ("epsilon-greedy", "epsilon-greedy-first")
            if select(rows, agent=agent)
        ),
    ]


def _growth(rows: Sequence[Row], agent: str, *, linear: bool, centre: str = "mean") -> Claim:
    """Which curve fits the mean steps: a line or an exponential; an exponential or a power. Runs resampled.

    A line must not only be the better fit but a good one.
    """
    cells = _by(rows, agent, "length")
    lengths, steps = list(cells), [np.array(_steps(cell)) for cell in cells.values()]
    shape = "linearly" if linear else "exponentially"
    text = f"{AGENTS[agent]}: {centre} steps to the goal grow {shape} with the length of the chain"
    if len(lengths) < 4:
        return Claim("fig6b", text, "too few lengths to fit", None, None, "undecided")

    def gain(i: np.ndarray) -> float:
        means = [CENTRES[centre](values[i % len(values)]) for values in steps]
        exponential = statistics.exponential_fit(lengths, means).r2
        if linear:
            return statistics.linear_fit(lengths, means).r2 - exponential
        return exponential - statistics.power_fit(lengths, means).r2

    estimate = statistics.bootstrap_runs(gain, min(len(values) for values in steps), 300)
    means = [CENTRES[centre](values) for values in steps]
    line, power = statistics.linear_fit(lengths, means), statistics.power_fit(lengths, means)
    if not linear:
        measure = f"r2 of an exponential fit minus r2 of a power law (whose power is {power.slope:.1f})"
        return Claim.above("fig6b", text, measure, estimate)
    measure = f"r2 of a linear fit (itself {line.r2:.3f}, at least {GOOD}) minus r2 of an exponential one"
    claim = Claim.above("fig6b", text, measure, estimate)
    doubtful = claim.verdict == "reproduced" and line.r2 < GOOD
    return replace(claim, verdict="undecided") if doubtful else claim


def claims_c(rows: Sequence[Row]) -> list[Claim]:
    found = []
    emuq, first = _by(rows, "emuq", "sparsity"), _by(rows, "epsilon-greedy-first", "sparsity")
    anyhow = _by(rows, "epsilon-greedy", "sparsity")
    if 0.0 in emuq and 1.0 in emuq:
        change = statistics.mean([_steps([a])[0] - _steps([b])[0] for a, b in paired(emuq[1.0], emuq[0.0])])
        text = "EMU-Q is unaffected by the density of rewards"
        measure = f"steps with goal-only rewards minus dense ones, within {STEPS_C // 20} of {STEPS_C}"
        found.append(Claim.within("fig6c", text, measure, change, -STEPS_C / 20, STEPS_C / 20))
    for agent, cells in (("epsilon-greedy", anyhow), ("epsilon-greedy-first", first)):
        if 0.0 in cells and 1.0 in cells:
            change = statistics.mean(
                [_steps([a])[0] - _steps([b])[0] for a, b in paired(cells[1.0], cells[0.0])]
            )
            text = f"{AGENTS[agent]}: degrades as rewards become sparse"
            found.append(Claim.above("fig6c", text, "steps with goal-only rewards minus dense ones", change))
        if 0.0 in cells and 0.0 in emuq:
            pairs = paired(cells[0.0], emuq[0.0])
            change = statistics.mean([_steps([a])[0] - _steps([b])[0] for a, b in pairs])
            text = f"{AGENTS[agent]}: similar to EMU-Q where every step costs 1"
            measure = f"steps minus EMU-Q's, within {STEPS_C // 20} of {STEPS_C}"
            found.append(Claim.within("fig6c", text, measure, change, -STEPS_C / 20, STEPS_C / 20))
    return found


def _table(rows: Sequence[Row], setting: str, title: str, note: str) -> list[Table]:
    agents = [agent for agent in AGENTS if select(rows, agent=agent)]
    values = sorted({row.spec[setting] for row in rows})
    body = []
    for value in values:
        cells = [select(rows, agent=agent, **{setting: value}) for agent in agents]
        body.append((f"{value:g}", *(_cell(cell) for cell in cells)))
    return [Table(title, (setting, *(AGENTS[agent] for agent in agents)), tuple(body), note)]


def _cell(cell: Sequence[Row]) -> str:
    if not cell:
        return "-"
    steps = _steps(cell)
    missed = sum(row.result["goal_steps"] is None for row in cell)
    spread = f" ({np.std(steps, ddof=1):,.0f})" if len(steps) > 1 else ""
    return f"{np.mean(steps):,.0f}{spread}" + (f", {missed} of {len(cell)} without" if missed else "")


def tables_b(rows: Sequence[Row]) -> list[Table]:
    note = "Mean (sd) over runs. A run without a goal counts as all the steps it had."
    return _table(rows, "length", "Steps to the goal", note)


def tables_c(rows: Sequence[Row]) -> list[Table]:
    note = (
        f"Mean (sd) over runs of at most {STEPS_C} steps. Sparsity 1 is goal-only; at 0 every step costs 1."
    )
    return _table(rows, "sparsity", "Steps to the goal of a chain of 10", note)


def _curves(rows: Sequence[Row], setting: str, axes) -> None:
    for i, (agent, label) in enumerate(AGENTS.items()):
        if cells := _by(rows, agent, setting):
            plots.points(axes, list(cells), [_steps(cell) for cell in cells.values()], label, i)


def figure_b(rows: Sequence[Row]):
    drawing, (left, right) = plots.panels(2, width=4.0, height=3.4)
    ours = select(rows, agent="emuq") or rows
    _curves(ours, "length", left)
    _curves(rows, "length", right)
    title = f"{AGENTS[ours[0].spec.agent]}, linear axes"
    left.set(xlabel="length of the chain", ylabel="steps to the goal", title=title, ylim=(0, None))
    right.set(xlabel="length of the chain", title="all, logarithmic steps", yscale="log")
    drawing.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return drawing


def figure_c(rows: Sequence[Row]):
    drawing, axes = plots.panels(1, width=5.4, height=3.2)
    _curves(rows, "sparsity", axes)
    axes.legend()
    axes.set(xlabel="sparsity p (1: goal-only)", ylabel="steps to the goal", ylim=(0, 1.05 * STEPS_C))
    return drawing


_NOTES = (
    "Epsilon-greedy is RFF-Q on the same features as EMU-Q. Without a reward all its values stay equal, so "
    "that the rule for ties decides: at random (epsilon 0.1) it walks at random, and needs of the order of "
    "the square of the length; taking the first of equal actions, which leads left (epsilon 0.5), it needs "
    "exponentially many steps and is shown for short chains only. EMU-Q's episodes are cut at "
    "twice the chain's length, since the paper's preset plans, and ours draws fresh features, between them."
)
EXPERIMENTS = (
    Experiment(
        "fig6b", "Chain: steps to the goal by length", 30, specs_b, goals.execute, claims_b,
        group=goals.group, tables=tables_b, figure=figure_b, varies=("length",), notes=_NOTES,
    ),
    Experiment(
        "fig6c", "Chain of 10: steps to the goal by sparsity", 100, specs_c, goals.execute, claims_c,
        group=goals.group, tables=tables_c, figure=figure_c, varies=("sparsity",), notes=_NOTES,
    ),
)  # fmt: skip
