"""A-gap: hierarchical learning needs the information gap alpha_{l+1} << alpha_l (paper A, Sections 1.1 and 3.1).

The same teachers with alpha = alpha_3 / alpha_2 swept to 1 and beyond. Layer 2 counts as learned while its feature
error is at most ``share`` of E||S*_2||^2 = k_2. The number is the largest alpha up to which that holds on a seed's
curve (straight between points on log-log axes), a geometric mean over seeds.

Supported: its interval lies below 1, learning fails before the gap is gone. Contradicted: it lies above 1.
Otherwise (also if the least alpha is not learned, or a seed is lost) inconclusive. Where a seed holds at the
largest alpha, this value counts.
"""

from __future__ import annotations

from typing import Annotated

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.dense import geometric, judged, normalised, span, too_few
from learnability.claims.tables import crossing
from learnability.schema.base import Strict

ID = "A-gap"
PAPER = "A"
STATEMENT = "without an information gap (alpha_3 / alpha_2 up to 1) hierarchical learning fails"
AXES = {"alpha"}
UNIT = "largest alpha_3 / alpha_2 at which layer 2's features are still learned"


class Parameters(Strict):
    """What ``claims.A-gap`` in the experiment file may hold."""

    hero: str = "algorithm1"
    share: Annotated[float, Field(gt=0, lt=1)] = 0.01
    min_seeds: Annotated[int, Field(ge=2)] = 4


def curves(scores: pandas.DataFrame, hero: str, column: str = "test_f2") -> pandas.DataFrame:
    """f_2 / k_2 at the end (or another column as it is): seeds x alphas, of the claim's own experiment."""
    mine = scores[(scores.experiment == scores.experiment.iloc[0]) & (scores.learner == hero)]
    mine = normalised(mine).assign(share=lambda rows: rows.test_f2 / rows.teacher_k2)
    column = "share" if column == "test_f2" else column
    table = mine[mine.picked].pivot_table(index="seed", columns="alpha", values=column)
    return table.reindex(sorted(mine.seed.unique()))


def breaks(row: pandas.Series, share: float) -> float:
    """The alpha up to which ``row`` (by alpha) stays at or below ``share``; the largest one if it always does."""
    row = row.dropna()
    if not len(row) or row.iloc[0] > share:
        return numpy.nan
    # 'from which on it stays below', read from the other end: in 1 / alpha
    at = crossing(1 / row.index.to_numpy()[::-1], row.to_numpy()[::-1], share)
    return float(1 / at) if numpy.isfinite(at) else numpy.nan


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    if not (scores.learner == given.hero).any():
        return too_few(0, given.min_seeds, 1.0)
    table = curves(scores, given.hero)
    ends = table.apply(lambda row: breaks(row, given.share), axis=1)
    errors = curves(scores, given.hero, "nmse")
    details = {
        "largest alpha": [float(v) for v in ends.dropna()],
        "f2 / k2": {f"{a:g}": [float(v) for v in table[a].dropna()] for a in table},
        "nmse": {f"{a:g}": [float(v) for v in errors[a].dropna()] for a in errors},
    }
    good = ends.dropna()
    if len(good) < max(2, given.min_seeds):
        return too_few(len(good), given.min_seeds, 1.0, details)
    interval = geometric(good)
    most = float(table.columns.max())
    if len(good) < len(ends):
        word, reason = "inconclusive", f"{len(ends) - len(good)} seeds have no result, or fail at every alpha"
    elif most < 1 and (good >= most).any():
        word, reason = "inconclusive", "the sweep ends before learning fails"
    elif interval.high < 1:
        word, reason = "supported", "learning fails before the gap is gone"
    elif interval.low > 1:
        word, reason = (
            "contradicted",
            "still learned without a gap: the gap that the theorem asks for is not needed here",
        )
    else:
        word, reason = "inconclusive", "the interval does not decide"
    notes = [reason]
    if (good >= most).any():
        notes.append(f"{(good >= most).sum()} seeds hold at alpha = {most:g}, the largest: a lower bound")
    notes += [f"alpha = {a:g}: error {span(errors[a])}, f_2 / k_2 {span(table[a])}" for a in table if a >= 0.4]
    return judged(word, interval, 1.0, notes, details)
