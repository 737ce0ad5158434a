"""A-kernels: below binom(d, 2^(L-1)) samples no kernel and no feature map learns G* (paper A, Theorems I.1 and
I.3).

The family of Appendix I.1. What the theorems hide from kernels is a parity of p = 2^(L-1) coordinates in G*, of
energy h = alpha_L^2 (p!)^2 / p^p (``theory.paper_a.hidden_energy``); risks are held against it.

Supported: at every N (below binom(d, p)) and number of features, the interval of each kernel's mean risk lies at or
above h, and at the largest N that both have, every seed's best kernel has at least ``ratio`` times the DenseNet's
risk. Contradicted: some kernel's risk lies below h (Student's interval, Bonferroni over all settings), or the
interval of the best kernel's risk over the DenseNet's lies below 1. Otherwise inconclusive. The number is that
quotient, geometric mean. Kernels get the ridge that is best on validation.

The theorems themselves ask for N (or features) of at most binom(d, p) / 1000 and L <= loglog(d) / 100, which leaves
nothing at sizes one can run. Both constants are dropped here: N goes up to binom(d, p), beyond what is proved.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.dense import geometric, judged, picked, ratio, span, too_few
from learnability.claims.stats import clear_mean
from learnability.schema.base import Strict
from learnability.theory.paper_a import hidden_energy

ID = "A-kernels"
PAPER = "A"
STATEMENT = (
    "with fewer than binom(d, 2^(L-1)) samples (or features) no kernel learns what a quadratic DenseNet does"
)
AXES = {"N", "m"}
UNIT = "test risk of the best kernel / of the DenseNet"


class Parameters(Strict):
    """What ``claims.A-kernels`` in the experiment file may hold."""

    hero: str = "densenet"
    kernels: Annotated[list[str], Field(min_length=1)]
    ratio: Annotated[float, Field(gt=1)] = 100.0
    depth: Annotated[int, Field(ge=2)] = 3
    min_seeds: Annotated[int, Field(ge=2)] = 4


def energy(scores: pandas.DataFrame, given: Parameters) -> float:
    """h, with alpha_L = alpha^(L-2)."""
    return hidden_energy(float(scores.alpha.iloc[0]) ** (given.depth - 2), given.depth)


def best_kernel(scores: pandas.DataFrame, given: Parameters, n: float) -> pandas.Series:
    """Each seed's least test risk over the kernels (and numbers of features) at N = n."""
    rows = scores[scores.learner.isin(given.kernels) & scores.picked & (n == scores.N)]
    return rows.groupby("seed").test_error.min()


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    if not len(scores):
        return too_few(0, given.min_seeds, given.ratio)
    h = energy(scores, given)
    hero, others = (scores[scores.learner.isin(names)] for names in ([given.hero], given.kernels))
    common = sorted(set(hero.N) & set(others.N))
    if not common:
        return too_few(0, given.min_seeds, given.ratio)
    most = common[-1]
    gains = ratio(best_kernel(scores, given, most), picked(scores, given.hero, N=most).test_error)
    details = {"ratio": gains.tolist(), "hidden energy": h, "risk": _risks(scores, given)}
    if len(gains) < max(2, given.min_seeds):
        return too_few(len(gains), given.min_seeds, given.ratio, details)
    interval = geometric(gains)
    fits = math.comb(int(scores.d.iloc[0]), 2 ** (given.depth - 1))
    settings = [
        g.test_error.dropna() for _, g in others[others.picked].groupby(["learner", "N", "m"], dropna=False)
    ]
    tight = [clear_mean(numpy.log10(values), len(settings)) for values in settings if len(values) > 1]
    below = sum(i.high < numpy.log10(h) for i in tight)
    unclear = sum(i.low < numpy.log10(h) for i in tight)
    lost = hero[most == hero.N].seed.nunique() - len(gains)
    if below or interval.high < 1:
        word, reason = "contradicted", f"{below} settings of kernels lie below h" if below else "kernels are better"
    elif unclear or lost or (gains < given.ratio).any() or most >= fits:
        word, reason = "inconclusive", f"not by {given.ratio:g} on every seed, or not clearly above h"
    else:
        word, reason = "supported", f"by {span(gains)} at N = {most:g} (binom({scores.d.iloc[0]:g}, p) = {fits})"
    risks = pandas.concat(settings)
    beyond = f"the theorems' own N <= binom(d, p) / 1000 = {fits / 1000:.2g} and L <= loglog(d) / 100 are dropped"
    notes = [reason, beyond, f"kernels' risks {span(risks / h)} times h = {h:.3g}"]
    for n in sorted(hero.N.unique()):
        notes.append(f"{given.hero} at N = {n:g}: {span(picked(scores, given.hero, N=n).test_error / h)} h")
    return judged(word, interval, given.ratio, notes, details)


def _risks(scores: pandas.DataFrame, given: Parameters) -> dict[str, float]:
    """Geometric mean risk of each method and size."""
    rows = scores[scores.learner.isin([given.hero, *given.kernels]) & scores.picked]
    found = {}
    for (name, n, m), part in rows.groupby(["learner", "N", "m"], dropna=False):
        width = f" m={m:g}" if m == m else ""
        found[f"{name} N={n:g}{width}"] = float(10 ** numpy.log10(part.test_error).mean())
    return found
