"""Compiled programs are kept on disk by the command line, and by a program that asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache

import emuq
from emuq import cache
from emuq.errors import InputError

NAMES = (
    "jax_compilation_cache_dir",
    "jax_compilation_cache_max_size",
    "jax_persistent_cache_min_compile_time_secs",
)


@pytest.fixture
def restored():
    """JAX's settings as they were."""
    before = {name: getattr(jax.config, name) for name in NAMES}
    yield before
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


def programs(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*-cache")}


def test_a_program_that_asks_keeps_what_it_compiles(tmp_path, restored):
    first, second = emuq.cache.enable(tmp_path / "first"), tmp_path / "second"
    assert first.parent == tmp_path / "first"
    jax.jit(lambda x: x * 3 + 1)(1.0)
    assert programs(first)
    assert (
        emuq.cache.enable(second).stat().st_mode & 0o077 == 0
    )  # what is there is run: nobody else's to write
    jax.jit(lambda x: x * 5 + 1)(1.0)
    assert programs(second)


def test_the_cache_is_bounded(tmp_path, restored, monkeypatch):
    monkeypatch.setattr(cache, "MAX_BYTES", 6000)
    folder = cache.enable(tmp_path)
    for i in range(6):
        jax.jit(lambda x, i=i: x * 3 + i)(1.0)
    kept = [path.stat().st_size for path in folder.glob("*-cache")]
    assert 1 <= len(kept) < 6
    assert sum(kept) <= 6000


def test_a_library_changes_nothing_by_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = [getattr(jax.config, name) for name in NAMES]
    from emuq.cli import main

    assert (
        main(["train", "Taxi", "--agent", "random", "--episodes", "1", "--out", str(tmp_path / "run")]) == 0
    )
    assert [getattr(jax.config, name) for name in NAMES] == before
    assert not programs(tmp_path)


def test_a_folder_that_cannot_be_made_is_one_line(restored):
    with pytest.raises(InputError, match="cannot keep compiled programs in /dev/null"):
        cache.enable("/dev/null/x")


def test_other_processors_and_numbers_of_threads_have_folders_of_their_own(monkeypatch):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    folders = {cache.variables(threads)["JAX_COMPILATION_CACHE_DIR"] for threads in (1, 2)}
    monkeypatch.setattr("platform.machine", lambda: "abacus")
    folders.add(cache.variables(1)["JAX_COMPILATION_CACHE_DIR"])
    assert len(folders) == 3


def test_a_cache_of_the_user_s_own_is_left_alone(monkeypatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/somewhere")
    assert cache.variables(1) == {}


def test_a_second_command_compiles_nothing(tmp_path):
    script = (
        "import sys, jax.monitoring\nfrom emuq.cli import main\nevents = []\n"
        "jax.monitoring.register_event_listener(lambda event, **_: events.append(event))\n"
        "status = main()\n"
        "print(sum(event.endswith('cache_misses') for event in events), file=sys.stderr)\n"
        "sys.exit(status)"
    )
    misses = []
    for number in range(2):
        arguments = [
            "train",
            "Taxi",
            "--agent",
            "random",
            "--episodes",
            "1",
            "--json",
            "--out",
            str(tmp_path / str(number)),
        ]
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        environment.pop("JAX_COMPILATION_CACHE_DIR", None)
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        misses.append(int(done.stderr.splitlines()[-1]))
    assert misses[0] > 0
    assert misses[1] == 0
