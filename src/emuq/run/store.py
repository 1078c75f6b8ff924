"""Results on disk: `results.sqlite`, one row a run, keyed by the hash of its spec.

A row is committed as its run ends, so that SIGKILL loses only runs in flight. A finished row is never
overwritten: of several writers of one run the first wins. A failed row gives way to a later attempt.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from emuq.errors import InputError
from emuq.run.spec import RunSpec

FILE = "results.sqlite"
APPLICATION_ID = 0x656D7571  # "emuq"
SCHEMA_VERSION = 1
BUSY_SECONDS = 60.0  # how long a writer waits for another one's transaction

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    key TEXT PRIMARY KEY, experiment TEXT NOT NULL, agent TEXT NOT NULL, domain TEXT NOT NULL,
    seed INTEGER NOT NULL, spec TEXT NOT NULL, status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    result TEXT, error TEXT, seconds REAL NOT NULL, finished REAL NOT NULL, provenance TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_by_experiment ON runs (experiment, agent, domain, seed);
"""
_INSERT = """
INSERT INTO runs VALUES (:key, :experiment, :agent, :domain, :seed, :spec, :status, :result, :error,
                         :seconds, :finished, :provenance)
ON CONFLICT (key) DO UPDATE SET status = excluded.status, result = excluded.result, error = excluded.error,
    seconds = excluded.seconds, finished = excluded.finished, provenance = excluded.provenance
WHERE runs.status = 'failed'
"""

_ADVICE = {
    sqlite3.SQLITE_FULL: "what was recorded is safe; make room and run the same command again",
    sqlite3.SQLITE_IOERR: "what was recorded is safe; look after the disk and run the same command again",
    sqlite3.SQLITE_READONLY: "it may only be read; choose another folder or change its permissions",
    sqlite3.SQLITE_BUSY: f"another process kept it for {BUSY_SECONDS:g} s; run the same command again",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; move it away and take another copy, or run again",
}


class Record(NamedTuple):
    """A row of the store: a finished run has a result, a failed one an error."""

    key: str
    seed: int
    spec: str
    result: dict[str, Any] | None
    error: str | None
    seconds: float
    finished: float
    provenance: dict[str, Any]


