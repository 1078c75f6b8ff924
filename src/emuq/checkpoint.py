"""One file an agent: a zip of `.npy` arrays and a JSON header. Nothing in it is ever executed.

The file is written beside its target and moved into place, so that a crash leaves the old one whole.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import jax
import numpy as np

from emuq.errors import InputError
from emuq.precision import double

FORMAT = "emuq-checkpoint"
VERSION = 6


def write(path: str | os.PathLike, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    """Write `arrays` and `meta` (plain JSON values) to `path`, all or nothing."""
    target = Path(path)
    header = {"format": FORMAT, "version": VERSION, "arrays": sorted(arrays), "meta": meta}
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                archive.writestr("header.json", json.dumps(header))
                for name, array in arrays.items():
                    buffer = io.BytesIO()
                    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=False)
                    archive.writestr(f"{name}.npy", buffer.getvalue())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike, agent: str | None = None) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the meta data of a checkpoint (of `agent`); a clear error for anything else."""
    if not Path(path).is_file():
        raise InputError(f"no checkpoint at {path}: expected a file written by save()")
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read("header.json"))
            if header.get("format") != FORMAT:
                raise InputError(f"{path} is not an emuq checkpoint: expected a file written by save()")
            if header["version"] != VERSION:
                raise InputError(
                    f"{path} has checkpoint version {header['version']}, this emuq reads {VERSION}: "
                    "load it with the version of emuq that wrote it"
                )
            arrays = {
                name: np.lib.format.read_array(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
                for name in header["arrays"]
            }
            meta = header["meta"]
    except InputError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        KeyError,
        ValueError,
        EOFError,
        OSError,
        AttributeError,
        TypeError,
    ) as error:
        raise InputError(
            f"{path} is not a whole emuq checkpoint ({type(error).__name__}): "
            "it was cut short, altered or written by something else; use another copy"
        ) from error
    if agent is not None and meta.get("agent") != agent:
        raise InputError(f"{path} holds a {meta.get('agent')} agent, not {agent}: load it with that class")
    return arrays, meta


def flatten(tree: Any) -> dict[str, np.ndarray]:
    """The leaves of a pytree as named arrays; random keys become their data."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {_name(path): np.asarray(_plain(leaf)) for path, leaf in leaves}


def unflatten(like: Any, arrays: dict[str, np.ndarray]) -> Any:
    """A pytree shaped as `like` with the leaves of `arrays`; the inverse of `flatten`."""

    def leaf(path, old):
        name = _name(path)
        if name not in arrays:
            raise InputError(f"checkpoint has no array {name!r}: it does not fit this agent's options")
        new, expected = arrays[name], np.asarray(_plain(old))
        if new.shape != expected.shape or new.dtype != expected.dtype:
            raise InputError(
                f"checkpoint array {name!r} is {new.dtype}{list(new.shape)}, "
                f"expected {expected.dtype}{list(expected.shape)}: make the agent with the saved options"
            )
        if _is_key(old):
            return jax.random.wrap_key_data(jax.numpy.asarray(new))
        return jax.numpy.asarray(new) if isinstance(old, jax.Array) else new

    with double():  # else JAX would round what was saved in double precision
        return jax.tree_util.tree_map_with_path(leaf, like)


def _name(path) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".") or "value"


def _is_key(leaf) -> bool:
    return isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _plain(leaf):
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf
