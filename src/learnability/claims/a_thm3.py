"""A-thm3: with labels Y that no network fits, error at most (1 + gamma) OPT + eps^2 (paper A, Theorem 3).

Y = G* + noise, OPT = noise^2. For each seed and N, the test error E(F - Y)^2 is fitted as eps^2 + slope OPT over
the noise levels (least squares, each level weighted by 1 / (OPT + the least OPT)^2, so that no level dominates by
its size alone).

At the largest N. Supported: the interval of the slope lies at or below 1 + ``gamma``. Contradicted: it lies above.
Otherwise, with fewer than three levels or too few seeds, inconclusive. The theorem has any gamma > 0 with enough
samples: the slopes at the smaller N show how it shrinks.
"""

from __future__ import annotations

from typing import Annotated

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.dense import judged, span, too_few
from learnability.claims.stats import bootstrap_mean
from learnability.schema.base import Strict

ID = "A-thm3"
PAPER = "A"
STATEMENT = "agnostic learning: with label noise OPT the error is at most (1 + gamma) OPT + eps^2"
AXES = {"N", "noise"}
UNIT = "slope of test E(F-Y)^2 on OPT"


class Parameters(Strict):
    """What ``claims.A-thm3`` in the experiment file may hold."""

    hero: str = "algorithm1"
    gamma: Annotated[float, Field(gt=0)] = 0.1
    min_seeds: Annotated[int, Field(ge=2)] = 4


def tables(scores: pandas.DataFrame, hero: str) -> dict[int, pandas.DataFrame]:
    """N -> test errors, seeds x OPT."""
    mine = scores[(scores.learner == hero) & scores.picked].assign(OPT=lambda rows: rows.noise**2)
    return {
        int(n): rows.pivot_table(index="seed", columns="OPT", values="test_error") for n, rows in mine.groupby("N")
    }


def fit(row: pandas.Series) -> tuple[float, float]:
    """(slope, eps^2) of error = eps^2 + slope OPT; NaN with fewer than two noise levels that are not 0."""
    row = row.dropna()
    opt = row.index.to_numpy(dtype=float)
    if len(opt) < 2 or (opt > 0).sum() < 1:
        return numpy.nan, numpy.nan
    weights = 1 / (opt + opt[opt > 0].min())  # polyfit squares them
    found = numpy.polyfit(opt, row.to_numpy(), 1, w=weights)
    return float(found[0]), float(found[1])


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    found = {
        n: table.apply(lambda row: pandas.Series(fit(row)), axis=1)
        for n, table in tables(scores, given.hero).items()
    }
    slopes = {n: fits[0].dropna() for n, fits in found.items() if 0 in fits}
    details = {"slope": {str(n): s.tolist() for n, s in slopes.items()}}
    details["eps^2"] = {str(n): fits[1].dropna().tolist() for n, fits in found.items() if 1 in fits}
    threshold = 1 + given.gamma
    most = max(slopes, default=0)
    count = len(slopes.get(most, []))
    levels = scores[scores.learner == given.hero].noise.nunique()
    if count < max(2, given.min_seeds) or levels < 3:
        judgement = too_few(count, given.min_seeds, threshold, details)
        judgement.note += f"; {levels} noise levels" if levels < 3 else ""
        return judgement
    interval = bootstrap_mean(slopes[most])
    lost = scores[scores.learner == given.hero].seed.nunique() - count
    if interval.low > threshold:
        word, reason = "contradicted", f"the noise costs more than {threshold:g} OPT"
    elif interval.high <= threshold and not lost:
        word, reason = "supported", f"at N = {most}"
    else:
        word, reason = "inconclusive", f"{lost} seeds lost" if lost else "the interval does not decide"
    others = [f"slope {bootstrap_mean(s)} at N = {n}" for n, s in slopes.items() if n != most and len(s) > 1]
    notes = [reason, *others, f"eps^2 {span(found[most][1])} (Var(G*) {span(scores.teacher_variance)})"]
    return judged(word, interval, threshold, notes, details)
