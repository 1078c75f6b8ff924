"""One file an agent: a zip of `.npy` arrays and a JSON header. Nothing in it is ever executed.

What a file declares, its header and each array's type and shape, is read and checked first. An array is read
only by someone who says what it has to be, so that no more memory is taken than an agent has a use for.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import jax
import numpy as np

from emuq.errors import InputError, MissingExtra
from emuq.files import replacing
from emuq.precision import double

FORMAT = "emuq-checkpoint"
VERSION = 10
HEADER_BYTES = 1 << 24  # options and bounds take a few thousand
RATIO = 1032  # deflate packs so many bytes into one at most: who declares more has none of it
CHUNK = 1 << 20

# What every checkpoint says of its agent, besides the arrays. Others may be there too.
META = {"agent": str, "options": dict, "seed": int, "kappa": dict, "spaces": dict}


class Declared(NamedTuple):
    """What an array is, before it is read."""

    dtype: np.dtype
    shape: tuple[int, ...]

    @classmethod
    def of(cls, leaf: Any) -> Declared:
        plain = _plain(leaf)
        array = plain if isinstance(plain, jax.Array) else np.asarray(plain)
        return cls(np.dtype(array.dtype), array.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


def write(path: str | os.PathLike | BinaryIO, arrays: Mapping[str, np.ndarray], meta: dict[str, Any]) -> None:
    """Write `arrays` and `meta` (plain JSON values) to `path`, all or nothing, or to an open file."""
    header = {"format": FORMAT, "version": VERSION, "meta": meta}
    text = json.dumps(header, default=_jsonable).encode()
    if len(text) > HEADER_BYTES:
        raise InputError(f"the agent's options take {len(text)} bytes: expected at most {HEADER_BYTES}")
    if isinstance(path, str | os.PathLike):
        with replacing(path) as file:
            _pack(file, text, arrays)
    else:
        _pack(path, text, arrays)


def _pack(file: BinaryIO, header: bytes, arrays: Mapping[str, np.ndarray]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("header.json", header)
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array, order="C"), (1, 0), allow_pickle=False)


class Checkpoint:
    """A file that is open: `meta`, what it declares of each array, and `array` to read one."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self._archive = archive
        self.meta = _meta(archive)
        members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        total = sum(info.file_size for info in members)
        if total > RATIO * size:
            raise InputError(f"it declares {total} bytes of arrays, more than {size} bytes can hold")
        if total > memory():
            raise InputError(
                f"it declares {total} bytes of arrays, this machine has {memory()} bytes of memory"
            )
        self.declared = {info.filename.removesuffix(".npy"): _declared(archive, info) for info in members}

    def array(self, name: str, expected: Declared) -> np.ndarray:
        """An array that is what it is expected to be; an error, before it is read, for any other."""
        if name not in self.declared:
            raise InputError(f"checkpoint has no array {name!r}: it does not fit this agent's options")
        if self.declared[name] != expected:
            raise InputError(
                f"checkpoint array {name!r} is {self.declared[name]}, expected {expected}: "
                "make the agent with the saved options"
            )
        array = np.empty(expected.shape, expected.dtype)
        flat = array.reshape(-1).view(np.uint8)
        with self._archive.open(f"{name}.npy") as member:
            _array_header(member)
            for start in range(0, len(flat), CHUNK):
                piece = flat[start : start + CHUNK]
                piece[:] = np.frombuffer(member.read(len(piece)), np.uint8)
        if array.dtype == bool and np.any(flat > 1):
            raise InputError(f"checkpoint array {name!r} has a truth value that is neither 0 nor 1")
        return array


@contextmanager
def opened(path: str | os.PathLike | BinaryIO, agent: str | None = None) -> Iterator[Checkpoint]:
    """`with opened(path, "emuq") as saved`: whatever is wrong with it, also inside, is one clear line."""
    name = path if isinstance(path, str | os.PathLike) else "the pickled agent"
    if isinstance(path, str | os.PathLike) and not Path(path).is_file():
        raise InputError(f"no checkpoint at {path}: expected a file written by save()")
    try:
        with zipfile.ZipFile(path) as archive:
            file: Any = archive.fp
            saved = Checkpoint(archive, file.seek(0, os.SEEK_END))
            if agent is not None and saved.meta["agent"] != agent:
                raise InputError(
                    f"it holds a {saved.meta['agent']} agent, not {agent}: load it with that class"
                )
            yield saved
    except MissingExtra:
        raise
    except InputError as error:
        raise InputError(f"{name}: {_line(error)}") from error
    except Exception as error:  # a file may be altered in any way, and end in any error
        raise InputError(
            f"{name} is not a whole emuq checkpoint ({type(error).__name__}: {_line(error)}): "
            "it was cut short, altered or written by something else; use another copy"
        ) from error


