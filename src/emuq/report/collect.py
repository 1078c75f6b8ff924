"""Everything a report says, as data: from a store, or from the `report.json` of an earlier report."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emuq import experiments
from emuq.errors import InputError
from emuq.experiments import sweeps
from emuq.experiments.base import Claim, Experiment, Row, Table
from emuq.experiments.plan import finished
from emuq.report.summary import summarise
from emuq.run.store import Store

JSON_FILE = "report.json"


@dataclass(frozen=True)
class Section:
    """One experiment of a report."""

    experiment: Experiment
    rows: Sequence[Row]
    claims: Sequence[Claim]
    tables: Sequence[Table]
    errors: Sequence[str]
    set_aside: int

    @property
    def seeds(self) -> int:
        return len({row.spec.seed for row in self.rows})

    @property
    def told_seeds(self) -> str:
        """How many there are, and how many the paper has."""
        return f"{self.seeds} seeds" + (
            "" if self.experiment.beyond else f" of the paper's {self.experiment.runs}"
        )

    @property
    def again(self) -> str:
        """The command that makes these runs: with the options without which it would make others.

        It is empty where no command does.
        """
        if self.experiment.again is not None:
            return self.experiment.again(self.rows)
        words = ["emuq", "reproduce", self.experiment.name]
        if not self.rows:
            return shlex.join(words)
        seeds = 1 + max(row.spec.seed for row in self.rows)
        if seeds != self.experiment.runs:
            words += ["--seeds", str(seeds)]
        specs = [spec for spec in self.experiment.specs([0]) if spec.agent not in self.experiment.on_request]
        for option in ("agents", "domains"):
            name = option.removesuffix("s")
            present = dict.fromkeys(getattr(row.spec, name) for row in self.rows)
            if present.keys() != {getattr(spec, name) for spec in specs}:
                words += [f"--{option}", *present]
        return shlex.join(words)


@dataclass(frozen=True)
class Report:
    """The sections in the order of the paper, and where their runs came from."""

    sections: Sequence[Section]
    versions: dict[str, list[str]] = field(default_factory=dict)
    hosts: Sequence[str] = ()
    unknown: Sequence[str] = ()

    @property
    def again(self) -> list[str]:
        """The commands that make all of its runs, those that two experiments share once."""
        return list(
            {
                section.experiment.runs_of: f"{section.again} --out results"
                for section in self.sections
                if section.again
            }.values()
        )

    @property
    def claims(self) -> list[Claim]:
        return [claim for section in self.sections for claim in section.claims]

    @property
    def runs(self) -> int:
        """Runs, those shared by two experiments counted once."""
        return len({row.spec.key for section in self.sections for row in section.rows})

    @property
    def seconds(self) -> float:
        """Compute time of all runs."""
        return sum({row.spec.key: row.seconds for section in self.sections for row in section.rows}.values())

    def to_dict(self) -> dict[str, Any]:
        """What `emuq report --json` prints."""
        return {
            "rows": [row for section in self.sections for row in summarise(section.experiment, section.rows)],
            "claims": [claim.to_dict() for claim in self.claims],
            "runs": self.runs,
            "failed": sum(len(section.errors) for section in self.sections),
            "seconds": round(self.seconds, 1),
            "versions": self.versions,
            "hosts": list(self.hosts),
        }


def collect(folder: str | Path, names: Sequence[str] = ()) -> Report:
    """The report of a folder's store: of the experiments named, or of all that have a run."""
    sections, versions, hosts = [], {}, Counter()
    with Store(folder, create=False) as store:
        stored = set(store.experiments())
        known = experiments.every() | sweeps.recorded(store)
        for experiment in experiments.named(names, known) if names else known.values():
            if experiment.runs_of not in stored:
                continue
            rows, errors, set_aside = finished(experiment, store)
            claims, tables = (experiment.claims(rows), experiment.tables(rows)) if rows else ([], [])
            sections.append(Section(experiment, rows, claims, tables, errors, set_aside))
            for record in store.records(experiment.runs_of):
                host, device = (record.provenance.get(part, "unknown") for part in ("host", "device"))
                hosts[f"{host} ({device})"] += 1
                for package, version in dict(record.provenance.get("versions", {})).items():
                    versions.setdefault(package, set()).add(str(version))
    if not sections:
        raise InputError(
            f"{folder} has no run of {' '.join(names) or 'any experiment'}: run emuq reproduce first"
        )
    unknown = sorted(stored - {experiment.runs_of for experiment in known.values()})
    plain = {package: sorted(found) for package, found in sorted(versions.items())}
    return Report(sections, plain, [host for host, _ in hosts.most_common()], unknown)


def read_json(folder: str | Path) -> dict[str, Any]:
    """The `report.json` that a report left in a folder."""
    path = Path(folder) / JSON_FILE
    try:
        found = json.loads(path.read_text())
        return {"rows": found["rows"], "claims": found["claims"], **found}
    except FileNotFoundError as error:
        raise InputError(
            f"neither results.sqlite nor {JSON_FILE} in {folder}: run emuq reproduce first"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not a report of emuq ({error}): make it again with emuq report"
        ) from error
