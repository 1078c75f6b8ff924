"""The store: one row a run, safe with several writers, and it refuses what is not its own."""

import json
import multiprocessing
import os
import sqlite3
from contextlib import closing

import pytest

from emuq.errors import InputError
from emuq.run.spec import RunSpec
from emuq.run.store import FILE, Store

SPECS = tuple(RunSpec.of("toy", "fair", "Coin", seed) for seed in range(40))


def write(store, spec, result=None, error=None):
    store.write([spec], None if error else [result or {"heads": spec.seed}], error, 0.5, {"host": "here"})


def test_a_finished_run_is_never_overwritten_and_a_failed_one_gives_way(tmp_path):
    with Store(tmp_path) as store:
        write(store, SPECS[0], error="no coin")
        assert store.failed() == {SPECS[0].key}
        write(store, SPECS[0], {"heads": 1})
        write(store, SPECS[0], {"heads": 2})
        write(store, SPECS[0], error="late")
        (record,) = store.records("toy")
    assert record.result == {"heads": 1}
    assert record.error is None
    assert record.provenance == {"host": "here"}
    assert record.spec == SPECS[0].to_json()


def test_a_group_is_written_whole_or_not_at_all(tmp_path):
    with Store(tmp_path) as store:
        with pytest.raises(ValueError, match="Out of range float"):
            store.write(SPECS[:2], [{"heads": 1}, {"heads": float("nan")}], None, 0.1, {})
        assert store.done() == set()
        store.write(SPECS[:2], [{"heads": 1}, {"heads": 2}], None, 0.1, {})
    with Store(tmp_path, create=False) as store:
        assert store.done() == {spec.key for spec in SPECS[:2]}
        assert store.experiments() == ["toy"]


@pytest.mark.parametrize(("moment", "kept"), [("COMMIT", True), ("INSERT", False)])
def test_an_interrupt_while_writing_stays_an_interrupt(tmp_path, moment, kept):
    class Interrupted:
        """A connection whose user presses Ctrl-C as this statement ends."""

        def __init__(self, database):
            self._database = database

        def __getattr__(self, name):
            return getattr(self._database, name)

        def execute(self, statement, *rest):
            return self._then(self._database.execute(statement, *rest), statement)

        def executemany(self, statement, rows):
            return self._then(self._database.executemany(statement, rows), statement)

        def _then(self, cursor, statement):
            if statement.strip().startswith(moment):
                raise KeyboardInterrupt
            return cursor

    with Store(tmp_path) as store:
        database = store._database
        store._database = Interrupted(database)
        with pytest.raises(KeyboardInterrupt):
            write(store, SPECS[0])
        store._database = database
        assert (store.done() == {SPECS[0].key}) == kept
        write(store, SPECS[1])
        assert SPECS[1].key in store.done()


def _write_all(folder, mark):
    with Store(folder) as store:
        for spec in SPECS:
            write(store, spec, {"writer": mark})


def test_several_writers_at_once_leave_one_row_a_run(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_all, args=(tmp_path, mark)) for mark in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        rows = database.execute("SELECT key, result FROM runs").fetchall()
    assert {key for key, _ in rows} == {spec.key for spec in SPECS}
    assert len(rows) == len(SPECS)
    assert {json.loads(result)["writer"] for _, result in rows} <= {0, 1, 2}


def test_foreign_newer_and_broken_databases_are_refused(tmp_path):
    foreign = sqlite3.connect(tmp_path / FILE)
    foreign.execute("CREATE TABLE songs (title)")
    foreign.close()
    with pytest.raises(InputError, match="another program's database"):
        Store(tmp_path)
    newer = tmp_path / "newer"
    Store(newer).close()
    database = sqlite3.connect(newer / FILE)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(InputError, match="format 99, this emuq reads 1"):
        Store(newer)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / FILE).write_bytes(b"not a database at all" * 100)
    with pytest.raises(InputError, match="file is not a database"):
        Store(broken)


def test_folders_that_cannot_be_used_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make the folder"):
        Store(tmp_path / "file")
    with pytest.raises(InputError, match=r"no results\.sqlite"):
        Store(tmp_path / "absent", create=False)
    sqlite3.connect(tmp_path / FILE).execute("PRAGMA journal_mode = WAL").connection.close()
    with pytest.raises(InputError, match="has no run yet"):
        Store(tmp_path, create=False)
    if os.geteuid() != 0:  # root may write anywhere
        (tmp_path / "locked").mkdir(mode=0o500)
        with pytest.raises(InputError, match="cannot write in the folder"):
            Store(tmp_path / "locked")


def test_a_full_disk_keeps_what_was_recorded_and_says_what_to_do(tmp_path):
    with Store(tmp_path) as store:
        write(store, SPECS[0])
        pages = store._pragma("page_count")
        store._database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(
            InputError, match=r"is full\): what was recorded is safe; make room and run"
        ) as caught:
            write(store, SPECS[1], {"much": "x" * 100_000})
        assert "\n" not in str(caught.value)
        assert store.done() == {SPECS[0].key}
        store._database.execute(f"PRAGMA max_page_count = {pages + 1000}")
        write(store, SPECS[1])
        assert store.done() == {spec.key for spec in SPECS[:2]}


def test_a_store_that_another_process_keeps_is_waited_for_and_then_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("emuq.run.store.BUSY_SECONDS", 0.05)
    with Store(tmp_path) as store:
        other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(InputError, match=r"database is locked\): another process kept it"):
            write(store, SPECS[0])
        other.execute("COMMIT")
        other.close()
        write(store, SPECS[0])
        assert store.done() == {SPECS[0].key}


def test_two_processes_may_make_a_store_at_the_same_moment(tmp_path):
    class Late(Store):
        """Another process makes the store while this one looks whether there is one."""

        def _pragma(self, name):
            value = super()._pragma(name)
            if name == "application_id" and not value:
                Store(self.path.parent).close()
            return value

    with Late(tmp_path) as store:
        write(store, SPECS[0])
        assert store.done() == {SPECS[0].key}


@pytest.mark.parametrize("replaced", [False, True])
def test_a_store_that_was_taken_away_is_noticed(tmp_path, replaced):
    with Store(tmp_path) as store:
        write(store, SPECS[0])
        for path in tmp_path.iterdir():
            path.rename(path.with_name(f"old-{path.name}"))
        if replaced:
            Store(tmp_path).close()
        with pytest.raises(InputError, match="removed or replaced meanwhile"):
            write(store, SPECS[1])
