"""One run as frozen data: equal specs are the same run, and their hash is its key in the store."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from emuq.errors import InputError

# Raise when the meaning of a spec's fields changes; an experiment's own `revision` covers its own code.
SPEC_VERSION = 1
# Raise an agent's when what it does changes: rows of its earlier self are then set aside.
AGENT_REVISIONS = {"emuq": 4, "emuq-paper": 4, "rffq": 2, "rnd": 2, "rnd-bonus": 2}
# The same for runs that go on after the first goal, which more of an agent's code bears on.
LONG_REVISIONS = AGENT_REVISIONS | {"emuq": 15}


@dataclass(frozen=True)
class RunSpec:
    """key = sha256(canonical JSON of every field): whatever changes a result belongs in here.

    `settings` are sorted (name, value) pairs of JSON values; `RunSpec.of` makes them from keywords.
    `revision` is raised by an experiment when what its runs do changes, so that old rows are set aside.
    """

    experiment: str
    agent: str
    domain: str
    seed: int
    settings: tuple[tuple[str, Any], ...] = ()
    revision: int = 1

    @classmethod
    def of(
        cls, experiment: str, agent: str, domain: str, seed: int, *, revision: int | None = None, **settings
    ) -> RunSpec:
        pairs = tuple(sorted((name, _frozen(name, value)) for name, value in settings.items()))
        if revision is None:
            revision = AGENT_REVISIONS.get(agent, 1)
        return cls(experiment, agent, domain, int(seed), pairs, revision)

    def __getitem__(self, name: str) -> Any:
        """A setting by its name: `spec["episodes"]`."""
        return dict(self.settings)[name]

    def get(self, name: str, default: Any = None) -> Any:
        return dict(self.settings).get(name, default)

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": SPEC_VERSION,
            "experiment": self.experiment,
            "agent": self.agent,
            "domain": self.domain,
            "seed": self.seed,
            "settings": {name: _thawed(value) for name, value in self.settings},
            "revision": self.revision,
        }

    @classmethod
    def from_json(cls, text: str) -> RunSpec | None:
        """The spec that has this text; None where the text is of another version, or no spec's."""
        try:
            found = json.loads(text)
            names = ("experiment", "agent", "domain", "seed", "revision")
            experiment, agent, domain, seed, revision = (found[name] for name in names)
            spec = cls.of(experiment, agent, domain, seed, revision=revision, **found["settings"])
        except (ValueError, KeyError, TypeError):
            return None
        return spec if spec.to_json() == text else None

    def to_json(self) -> str:
        """Canonical: keys sorted, no spaces, so that equal specs give equal bytes."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def key(self) -> str:
        """The content hash, 32 hexadecimal digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:32]


def _frozen(name: str, value: Any) -> Any:
    """A JSON value with tuples for lists, so that a spec is hashable."""
    if isinstance(value, list | tuple):
        return tuple(_frozen(name, item) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(
        f"setting {name} is a {type(value).__name__}: expected a number, text, None or a list of these"
    )


def _thawed(value: Any) -> Any:
    return [_thawed(item) for item in value] if isinstance(value, tuple) else value
