"""What `emuq sweep` recorded, as an experiment of a report: its runs are those that a store has."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from emuq.experiments.base import Claim, Experiment, Result, Row, Table
from emuq.run.spec import AGENT_REVISIONS, RunSpec
from emuq.run.store import Store

NAME = "sweep"  # as `emuq.batch.sweep` has it, which imports JAX


def recorded(store: Store) -> dict[str, Experiment]:
    """The experiment by its name, where the store has runs of it."""
    if NAME not in store.experiments():
        return {}
    found = (RunSpec.from_json(record.spec) for record in store.records(NAME))
    specs = tuple(spec for spec in found if spec is not None and spec.revision == AGENT_REVISIONS["emuq"])
    seeds = len({spec.seed for spec in specs})
    return {
        NAME: Experiment(
            NAME, "Settings side by side", seeds, lambda _: specs, _execute, _claims,
            tables=_tables, figure=_figure, varies=("point", "features", "episodes"), beyond=True,
            again=_again,
        )
    }  # fmt: skip


def _execute(specs: Sequence[RunSpec]) -> list[Result]:
    from emuq.batch import sweep

    return sweep.execute(specs)


def _claims(rows: Sequence[Row]) -> list[Claim]:
    return []


def _groups(rows: Sequence[Row]) -> dict[tuple, list[Row]]:
    """Sweeps: rows that differ in nothing but the values of the same settings, and in their seeds."""
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        spec = row.spec
        names = tuple(name for name, _ in spec["point"])
        groups.setdefault((spec.domain, spec["features"], spec["episodes"], names), []).append(row)
    return groups


def _title(domain: str, features: int, episodes: int, names: Sequence[str]) -> str:
    return f"{domain}, {features} features"


def _cells(rows: Sequence[Row]) -> list:
    from emuq.batch import sweep

    return sweep.cells([(row.spec, row.result) for row in rows])


def _tables(rows: Sequence[Row]) -> list[Table]:
    tables = []
    for (domain, features, episodes, names), group in _groups(rows).items():
        best = sorted(_cells(group), key=lambda cell: (-cell.success, cell.steps))
        body = tuple(
            (
                *(f"{cell.settings[name]:.4g}" for name in names),
                f"{cell.success:.0%} of {cell.runs}",
                f"{cell.episodes:.3g}",
                f"{cell.steps:.0f}",
            )
            for cell in best
        )
        header = (*names, "runs with a goal", "mean episodes", "median steps")
        note = f"The best first. A run without a goal in {episodes} episodes counts with all their steps."
        tables.append(Table(_title(domain, features, episodes, names), header, body, note))
    return tables


def _figure(rows: Sequence[Row]):
    from emuq.batch import heat_map

    groups = _groups(rows).items()
    return heat_map.figure([(_title(*which), _cells(group)) for which, group in groups])


def _again(rows: Sequence[Row]) -> str:
    """The commands of grids. Points that were drawn cannot be told by their values."""
    from emuq.batch import heat_map

    commands = []
    for (domain, features, episodes, names), group in _groups(rows).items():
        cells, seeds = _cells(group), [row.spec.seed for row in group]
        values = {name: sorted({cell.settings[name] for cell in cells}) for name in names}
        words = ["emuq", "sweep", domain, "--grid"]
        words += [f"{name}={','.join(map(str, found))}" for name, found in values.items()]
        words += ["--runs", len({*seeds}), "--first-seed", min(seeds)]
        words += ["--episodes", episodes, "--features", features]
        if heat_map.is_grid(cells):
            commands.append(shlex.join(map(str, words)))
    return "; ".join(commands)