class Store:
    """`with Store(folder) as store: store.write(...)`; safe with several writers, in several processes."""

    def __init__(self, folder: str | os.PathLike, *, create: bool = True) -> None:
        self.path = Path(folder) / FILE
        if create:
            _make_folder(Path(folder))
        elif not self.path.is_file():
            raise InputError(
                f"no {FILE} in {folder}: expected a folder written by emuq reproduce --out {folder}"
            )
        with _explained(self.path):
            self._database = _connect(self.path, "mode=rwc") if create else _reader(self.path)
            try:
                self._prepare(create)
            except BaseException:  # nobody will have this store to close it
                self._database.close()
                raise
        self._file = os.stat(self.path)

    def _prepare(self, create: bool) -> None:
        # In this order: another process may be making the store, and its tables come with their mark.
        tables = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        mark, version = (self._pragma(name) for name in ("application_id", "user_version"))
        if tables and mark != APPLICATION_ID:
            raise InputError(f"{self.path} is another program's database: choose another folder")
        if tables and version != SCHEMA_VERSION:
            raise InputError(
                f"{self.path} has format {version}, this emuq reads {SCHEMA_VERSION}: "
                "use the version of emuq that wrote it"
            )
        if not create:
            if not tables:  # a reproduce that has only just begun
                raise InputError(f"{self.path} has no run yet: wait for emuq reproduce to record one")
            return
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        if not tables:
            # One transaction, so that a process killed here leaves either nothing or a whole store.
            self._database.executescript(
                f"BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION_ID}; "
                f"PRAGMA user_version = {SCHEMA_VERSION}; {_SCHEMA} COMMIT;"
            )

    def _pragma(self, name: str) -> int:
        return self._database.execute(f"PRAGMA {name}").fetchone()[0]

    def write(
        self,
        specs: Sequence[RunSpec],
        results: Sequence[dict[str, Any]] | None,
        error: str | None,
        seconds: float,
        provenance: dict[str, Any],
    ) -> None:
        """Record a group of runs that ended together, all or nothing; `seconds` is each run's share."""
        rows = []
        for i, spec in enumerate(specs):
            rows.append(
                {
                    "key": spec.key,
                    "experiment": spec.experiment,
                    "agent": spec.agent,
                    "domain": spec.domain,
                    "seed": spec.seed,
                    "spec": spec.to_json(),
                    "status": "failed" if results is None else "done",
                    "result": None if results is None else json.dumps(results[i], allow_nan=False),
                    "error": error,
                    "seconds": seconds,
                    "finished": time.time(),
                    "provenance": json.dumps(provenance),
                }
            )
        with _explained(self.path):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.executemany(_INSERT, rows)
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:  # an interrupt may come just after the commit
                    self._database.execute("ROLLBACK")
                raise
        self._check_there()

    def _check_there(self) -> None:
        """SQLite goes on writing to a file that was removed, as if nothing had happened."""
        try:
            there = os.path.samestat(os.stat(self.path), self._file)
        except FileNotFoundError:
            there = False
        if not there:
            raise InputError(
                f"{self.path} was removed or replaced meanwhile: what is recorded from now on would be lost; "
                "run the same command again"
            )

    def done(self) -> set[str]:
        """Keys of finished runs."""
        return self._keys("done")

    def failed(self) -> set[str]:
        """Keys of runs whose last attempt failed."""
        return self._keys("failed")

    def _keys(self, status: str) -> set[str]:
        with _explained(self.path):
            return {
                key for (key,) in self._database.execute("SELECT key FROM runs WHERE status = ?", (status,))
            }

    def records(self, experiment: str) -> Iterator[Record]:
        """Every row of an experiment, finished or failed, ordered by agent, domain and seed."""
        query = (
            "SELECT key, seed, spec, result, error, seconds, finished, provenance FROM runs "
            "WHERE experiment = ? ORDER BY agent, domain, seed, key"
        )
        with _explained(self.path):
            for key, seed, spec, result, error, seconds, finished, provenance in self._database.execute(
                query, (experiment,)
            ):
                parsed = None if result is None else self._object(key, "result", result)
                origin = self._object(key, "provenance", provenance)
                yield Record(key, seed, spec, parsed, error, seconds, finished, origin)

    def _object(self, key: str, column: str, text: str) -> dict[str, Any]:
        try:
            found = json.loads(text)
        except (TypeError, ValueError) as error:
            reason = str(error)
        else:
            if isinstance(found, dict):
                return found
            reason = f"a {type(found).__name__}"
        raise InputError(
            f"{self.path} is damaged: the {column} of run {key} is not a JSON object ({reason}); "
            "delete that row and run emuq reproduce again"
        )

    def experiments(self) -> list[str]:
        with _explained(self.path):
            return [name for (name,) in self._database.execute("SELECT DISTINCT experiment FROM runs")]

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {folder} ({error.strerror}): choose another with --out"
        ) from error
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write in the folder {folder}: choose another with --out")


def _connect(path: Path, how: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?{how}"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


def _reader(path: Path) -> sqlite3.Connection:
    """A connection that writes nothing, on a read-only disk, too.

    Beside a store with a write-ahead log SQLite keeps two files of its own. Where it can make none, nobody
    writes, and the file is read as it lies there; unless rows are in the log that have not reached it.
    """
    database = _connect(path, "mode=rw")  # which SQLite needs to tidy up after itself, where it may
    try:
        database.execute("PRAGMA query_only = ON")
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return database
    except sqlite3.OperationalError:
        database.close()
        log = path.with_name(path.name + "-wal")
        if log.is_file() and log.stat().st_size:
            raise InputError(
                f"{path} has rows in {log.name} that cannot be read where nothing can be written: "
                "copy the folder to a place where it can"
            ) from None
        return _connect(path, "immutable=1")
    except sqlite3.DatabaseError:  # no database at all
        database.close()
        raise


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """SQLite's errors in one line that says what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest says in which call it happened
        advice = _ADVICE.get(code, "expected a store of emuq; choose another folder")
        raise InputError(f"cannot use {path} ({error}): {advice}") from error
