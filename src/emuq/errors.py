"""What a user can mend: one kind of error and one kind of warning, each a single line that says how."""

from __future__ import annotations

from typing import Any

import numpy as np

_LONGEST = 100  # characters of a value that is quoted in a message


class InputError(ValueError):
    """Bad input. Its message is one line and is all that a user needs to see.

    Examples:
        >>> try:
        ...     agent.kappa = -1.0
        ... except ValueError as error:
        ...     print(error)
        kappa is -1.0: expected a number from 0, or inf
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))  # arrays and spaces are printed over several lines


class LearningWarning(UserWarning):
    """Learning goes on, but not to where its user thinks. Given once for each reason and agent."""


class MissingExtra(ImportError):
    """An optional part is not installed. Its message says how to install it: by its extra, as a rule."""

    def __init__(self, package: str, extra: str, how: str | None = None) -> None:
        how = how or f"pip install 'emuq[{extra}]'"
        super().__init__(f"{package} is not installed: {how}")


def quoted(value: Any) -> str:
    """A value as it is quoted in a message: on one line, and no longer than is of use."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."


def finite(array: np.ndarray, what: str) -> np.ndarray:
    """`array` itself, or an error that names the first entry that is NaN or infinite."""
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        where = f" at index {bad[0]}" if array.ndim else ""
        raise InputError(f"{what} has {np.ravel(array)[bad[0]]}{where}: expected finite numbers")
    return array
