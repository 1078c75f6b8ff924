"""One kind of error for what a user can mend: what was given, what was expected, what to do."""

from __future__ import annotations

import numpy as np


class InputError(ValueError):
    """Bad input. Its message is one line and is all that a user needs to see."""


class MissingExtra(ImportError):
    """An optional part is not installed. Its message names the extra to install."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'emuq[{extra}]'")


def finite(array: np.ndarray, what: str) -> np.ndarray:
    """`array` itself, or an error that names the first entry that is NaN or infinite."""
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        where = f" at index {bad[0]}" if array.ndim else ""
        raise InputError(f"{what} has {np.ravel(array)[bad[0]]}{where}: expected finite numbers")
    return array
