"""What judges of paper A's theory share: normalised errors, one row a seed, factors with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import pandas

from learnability.claims import Judgement, Word
from learnability.claims.stats import Interval, bootstrap_mean

LEAST = 1e-300  # an exact zero has no logarithm


def normalised(scores: pandas.DataFrame) -> pandas.DataFrame:
    """Scores with ``nmse`` = E(G* - F)^2 / Var(G*), exact where it is known and else that on the test set, and
    ``tilde_nmse``, that of F~ on the test set.
    """
    error = scores.test_error
    if "population_error" in scores:
        error = scores.population_error.fillna(error)
    found = scores.assign(nmse=error / scores.teacher_variance)
    if "test_tilde_error" in scores:
        found["tilde_nmse"] = scores.test_tilde_error / scores.teacher_variance
    return found


def picked(scores: pandas.DataFrame, learner: str, **where: float | str) -> pandas.DataFrame:
    """Rows of a learner's picked replicas, one a seed, in order of the seeds; ``where`` fixes other columns."""
    rows = scores[(scores.learner == learner) & scores.picked]
    for column, value in where.items():
        rows = rows[rows[column] == value]
    return rows.set_index("seed").sort_index()


def geometric(values: Sequence[float]) -> Interval:
    """Geometric mean over seeds with its interval: the bootstrap on logarithms."""
    logs = numpy.log10(numpy.maximum(numpy.asarray(values, dtype=float), LEAST))
    found = bootstrap_mean(logs)
    return Interval(10**found.mean, 10**found.low, 10**found.high, found.n)


def ratio(above: pandas.Series, below: pandas.Series) -> pandas.Series:
    """above / below on the seeds that both have, where both are numbers."""
    both = pandas.concat([above, below], axis=1, join="inner").dropna()
    return both.iloc[:, 0] / both.iloc[:, 1].clip(lower=LEAST)


def too_few(found: int, needed: int, threshold: float | None, details: dict | None = None) -> Judgement:
    """The verdict of a claim without enough seeds."""
    note = f"{found} seeds finished, {needed} needed"
    return Judgement("inconclusive", None, None, None, threshold, found, note, details or {})


def judged(word: Word, interval: Interval, threshold: float, notes: Sequence[str], details: dict) -> Judgement:
    """A judgement on an interval."""
    values = (interval.mean, interval.low, interval.high)
    return Judgement(word, *values, threshold, interval.n, "; ".join(notes), details)


def span(values: Sequence[float]) -> str:
    """``1.2e-07..3e-06``: least and largest; ``none`` without numbers."""
    values = numpy.asarray(values, dtype=float)
    if not numpy.isfinite(values).any():
        return "none"
    low, high = numpy.nanmin(values), numpy.nanmax(values)
    return f"{low:.2g}" if low == high else f"{low:.2g}..{high:.2g}"
