"""A-thm4: classification by cross entropy with v = 1/eps (paper A, Theorem 4).

Labels Y = sgn(x_0 + G*(x)); v grows as eps_0 halves. The number is the test rate of Y != sgn(x_0 + F(x)) at
the largest N.

Supported: its interval lies at or below ``epsilon`` and, on every seed, below the rate when layer 3 was released
(what layer 2 alone can do). Contradicted: its interval lies above ``epsilon``, or above the rate of layer 2 alone.
Otherwise inconclusive. The rates at smaller N show that eps falls with N, as Theorem 4's poly(d/eps) samples allow.

The theorem has any eps. Here ``epsilon`` is 0.003, a rate that layer 2 alone does not reach: its mean is 0.004 at
the largest N (0.0028 on the best of five seeds, hence the comparison seed by seed). The run's own eps is eps_0 at
its end, and Theorem 4 promises a rate of that order: the ratio of the two is in the note.
"""

from __future__ import annotations

from typing import Annotated

import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.dense import judged, ratio, span, too_few
from learnability.claims.stats import bootstrap_mean
from learnability.claims.tables import slope
from learnability.schema.base import Strict

ID = "A-thm4"
PAPER = "A"
STATEMENT = "sgn(x_0 + F) trained by cross entropy with v = 1/eps has error rate at most eps"
AXES = {"N"}
UNIT = "test rate of Y != sgn(x_0 + F)"
BEFORE = "at_3-triangle_error"


class Parameters(Strict):
    """What ``claims.A-thm4`` in the experiment file may hold."""

    hero: str = "algorithm1"
    epsilon: Annotated[float, Field(gt=0, lt=1)] = 0.003
    min_seeds: Annotated[int, Field(ge=2)] = 4


def rates(scores: pandas.DataFrame, hero: str, column: str = "test_error") -> pandas.DataFrame:
    """Seeds x N of the picked replicas."""
    mine = scores[(scores.learner == hero) & scores.picked]
    return mine.pivot_table(index="seed", columns="N", values=column)


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    table = rates(scores, given.hero)
    details = {f"N={n:g}": [float(v) for v in table[n].dropna()] for n in table}
    values = table[table.columns.max()].dropna() if table.shape[1] else pandas.Series(dtype=float)
    if len(values) < max(2, given.min_seeds):
        return too_few(len(values), given.min_seeds, given.epsilon, details)
    before = rates(scores, given.hero, BEFORE)[table.columns.max()]
    interval, alone = bootstrap_mean(values), bootstrap_mean(before.dropna())
    gains = ratio(before, values)
    lost = scores[scores.learner == given.hero].seed.nunique() - len(values)
    if interval.low > given.epsilon or interval.low > alone.high:
        word, reason = "contradicted", "the rate does not get there"
    elif interval.high <= given.epsilon and (gains > 1).all() and not lost:
        word, reason = "supported", "on every seed below what layer 2 alone does"
    else:
        word, reason = (
            "inconclusive",
            f"{lost} seeds lost" if lost else "not on every seed, or the interval does not decide",
        )
    notes = [reason, f"layer 2 alone {alone}"]
    notes += [f"N = {n:g}: {span(table[n])}" for n in table]
    if table.shape[1] > 1:
        notes.append(f"goes as N^{bootstrap_mean([slope(row.index, row) for _, row in table.iterrows()])}")
    if "learner_epsilon" in scores:
        sharp = scores[(scores.learner == given.hero) & scores.picked & (table.columns.max() == scores.N)]
        sharp = sharp.set_index("seed")
        ends = f"eps_0 at the end {span(sharp.learner_epsilon)} after {span(sharp.learner_halvings)} halvings"
        notes.append(f"{ends}, the rate is {span(ratio(values, sharp.learner_epsilon))} times that")
    return judged(word, interval, given.epsilon, notes, details)
