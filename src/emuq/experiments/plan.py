"""From names and numbers to jobs: which runs, in which groups."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from emuq.errors import InputError
from emuq.experiments.base import Experiment, Row
from emuq.run import devices
from emuq.run.jobs import Job
from emuq.run.spec import RunSpec
from emuq.run.store import Store


def plan(
    experiments: Sequence[Experiment],
    *,
    seeds: int | None = None,
    agents: Collection[str] = (),
    domains: Collection[str] = (),
    batches: devices.Batches = devices.ON_CPU,
) -> list[Job]:
    """The jobs of these experiments; `seeds` None is the paper's number, no agents or domains means all.

    Runs that an experiment would have in batches are cut up by their seeds, 0 to 9 and so on; where there are
    too few of them to make it worth while, each is a job of its own.
    """
    if seeds is not None and seeds < 1:
        raise InputError(f"seeds is {seeds}: expected a whole number from 1")
    chosen: dict[str, tuple[Experiment, RunSpec]] = {}
    for experiment in experiments:
        for spec in experiment.specs(range(seeds or experiment.runs)):
            chosen.setdefault(spec.key, (experiment, spec))
    specs = [spec for _, spec in chosen.values()]
    _check("agents", agents, {spec.agent for spec in specs})
    _check("domains", domains, {spec.domain for spec in specs})
    groups: dict[Hashable, tuple[Experiment, list[RunSpec]]] = {}
    for experiment, spec in chosen.values():
        wanted = spec.agent in agents if agents else spec.agent not in experiment.on_request
        if wanted and (not domains or spec.domain in domains):
            size = batches.size if (seeds or experiment.runs) >= batches.least else 1
            part = spec.seed // size if experiment.in_batches(spec) else 0
            key = (experiment.runs_of, experiment.group(spec), part)
            groups.setdefault(key, (experiment, []))[1].append(spec)
    if not groups:
        raise InputError(
            f"no run has both an agent in {' '.join(agents)} and a domain in {' '.join(domains)}: widen one"
        )
    return [Job(experiment.execute, tuple(group)) for experiment, group in groups.values()]


def _check(what: str, given: Collection[str], known: set[str]) -> None:
    for name in given:
        if name not in known:
            raise InputError(f"--{what} {name}: these experiments have only {', '.join(sorted(known))}")


def finished(experiment: Experiment, store: Store) -> tuple[list[Row], list[str], int]:
    """(rows, errors of failed runs, rows set aside since their specs are not this version's)."""
    records = list(store.records(experiment.runs_of))
    if not records:
        return [], [], 0
    seeds = 1 + max(record.seed for record in records)
    present = {spec.key: spec for spec in experiment.specs(range(max(seeds, experiment.runs)))}
    rows, errors, foreign = [], [], 0
    for record in records:
        spec = present.get(record.key)
        if spec is None:
            foreign += 1
        elif record.result is None:
            errors.append(f"{spec.agent} on {spec.domain}, seed {spec.seed}: {_last_line(record.error)}")
        else:
            rows.append(Row(spec, record.result, record.seconds))
    return rows, errors, foreign


def _last_line(error: str | None) -> str:
    return error.strip().splitlines()[-1] if error else "no message"
