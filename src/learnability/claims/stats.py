"""Intervals over seeds: by the bootstrap, widened for small samples, and Student's where many are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy
from scipy.special import ndtr, stdtrit

RESAMPLES = 20_000


@dataclass(frozen=True)
class Interval:
    """A mean over seeds with its confidence interval."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.3g} [{self.low:.3g}, {self.high:.3g}]"


def tail(n: int, level: float = 0.95) -> float:
    """Percentile at which to cut the bootstrap distribution of a mean of n values.

    The plain percentile interval is too narrow for few values, by sqrt((n-1)/n) and by normal instead of
    Student quantiles. The expanded percentile interval cuts at Phi(-sqrt(n/(n-1)) t_{n-1}) instead of (1 - level)/2
    (T. Hesterberg, 'What Teachers Should Know About the Bootstrap', 2015). No bootstrap interval leaves the range
    of the data, so few values cannot reach 95%: measured on normal samples (tests/test_stats.py), n = 5 covers
    about 92% (plain percentile: 85%), n = 10 about 95%.
    """
    t = stdtrit(n - 1, (1 + level) / 2)
    return float(ndtr(-numpy.sqrt(n / (n - 1)) * t))


def bootstrap_mean(values: numpy.ndarray, level: float = 0.95) -> Interval:
    """Mean of ``values`` (n,), n >= 2, with the expanded percentile interval; fixed resampling seed."""
    values = numpy.asarray(values, dtype=float)
    n = len(values)
    rng = numpy.random.default_rng(0)
    means = values[rng.integers(0, n, (RESAMPLES, n))].mean(axis=1)
    cut = tail(n, level)
    low, high = numpy.quantile(means, [cut, 1 - cut])
    return Interval(float(values.mean()), float(low), float(high), n)


def clear_mean(values: numpy.ndarray, comparisons: int) -> Interval:
    """Mean of ``values`` (n,), n >= 2, with Student's interval at level 1 - 0.05 / comparisons (Bonferroni).

    For a verdict that one comparison of many decides. The bootstrap cannot do this: its interval never leaves the
    range of the data, which at n = 5 misses the mean 6% of the time at any level.
    """
    values = numpy.asarray(values, dtype=float)
    n = len(values)
    half = stdtrit(n - 1, 1 - 0.025 / comparisons) * values.std(ddof=1) / numpy.sqrt(n)
    return Interval(float(values.mean()), float(values.mean() - half), float(values.mean() + half), n)
