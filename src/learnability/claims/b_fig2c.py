"""B-fig2c: the composite part is learned as long as alpha / beta is at most about 1 (paper B, Figure 2(c)).

H = beta F + alpha G(F), alpha fixed. beta* is the least beta from which on the hero's test error stays at or below
k alpha^2, the error of learning beta F alone, read off each seed's curve on log-log axes; alpha / beta* is the
largest ratio that it tolerates.

Supported: the interval of alpha / beta* over seeds lies at or above ``tolerates``. Contradicted: it lies below
even if a seed that still holds at the least beta holds for ever, and one that never holds does so just beyond the
largest beta. Otherwise, with too few seeds, or a seed on which all of the hero's replicas diverged: inconclusive.
beta* depends on N: the paper's sentence is about one N. The hero counts at its largest width.
"""

from __future__ import annotations

from typing import Annotated

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.stats import bootstrap_mean
from learnability.claims.tables import bounds, by_seed, crossing, largest
from learnability.schema.base import Strict
from learnability.theory.paper_b import composite_threshold

ID = "B-fig2c"
PAPER = "B"
STATEMENT = "3resnet learns the composite part of beta F + alpha G(F) as long as alpha / beta <= 1"
AXES = {"m", "beta"}
UNIT = "largest alpha / beta at which 3resnet's test E||out-y||^2 is still below k alpha^2"


class Parameters(Strict):
    """What ``claims.B-fig2c`` in the experiment file may hold."""

    hero: str = "3resnet"
    tolerates: Annotated[float, Field(gt=0)] = 1.0
    min_seeds: Annotated[int, Field(ge=5)] = 5


def stops(scores: pandas.DataFrame, name: str, level: float) -> pandas.Series:
    """beta* of each seed, inf where the level is never reached."""
    table = _curves(scores, name)
    found = pandas.Series({seed: crossing(row.index, row, level) for seed, row in table.iterrows()}, dtype=float)
    return found.where(table.notna().any(axis=1))


def _curves(scores: pandas.DataFrame, name: str) -> pandas.DataFrame:
    """Test errors at the largest width, seeds x positive betas: without F there is no ratio."""
    return by_seed(largest(scores[(scores.learner == name) & (scores.beta > 0)], "m"), "beta", "test_error")


def _most(scores: pandas.DataFrame, name: str, level: float) -> pandas.Series:
    """The largest alpha / beta* that each seed's curve allows; inf where it holds at the least beta."""
    table = _curves(scores, name).dropna(how="all")
    least = {seed: bounds(row.index, row, level)[0] for seed, row in table.iterrows()}
    return float(scores.alpha.iloc[0]) / pandas.Series(least, dtype=float)


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text. ``scores`` has a row per learner x point x replica."""
    alpha = float(scores.alpha.iloc[0])
    level = composite_threshold(*scores.iloc[0][["k", "alpha", "noise"]])
    ratios = {name: (alpha / stops(scores, name, level)).dropna() for name in scores.learner.unique()}
    if given.hero not in ratios:
        return Judgement("inconclusive", None, None, None, given.tolerates, 0, f"not run: {given.hero}")
    hero, mine = ratios[given.hero], scores[scores.learner == given.hero]
    signal = by_seed(largest(mine, "m"), "beta", "test_cG").mean()
    details = {
        "alpha / beta*": {name: values.tolist() for name, values in ratios.items()},
        "test_cG": {f"{beta:g}": float(v) for beta, v in signal.items() if numpy.isfinite(v)},
    }
    if len(hero) < max(2, given.min_seeds):
        note = f"{len(hero)} seeds finished, {given.min_seeds} needed"
        return Judgement("inconclusive", None, None, None, given.tolerates, len(hero), note, details)
    interval = bootstrap_mean(hero)
    allowed, lost = _most(scores, given.hero, level), mine.seed.nunique() - len(hero)
    least, most = mine.beta[mine.beta > 0].min(), scores.beta.max()
    stop = f"stops at beta = {alpha / interval.mean:.3g}" if interval.mean else "never gets there"
    if numpy.isfinite(allowed).all() and bootstrap_mean(allowed).high < given.tolerates:
        verdict, reason = "contradicted", f"{stop} already"
    elif lost:  # leaving those seeds out would flatter the hero
        verdict, reason = "inconclusive", f"{given.hero} diverged altogether on {lost} seeds"
    elif interval.low >= given.tolerates:
        verdict, reason = "supported", f"{stop} (alpha = {alpha:g})"
    else:
        verdict, reason = "inconclusive", "the interval does not decide"
    notes = [reason, f"N = {scores.N.iloc[0]:.0f}"]
    if numpy.isinf(allowed).any():
        notes.append(f"some seeds still hold at the least beta, {least:g}: the value is a lower bound")
    never = [name for name, values in ratios.items() if len(values) and (values == 0).all()]
    if never:
        notes.append(f"never below k alpha^2 at any beta up to {most:g}: {', '.join(never)}")
    others = [n for n in ratios if n != given.hero and n not in never and len(ratios[n])]
    notes += [f"{name} holds up to alpha / beta = {ratios[name].mean():.2g}" for name in others]
    return Judgement(
        verdict, interval.mean, interval.low, interval.high, given.tolerates, len(hero), "; ".join(notes), details
    )
