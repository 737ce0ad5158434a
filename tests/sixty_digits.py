"""Sixty digits for tests of formulas whose numbers a float cannot hold."""

from __future__ import annotations

from collections.abc import Iterator

import mpmath
import pytest
from mpmath import mp


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    """All of a test in sixty digits."""
    with mpmath.workdps(60):
        yield


def near(found, expected) -> bool:
    """A log against the exact number: same to 1e-12 of the log, or of 1."""
    return abs(float(found) - float(mp.log(expected))) <= 1e-12 * max(1.0, abs(float(mp.log(expected))))
