"""Replacing a file as a whole: what was there stays until the new content is on the disk.

The new content is written to `.NAME.part` beside the file and then moved into its place. That name is fixed,
so that a process that is killed on the way leaves one such file at most, and whoever writes next removes it.
A lock, which the system lifts however a process ends, tells a part being written from one left behind.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from emuq.errors import InputError

try:
    import fcntl
except ImportError:  # Windows: a part is then taken to be left behind
    fcntl = None


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """`with replacing(path) as file: file.write(...)`: all or nothing, with the usual permissions."""
    target = Path(path)
    part = target.with_name(f".{target.name}.part")
    with _explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        file = _begun(part)
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is None:
                file.close()  # Windows moves no open file
            os.replace(part, target)
        except BaseException:
            if not file.closed and _is_at(part, file.fileno()):
                part.unlink()
            raise
        finally:
            with suppress(OSError):  # on a full disk closing fails again, and says nothing new
                file.close()


def _begun(part: Path) -> BinaryIO:
    """A new, empty, locked file at `part`; another writer of it is waited for."""
    while True:
        try:
            # Never a file that is there already: it could be a link to anything.
            descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            _remove_left_behind(part)
            continue
        _lock(descriptor)
        if _is_at(part, descriptor):
            return os.fdopen(descriptor, "wb")
        os.close(descriptor)  # another writer took it for one left behind, before the lock was ours


def _remove_left_behind(part: Path) -> None:
    try:
        descriptor = os.open(part, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return
    except OSError:  # a link, or not ours to open: nobody of ours is writing it
        part.unlink(missing_ok=True)
        return
    try:
        _lock(descriptor)
        if _is_at(part, descriptor):
            part.unlink()
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    if fcntl is not None:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)


def _is_at(part: Path, descriptor: int) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        return os.path.samestat(os.lstat(part), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@contextmanager
def _explained(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write {target} ({error.strerror or error}): nothing was changed there; "
            "make room or choose another place"
        ) from error
