"""Checkpoints that somebody altered: an error of one line is all that comes of them."""

from __future__ import annotations

import json
import tracemalloc
import zipfile

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import emuq
import forging
from emuq import checkpoint
from emuq.errors import InputError
from forging import KINDS, forge, header, state
from tabular_worlds import Corridor

pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in.*:RuntimeWarning")  # of forged options


def _deep(text: str) -> str:
    return text.replace('"@deep@"', forging.DEEP)


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(data=st.data())
def test_whatever_is_altered_an_input_error_is_all_that_comes(kind, originals, forged, data):
    whole = header(originals[kind][2])
    path = data.draw(st.sampled_from(list(forging.places(whole))))
    how = data.draw(st.sampled_from((*forging.REPLACEMENTS, "@deep@", "@nested@", "@drop@")))

    def change(parent, name):
        if how == "@drop@":
            del parent[name]
        else:
            parent[name] = forging.nested(300) if how == "@nested@" else how

    forged(kind, _deep(json.dumps(forging.altered(whole, path, change))))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '"emuq-checkpoint"', "[" * 100_000])
def test_headers_that_are_none_are_refused(text, forged):
    assert "checkpoint" in forged("random", text)


@pytest.mark.parametrize(
    ("version", "advice"),
    [
        (checkpoint.VERSION + 1, "use a newer emuq"),
        (8, "with the version of emuq that wrote it"),
        ("8", "wrote it"),
    ],
)
def test_files_of_other_versions_say_what_to_do(version, advice, originals, forged):
    message = forged("random", header(originals["random"][2]) | {"version": version})
    assert f"checkpoint version {version!r}, this emuq reads {checkpoint.VERSION}" in message
    assert advice in message


@pytest.mark.parametrize(
    ("kind", "option", "number"),
    [
        ("emuq", "features", 10**9), ("emuq", "features", 1000), ("emuq", "capacity", 10**12),
        ("rffq", "features", 10**9),
        ("rffq-fourier", "order", 10**6), ("dora", "memory", 10**12),
        ("dora", "actions_per_dimension", 10**9), ("vime", "pool", 10**12), ("vime", "batch", 10**12),
        ("vime", "hidden", 10**9), ("rnd", "features", 10**9), ("rnd", "capacity", 10**12),
        ("rnd", "hidden", 10**9), ("rnd", "outputs", 10**9),
    ],
)  # fmt: skip
def test_options_that_would_make_a_huge_agent_are_refused_before_it_is_made(
    kind, option, number, originals, forged, monkeypatch
):
    whole = header(originals[kind][2])
    whole["meta"]["options"][option] = number
    monkeypatch.setattr(type(originals[kind][1]), "__init__", None)  # so that making one is another error
    assert f"{option} is {number}, but no array in the file has more than" in forged(kind, whole)


def test_an_agent_too_large_for_the_machine_is_refused_before_it_is_made(forged, monkeypatch):
    monkeypatch.setattr("emuq.agents.sizes.memory", lambda: 64 * 300)
    assert "features is 20: too large an agent for this machine's memory" in forged("emuq")


def _npy(descr: str, shape: str) -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x93NUMPY",
        _npy("'<f8'", "(1000000000000,)"),  # 8 TB declared, nothing there
        _npy("'<f8'", "(-1, -1)"),
        _npy("'<f8'", "(0.5,)"),
        _npy("'|O'", "(1,)") + bytes(8),
        _npy("'<U2'", "()") + bytes(8),
        _npy("[('a', '<f8')]", "()") + bytes(8),
        _npy("'|S8'", "()") + bytes(8),
        _npy("'<i8'", "()") + bytes(7),
        _npy("'<i8'", "()") + bytes(9),
        _npy("__import__('os')", "()") + bytes(8),
    ],
)
def test_arrays_that_are_not_what_they_say_are_refused(raw, forged):
    assert forged("random", **{"agent.learning": raw})


def test_a_pickled_array_is_never_unpickled(forged):
    assert "expected numbers" in forged("random", **{"agent.learning": np.array([Bomb()], dtype=object)})
    assert not Bomb.exploded


class Bomb:
    exploded = False

    def __reduce__(self):
        return Bomb.explode, ()

    @staticmethod
    def explode():
        Bomb.exploded = True


def test_a_truth_value_of_neither_kind_is_refused(forged):
    assert forged("emuq", **{"agent.core.converged": _npy("'|b1'", "(2,)") + b"\x01\x02"})


def test_a_zip_bomb_is_refused_before_it_unfolds(originals, tmp_path):
    size = 1 << 26
    bomb = _npy("'<i8'", f"({size // 8},)") + bytes(size)
    tracemalloc.start()
    try:
        env, agent, original = originals["random"]
        path = tmp_path / "bomb.emuq"
        path.write_bytes(original.read_bytes())
        forge(path, **{"agent.learning": bomb})
        assert path.stat().st_size < size / 500
        del bomb
        tracemalloc.clear_traces()
        tracemalloc.reset_peak()
        with pytest.raises(InputError, match=r"'agent\.learning' is int64\[8388608\], expected int64\[\]"):
            type(agent).load(path, env)
        assert tracemalloc.get_traced_memory()[1] < size / 4
        # The header is bounded, too.
        forge(path, json.dumps({"format": checkpoint.FORMAT, "spaces": " " * (checkpoint.HEADER_BYTES + 1)}))
        with pytest.raises(InputError, match=r"its header has .* bytes: expected at most"):
            type(agent).load(path, env)
    finally:
        tracemalloc.stop()


def test_sizes_that_only_the_directory_declares_are_refused(originals, tmp_path):
    """No file is packed by more than 1032 to 1; and none is larger than the machine."""
    env, agent, original = originals["random"]
    path = tmp_path / "forged.emuq"
    with zipfile.ZipFile(original) as source, zipfile.ZipFile(path, "w") as archive:
        for info in source.infolist():
            archive.writestr(info, source.read(info))
        archive.getinfo("agent.learning.npy").file_size = 10**12
    with pytest.raises(InputError, match=r"more than .* bytes can hold"):
        type(agent).load(path, env)


def test_arrays_larger_than_the_machine_are_refused(forged, monkeypatch):
    monkeypatch.setattr(checkpoint, "memory", lambda: 100)
    assert "this machine has 100 bytes of memory" in forged("random")


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_ways_of_packing_are_refused(method, originals, tmp_path):
    """They pack by far more than 1032 to 1."""
    env, agent, original = originals["random"]
    with zipfile.ZipFile(tmp_path / "forged.emuq", "w", method) as archive:
        for name, raw in forging.members(original).items():
            archive.writestr(name, raw)
    with pytest.raises(InputError, match="expected deflate"):
        type(agent).load(tmp_path / "forged.emuq", env)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(at=st.floats(0, 1), value=st.integers(1, 255), cut=st.booleans())
def test_any_byte_may_change_and_any_part_may_be_missing(tmp_path_factory, at, value, cut):
    path = tmp_path_factory.getbasetemp() / "bytes.emuq"
    env = Corridor()
    agent = emuq.ExplorationValues(env)
    agent.save(path)
    raw = bytearray(path.read_bytes())
    place = int(at * (len(raw) - 1))
    if cut:
        del raw[place:]
    else:
        raw[place] ^= value
    path.write_bytes(raw)
    try:
        again = emuq.ExplorationValues.load(path, env)
    except InputError:
        return
    for name, array in state(agent).items():  # a byte that nobody reads, such as a date
        np.testing.assert_array_equal(state(again)[name], array)