def read(path: str | os.PathLike) -> tuple[dict[str, Declared], dict[str, Any]]:
    """What a file declares of its arrays, and its meta data; no array is read."""
    with opened(path) as saved:
        return saved.declared, saved.meta


def _meta(archive: zipfile.ZipFile) -> dict[str, Any]:
    info = archive.getinfo("header.json")
    if info.file_size > HEADER_BYTES:
        raise InputError(f"its header has {info.file_size} bytes: expected at most {HEADER_BYTES}")
    header = json.loads(archive.read(info))
    if header.get("format") != FORMAT:
        raise InputError("it is not an emuq checkpoint: expected a file written by save()")
    version = header["version"]
    if version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        raise InputError(
            f"it has checkpoint version {version!r}, this emuq reads {VERSION}: "
            + ("use a newer emuq" if newer else "load it with the version of emuq that wrote it")
        )
    meta = header["meta"]
    for name, kind in META.items():
        if type(meta[name]) is not kind:
            raise InputError(f"its {name} is {_line(repr(meta[name]))}: expected a {kind.__name__}")
    return meta


def _declared(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Declared:
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(f"{info.filename} is packed by method {info.compress_type}: expected deflate")
    with archive.open(info) as member:
        found = _array_header(member)
        begin = member.tell()
    if begin + found.size * found.dtype.itemsize != info.file_size:
        raise InputError(f"{info.filename} has {info.file_size} bytes, which are not {found}")
    return found


def _array_header(member: Any) -> Declared:
    if np.lib.format.read_magic(member) != (1, 0):
        raise InputError(f"{member.name} has another array format: expected 1.0")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(member)
    if dtype.kind not in "biuf" or fortran or any(length < 0 for length in shape):
        raise InputError(f"{member.name} is {dtype}{list(shape)}: expected numbers, row by row")
    return Declared(dtype, shape)


def flatten(tree: Any) -> dict[str, np.ndarray]:
    """The leaves of a pytree as named arrays; random keys become their data."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {_name(path): np.asarray(_plain(leaf)) for path, leaf in leaves}


def unflatten(like: Any, saved: Checkpoint) -> Any:
    """A pytree shaped as `like` with the arrays of a file; the inverse of `flatten`."""

    def leaf(path, old):
        new = saved.array(_name(path), Declared.of(old))
        if _is_key(old):
            return jax.random.wrap_key_data(jax.numpy.asarray(new))
        return jax.numpy.asarray(new) if isinstance(old, jax.Array) else new

    with double():  # else JAX would round what was saved in double precision
        return jax.tree_util.tree_map_with_path(leaf, like)


def check_finite(arrays: Mapping[str, np.ndarray], but: tuple[str, ...] = ()) -> None:
    """An error that names the first array with NaN or infinity, unless its name ends with one of `but`."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not name.endswith(but) and not np.all(np.isfinite(array)):
            bad = array[~np.isfinite(array)].flat[0]
            raise InputError(
                f"array {name!r} has {bad}: expected finite numbers; what was learned is lost, "
                "go on from an earlier checkpoint"
            )


def memory() -> int:
    """This machine's memory in bytes."""
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 1 << 36


def _line(text: Any) -> str:
    """The first line of a text, cut where it gets long."""
    line = next(iter(str(text).splitlines()), "")
    return line if len(line) <= 300 else f"{line[:300]} ..."


def _jsonable(value: Any) -> Any:
    """NumPy's and JAX's numbers and arrays among an agent's options."""
    if isinstance(value, np.generic | np.ndarray | jax.Array):
        return np.asarray(value).tolist()
    raise InputError(f"cannot save {value!r}: expected numbers, text and lists of them among the options")


def _name(path) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".") or "value"


def _is_key(leaf) -> bool:
    return isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _plain(leaf):
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf
