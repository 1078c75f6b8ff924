"""A file is replaced as a whole, whatever happens on the way, and nothing is left behind."""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from emuq.errors import InputError
from emuq.files import replacing

KILLED = """
import os, signal, sys
from emuq.files import replacing
def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(os, sys.argv[2], kill)
with replacing(sys.argv[1]) as file:
    file.write(b"new" * 1000)
    if sys.argv[2] == "write":
        file.flush()
        kill()
"""


def put(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)


@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_a_process_killed_while_it_writes_leaves_nothing_for_long(tmp_path, moment):
    path = tmp_path / "agent.emuq"
    put(path, b"old")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path), moment], check=False)
    assert ended.returncode == -9
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2  # what it was writing ...
    put(path, b"newer")
    assert [entry.name for entry in tmp_path.iterdir()] == ["agent.emuq"]  # ... goes with the next one
    assert path.read_bytes() == b"newer"


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_any_new_file(tmp_path, mask):
    before = os.umask(mask)
    try:
        put(tmp_path / "agent.emuq", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "agent.emuq").stat().st_mode) == 0o666 & ~mask


def test_a_full_disk_is_one_line_and_harms_nothing(tmp_path):
    path = tmp_path / "agent.emuq"
    put(path, b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))  # no file may grow beyond it
    try:
        with pytest.raises(InputError, match=r"cannot write .*agent\.emuq \(File too large\)") as caught:
            put(path, bytes(1 << 21))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_is_full_at_the_last_moment_harms_nothing(tmp_path, monkeypatch, call):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "agent.emuq"
    put(path, b"old")
    monkeypatch.setattr(os, call, full)
    with pytest.raises(InputError, match=r"No space left on device\): nothing was changed there; make room"):
        put(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_of_the_writer_stays_its_own(tmp_path):
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "agent.emuq"):
        1 / 0  # noqa: B018
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written_are_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file" / "agent.emuq", tmp_path / "folder", tmp_path / ("a" * 300)):
        with pytest.raises(InputError, match="cannot write"):
            put(path, b"")


def test_writers_at_once_take_turns(tmp_path):
    path, contents = tmp_path / "agent.emuq", [bytes([i]) * 100_000 for i in range(4)]
    put(path, contents[0])
    errors, done = [], threading.Event()

    def write(content):
        try:
            for _ in range(15):
                put(path, content)
        except BaseException as error:
            errors.append(error)

    def look():
        while not done.is_set():
            if path.read_bytes() not in contents:
                errors.append("a part of a file")

    writers = [threading.Thread(target=write, args=(content,)) for content in contents]
    looker = threading.Thread(target=look)
    for thread in (*writers, looker):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    looker.join()
    assert errors == []
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_where_the_part_goes_is_not_followed(tmp_path):
    """In a folder that others may write to it could lead to any file of ours."""
    victim, path = tmp_path / "victim", tmp_path / "agent.emuq"
    victim.write_text("precious")
    (tmp_path / ".agent.emuq.part").symlink_to(victim)
    put(path, b"new")
    assert victim.read_text() == "precious"
    assert path.read_bytes() == b"new"
    assert not path.is_symlink()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["agent.emuq", "victim"]
