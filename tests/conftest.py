"""Fixtures that all tests share."""

from __future__ import annotations

import numpy as np
import pytest

from emuq.precision import double


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def x64():
    """The test's own computations in double precision, as agents do theirs."""
    with double():
        yield
