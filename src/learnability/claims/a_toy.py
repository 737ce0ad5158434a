"""A-toy: the over-fit weight of the wrong monomials is corrected (paper A, Section 6.1 and (1.2)).

wrong_2 is the largest coefficient in the second layer's distilled form z^T K_2^T K_2 z, z = (x, x^2), of a monomial
that the teacher's Sum(G_2) does not have. Trained alone, layer 2 over-fits the third layer's signal: wrong_2 is of
order alpha. Trained together, it should go to zero.

Supported: every seed's wrong_2 layer-wise is at least ``ratio`` times that of Algorithm 1, at every alpha, and so
is f_2 when layer 3 is released over f_2 at the end. Contradicted: the interval of the mean of either at some alpha
lies below ``ratio`` (Bonferroni over alphas). Otherwise inconclusive. The number is the least mean ratio of wrong_2
over the alphas; the slope of wrong_2 on alpha, layer-wise, is reported (the paper says 1). (1.2) is joined and
reported.
"""

from __future__ import annotations

from typing import Annotated

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.dense import geometric, judged, picked, ratio, span, too_few
from learnability.claims.stats import bootstrap_mean, clear_mean
from learnability.claims.tables import slope
from learnability.schema.base import Strict

ID = "A-toy"
PAPER = "A"
STATEMENT = (
    "layer 2 alone over-fits wrong monomials with weight alpha; trained with layer 3 the weight goes to zero"
)
AXES = {"alpha"}
UNIT = "largest wrong coefficient layer-wise / trained together"
WRONG = "learner_wrong2"


class Parameters(Strict):
    """What ``claims.A-toy`` in the experiment file may hold."""

    hero: str = "algorithm1"
    methods: Annotated[list[str], Field(min_length=1)]
    ratio: Annotated[float, Field(gt=1)] = 100.0
    min_seeds: Annotated[int, Field(ge=2)] = 4


def ratios(scores: pandas.DataFrame, given: Parameters) -> dict[tuple[str, float], dict[str, pandas.Series]]:
    """(experiment, alpha) -> 'wrong': wrong_2 of layer-wise / hero; 'drop': f_2 at the release of layer 3 / at
    the end.
    """
    found = {}
    for (name, alpha), rows in scores.groupby(["experiment", "alpha"], sort=False):
        hero, other = (picked(rows, method) for method in (given.hero, given.methods[0]))
        drop = ratio(hero["at_3-triangle_f2"], hero.test_f2)
        found[name, float(alpha)] = {"wrong": ratio(other[WRONG], hero[WRONG]), "drop": drop}
    return found


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    if not len(scores):
        return too_few(0, given.min_seeds, given.ratio)
    first = scores.experiment.iloc[0]
    found = ratios(scores, given) if WRONG in scores else {}
    mine = {alpha: values for (name, alpha), values in found.items() if name == first}
    details = {f"{n} alpha={a:g} {k}": s.tolist() for (n, a), both in found.items() for k, s in both.items()}
    least = min((len(s) for both in mine.values() for s in both.values()), default=0)
    if least < max(2, given.min_seeds):
        return too_few(least, given.min_seeds, given.ratio, details)
    logs = [clear_mean(numpy.log10(s), 2 * len(mine)) for both in mine.values() for s in both.values()]
    worst = min(mine, key=lambda alpha: numpy.log10(mine[alpha]["wrong"]).mean())
    if any(interval.high < numpy.log10(given.ratio) for interval in logs):
        word, reason = "contradicted", "the wrong monomials stay"
    elif least < (asked := scores[scores.experiment == first].seed.nunique()):
        word, reason = "inconclusive", f"{asked - least} of {asked} seeds diverged"
    elif any((s < given.ratio).any() for both in mine.values() for s in both.values()):
        word, reason = "inconclusive", f"not every seed improves by {given.ratio:g}"
    else:
        word, reason = "supported", "corrected at every alpha and on every seed"
    notes = [reason, *_notes(scores, found, given)]
    return judged(word, geometric(mine[worst]["wrong"]), given.ratio, notes, details)


def _notes(scores: pandas.DataFrame, found, given: Parameters) -> list[str]:
    mine = scores[scores.experiment == scores.experiment.iloc[0]]
    stuck = mine[(mine.learner == given.methods[0]) & mine.picked]
    table = stuck.pivot_table(index="seed", columns="alpha", values=WRONG)
    notes = []
    if table.shape[1] > 1 and len(table) > 1:
        slopes = [slope(row.index, row) for _, row in table.iterrows()]
        notes.append(f"layer-wise, the wrong coefficient goes as alpha^{bootstrap_mean(slopes)}")
    for name, alpha in found:
        here = scores[(scores.experiment == name) & (scores.alpha == alpha)]
        weights = [f"{m} {span(picked(here, m)[WRONG])}" for m in (given.methods[0], given.hero)]
        drop = span(found[name, alpha]["drop"])
        notes.append(f"{name} at alpha = {alpha:g}: wrong coefficient {', '.join(weights)}; f_2 falls by {drop}")
    return notes
