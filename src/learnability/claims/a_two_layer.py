"""A-two-layer: two-layer networks with polynomial activations need width d^(2^Omega(L)) (paper A, Theorems I.6
and I.7).

h(x) = sum_i a_i sigma_i(<w_i, z> + b_i) with any polynomials sigma_i of degree 2^(L-1) in z = (x, S_1) (I.6) or 2^L
in x (I.7), trained by variable projection, by width. Lemma I.5 bars widths below (d/p)^p / C, p = 2^(L-2).

Supported: in every experiment joined, every seed's least error over all widths (picked on validation at each) is at
least ``ratio`` times the DenseNet's. Contradicted: in some experiment a width within the lemma's (d/p)^p has errors
whose quotient by the DenseNet's lies below 1 (Student's interval, Bonferroni). Otherwise inconclusive. The number
is the quotient at the best width in the experiment where it is least, geometric mean. What a two-layer network of
larger width does is not barred by the lemma, and counts all the same for 'supported'.

The theorems bound what the best network of a width can approximate. What is measured is the test error after
training on N samples, with the variance that has: for wide networks it may be most of it. The note gives the
training errors beside, which hold no variance (and are too small for it).
"""

from __future__ import annotations

from typing import Annotated

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.dense import LEAST, geometric, judged, normalised, picked, ratio, span, too_few
from learnability.claims.stats import clear_mean
from learnability.schema.base import Strict

ID = "A-two-layer"
PAPER = "A"
STATEMENT = "two-layer networks with any polynomials for activations do not learn what a quadratic DenseNet does"
AXES = {"m"}
UNIT = "test error of the best two-layer network / of the DenseNet"


class Parameters(Strict):
    """What ``claims.A-two-layer`` in the experiment file may hold."""

    hero: str = "densenet"
    methods: Annotated[list[str], Field(min_length=1)]
    ratio: Annotated[float, Field(gt=1)] = 10.0
    depth: Annotated[int, Field(ge=3)] = 3
    min_seeds: Annotated[int, Field(ge=2)] = 4


def barred(d: float, depth: int) -> float:
    """(d/p)^p, p = 2^(L-2): the widths of Lemma I.5, its constant set to 1."""
    p = 2 ** (depth - 2)
    return (d / p) ** p


def tables(scores: pandas.DataFrame, given: Parameters) -> dict[str, tuple[pandas.Series, pandas.DataFrame]]:
    """Experiment -> the DenseNet's errors by seed, and the two-layer networks' errors, seeds x widths."""
    found = {}
    for name, rows in normalised(scores).groupby("experiment", sort=False):
        others = rows[rows.learner.isin(given.methods) & rows.picked]
        if len(others):
            table = others.pivot_table(index="seed", columns="m", values="nmse")
            found[name] = (picked(rows, given.hero).nmse.dropna(), table)
    return found


def trained(scores: pandas.DataFrame, given: Parameters) -> dict[str, pandas.DataFrame]:
    """Experiment -> training errors / Var(G*) of the two-layer networks, seeds x widths; empty if not measured."""
    if "train_error" not in scores:
        return {}
    rows = scores[scores.learner.isin(given.methods) & scores.picked & scores.train_error.notna()]
    rows = rows.assign(share=rows.train_error / rows.teacher_variance)
    parts = rows.groupby("experiment", sort=False)
    return {name: part.pivot_table(index="seed", columns="m", values="share") for name, part in parts}


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    found = tables(scores, given)
    least = min((min(len(hero), len(table.dropna())) for hero, table in found.values()), default=0)
    details = {name: _details(hero, table) for name, (hero, table) in found.items()}
    if least < max(2, given.min_seeds):
        return too_few(least, given.min_seeds, given.ratio, details)
    gains = {name: ratio(table.min(axis=1), hero) for name, (hero, table) in found.items()}
    worst = min(gains, key=lambda name: numpy.log10(gains[name]).mean())
    inside = barred(float(scores.d.iloc[0]), given.depth)
    narrow = [(hero, table[m]) for hero, table in found.values() for m in table if m <= inside]
    logs = [clear_mean(numpy.log10(ratio(values, hero)), len(narrow)) for hero, values in narrow]
    if any(interval.high < 0 for interval in logs):
        word, reason = "contradicted", "a two-layer network of a barred width is better"
    elif least < (asked := int(scores.groupby("experiment").seed.nunique().max())):
        word, reason = "inconclusive", f"{asked - least} of {asked} seeds diverged"
    elif any((values < given.ratio).any() for values in gains.values()):
        word, reason = "inconclusive", f"not by {given.ratio:g} on every seed"
    else:
        word, reason = "supported", f"at every width up to {max(t.columns.max() for _, t in found.values()):g}"
    notes = [reason, f"Lemma I.5 bars widths below {inside:g}"]
    for name, (hero, table) in found.items():
        notes.append(f"{name}: {given.hero} {span(hero)}; two layers {_by_width(table)}")
    for name, table in trained(scores, given).items():
        notes.append(f"{name}: training errors of two layers {_by_width(table)}")
    return judged(word, geometric(gains[worst]), given.ratio, notes, details)


def _by_width(table: pandas.DataFrame) -> str:
    """Geometric means over seeds: ``0.02 at width 4, 0.01 at width 8``."""
    means = 10 ** numpy.log10(table.clip(lower=LEAST)).mean()
    return ", ".join(f"{means[m]:.2g} at width {m:g}" for m in table)


def _details(hero: pandas.Series, table: pandas.DataFrame) -> dict:
    widths = {f"m={m:g}": [float(v) for v in table[m].dropna()] for m in table}
    return {"densenet": hero.tolist(), **widths}
