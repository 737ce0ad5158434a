"""D-lemmas: the inequalities of Theorem 3.1's proof along the way (paper D, Lemmas 4.2-4.5 and (I1)-(I3)).

The slack of an inequality at a point of the way is log10(greater side / lesser side). Lemmas 4.3, 4.5, (I1)-(I3)
are measured at every mark, 4.2 (the Hessian's norm) and 4.4 (one exact step) at some. An instance counts if it
meets Theorem 3.1's hypotheses and was followed until its loss had fallen by e^fallen; the lemmas' own hypotheses
then follow from (I2), (I3) and Lemma B.5, and (I2), (I3) are among what is measured.

Supported: every slack of at least ``min_instances`` instances that count is at or above 0, for (I1) above
``accuracy``, the error of its time. Contradicted: one is below -``rounding`` (for (I1) -``accuracy``). Otherwise
inconclusive. The number is the least ratio 10^slack of all but (I2), which is an equality at t = 1: a least number,
so it has no interval.
"""

from __future__ import annotations

from typing import Annotated

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.dense import judged, too_few
from learnability.claims.descent import finished, hypotheses, least_ratio, unmet
from learnability.claims.stats import Interval
from learnability.schema.base import Strict

ID = "D-lemmas"
PAPER = "D"
STATEMENT = "Lemmas 4.2-4.5 and the inductive hypotheses I1-I3 hold along the way"
AXES = {"L", "d", "N"}
UNIT = "least (greater side) / (lesser side), (I2) aside"
LEMMAS = {
    "4.2": "Lemma 4.2, Lip of the gradient",
    "4.3": "Lemma 4.3, gradient from above",
    "4.4": "Lemma 4.4, fall in a step",
    "4.5": "Lemma 4.5, gradient from below",
    "I1": "(I1), the loss",
    "I2": "(I2), the norm",
    "I3": "(I3), the step size",
}


class Parameters(Strict):
    """What ``claims.D-lemmas`` in the experiment file may hold."""

    hero: str = "huber"  # whose ways are drawn
    methods: Annotated[list[str], Field(min_length=1)]
    fallen: Annotated[float, Field(gt=0)] = 40.0
    accuracy: Annotated[float, Field(gt=0)] = 0.01
    rounding: Annotated[float, Field(gt=0)] = 1e-9
    min_instances: Annotated[int, Field(ge=2)] = 24


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    rows = scores[scores.learner.isin(given.methods)] if len(scores) else scores
    if not len(rows) or "least_I1" not in rows:
        return too_few(0, given.min_instances, 1.0)
    there = rows[finished(rows, given.fallen)]
    counted = there[hypotheses(there).all(axis=1)]
    if len(counted) < 2:
        return too_few(len(counted), given.min_instances, 1.0)
    table = counted[[f"least_{name}" for name in LEMMAS]].set_axis(list(LEMMAS), axis=1)
    allowed = pandas.Series(given.rounding, index=list(LEMMAS)) + (given.accuracy - given.rounding) * (
        table.columns == "I1"
    )
    broken = [name for name in LEMMAS if (table[name] < -allowed[name]).any()]
    close = [name for name in LEMMAS if (table[name] < (given.accuracy if name == "I1" else 0.0)).any()]
    if broken:
        word, reason = "contradicted", f"{', '.join(LEMMAS[name] for name in broken)} fails"
    elif len(counted) < len(rows):
        why = unmet(there) or ["instances are lost or were not followed far enough"]
        word, reason = "inconclusive", ", ".join(why)
    elif len(counted) < given.min_instances or table.isna().any(axis=None):
        word, reason = "inconclusive", f"{len(counted)} instances whole, {given.min_instances} needed"
    elif close:
        word, reason = "inconclusive", f"{', '.join(LEMMAS[name] for name in close)} is too close to tell"
    else:
        word, reason = "supported", f"all hold on all {len(counted)} instances"
    details = _details(counted, table)
    tight = sorted(LEMMAS, key=lambda name: table[name].median())
    notes = [
        reason,
        "from tight to loose, the least ratio on an instance: "
        + ", ".join(f"{name} {_power(table[name].min())}..{_power(table[name].max())}" for name in tight),
    ]
    least = least_ratio(table.drop(columns="I2").min(axis=None))
    return judged(word, Interval(least, least, least, int(counted.seed.nunique())), 1.0, notes, details)


def _details(counted: pandas.DataFrame, table: pandas.DataFrame) -> dict:
    """Least slack by lemma and depth, log10."""
    by_depth = {f"{n:.0f}": table.loc[rows.index].min().to_dict() for n, rows in counted.groupby("L")}
    return {"least log10 slack by L": by_depth, "instances": len(counted)}


def _power(slack: float) -> str:
    """A ratio as a reader takes it in: 1.004, 3.1, 1e12."""
    return f"1e{slack:.0f}" if slack >= 3 else f"{10**slack:.4g}" if numpy.isfinite(slack) else "none"
