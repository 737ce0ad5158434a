"""A-search: alpha and the connection graph need not be known, a grid search finds them (paper A, Section 4,
footnote 15).

Each seed is a teacher; the learner is run with every pair of alpha and graph of its grid. A teacher counts if, of
all pairs, the true alpha with the true graph has the least validation error.

Supported: at least ``share`` of the teachers count. Contradicted: at most half of them do. Otherwise inconclusive.
The interval is Wilson's. Alpha cannot be told to better than a constant factor (footnote 15: W_l makes up for it):
reported is how far behind the best wrong graph is at any alpha, and the best wrong alpha with the true graph.
"""

from __future__ import annotations

from typing import Annotated

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.dense import judged, span, too_few
from learnability.claims.stats import Interval
from learnability.schema.base import Strict

ID = "A-search"
PAPER = "A"
STATEMENT = "a grid search over alpha and connection graphs finds the true ones"
AXES = {"alpha"}
UNIT = "share of teachers whose true alpha and graph come first on validation"


class Parameters(Strict):
    """What ``claims.A-search`` in the experiment file may hold."""

    hero: str = "grid"
    share: Annotated[float, Field(gt=0.5, le=1)] = 0.8
    min_seeds: Annotated[int, Field(ge=2)] = 5


def wilson(good: int, n: int, z: float = 1.96) -> Interval:
    """Wilson's interval of a share."""
    p = good / n
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * numpy.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return Interval(p, float(max(0.0, centre - half)), float(min(1.0, centre + half)), n)


def ranking(scores: pandas.DataFrame, hero: str) -> pandas.DataFrame:
    """One row a seed: validation errors of the truth, of the best wrong graph and of the best wrong alpha."""
    rows = []
    mine = scores[scores.learner == hero].assign(val=lambda r: r.val_error.fillna(numpy.inf))
    for seed, tries in mine.groupby("seed"):
        right_graph = tries.learner_graph_is_true == 1
        right_alpha = numpy.isclose(tries.learner_alpha, tries.alpha)
        values = {
            "true": tries.val[right_graph & right_alpha].min(),
            "graph": tries.val[~right_graph].min(),
            "alpha": tries.val[right_graph & ~right_alpha].min(),
        }
        rows.append({"seed": seed, **values})
    return pandas.DataFrame(rows).set_index("seed") if rows else pandas.DataFrame()


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    table = ranking(scores, given.hero)
    count = int(numpy.isfinite(table["true"]).sum()) if len(table) else 0
    if count < max(2, given.min_seeds):
        return too_few(count, given.min_seeds, given.share)
    first = (table["true"] < table[["graph", "alpha"]].min(axis=1)) & numpy.isfinite(table["true"])
    share = wilson(int(first.sum()), len(table))
    word = "supported" if share.mean >= given.share else "contradicted" if share.mean <= 0.5 else "inconclusive"
    by_graph, by_alpha = table.graph / table["true"], table.alpha / table["true"]
    notes = [
        f"first on {int(first.sum())} of {len(table)} teachers",
        f"the best wrong graph has {span(by_graph)} times the validation error",
        f"the best wrong alpha {span(by_alpha)} times",
        f"{int((by_graph > 1).sum())} of {len(table)} have the true graph first whatever alpha",
    ]
    details = {name: [float(v) for v in table[name] if numpy.isfinite(v)] for name in table}
    return judged(word, share, given.share, notes, details)
