"""B-fig1: SGD does not find solutions of minimal norm (paper B, Appendix A.1, Figures 1 and 3).

F(W; x) = a^T sigma(Wx) on the parity of six of d coordinates. Of SGD over lr x wd x m at d = 40, N = 5000 it says:

1. no test error below ``test_error`` = 0.69 is found;
2. no small training error together with a Frobenius norm comparable to the networks made by hand.

1 is held against the test error of each seed's replica picked on validation. 2 against the hand-made networks, as
made and measured here: over all replicas of a seed that reach the error of a hand-made one in training, the least
ratio of norms.

Norms are comparable up to a factor of ``comparable``. Contradicted: the interval of 1 lies below 0.69, or that of
some error's ratio below the factor (Bonferroni over the errors). Supported: 1 lies at or above 0.69 and the ratio
of every error above the factor (no replica has the training error: nothing to show; fewer than ``min_seeds`` have
it: each of their ratios is above). Otherwise, or with too few seeds: inconclusive.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.stats import bootstrap_mean, clear_mean
from learnability.schema.base import Strict
from learnability.theory.paper_b import generalisation_gap, rademacher_frobenius

ID = "B-fig1"
PAPER = "B"
STATEMENT = "On a parity of six SGD finds neither test error below 0.69 nor the small norm of hand-made networks"
AXES = {"m", "N", "d"}  # judged at the N and d of the hand-made networks
UNIT = "test E|F-y|^2 of SGD, lr x wd x m picked on validation"


class Parameters(Strict):
    """What ``claims.B-fig1`` in the experiment file may hold."""

    methods: Annotated[list[str], Field(min_length=1)] = Field(default_factory=lambda: ["sgd"])
    hero: str = "by-hand"
    test_error: Annotated[float, Field(gt=0)] = 0.69
    comparable: Annotated[float, Field(ge=1)] = 1.2  # the hand-made norms are up to 18% above the least there is
    min_seeds: Annotated[int, Field(ge=5)] = 5


def picked(scores: pandas.DataFrame, methods: list[str]) -> pandas.DataFrame:
    """Of every seed the replica of all methods and widths with the least validation error."""
    mine = scores[scores.learner.isin(methods) & ~scores.diverged]
    best = mine.loc[mine.groupby("seed").val_error.idxmin()].set_index("seed")
    return best[numpy.isfinite(best.test_error)]


def norm_ratios(scores: pandas.DataFrame, given: Parameters) -> dict[float, pandas.Series]:
    """Wanted error -> of each seed the least norm of SGD at that training error / norm of the hand-made network."""
    hand = scores[scores.learner == given.hero]
    mine = scores[scores.learner.isin(given.methods) & ~scores.diverged]
    found = {}
    for wanted, rows in hand.groupby("wanted_error"):
        good = mine[mine.train_final_error <= wanted]
        least = good.groupby("seed").train_norm_W.min()
        found[wanted] = (least / rows.groupby("seed").train_norm_W.mean()).dropna()  # over widths
    return found


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text. ``scores`` has a row per learner x point x replica."""
    hand = scores[scores.learner == given.hero]
    if len(hand):
        scores = scores[scores.d.eq(hand.d.iloc[0]) & scores.N.eq(hand.N.iloc[0])]
    if missing := [name for name in [*given.methods, given.hero] if name not in set(scores.learner)]:
        note = f"not run: {', '.join(missing)}"
        return Judgement("inconclusive", None, None, None, given.test_error, 0, note)
    best = picked(scores, given.methods)
    seeds, hand = len(best), scores[scores.learner == given.hero]
    ratios = norm_ratios(scores, given)
    details = {"by_hand": _hand(hand), "norm_ratio": {f"{e:g}": r.tolist() for e, r in ratios.items()}}
    if seeds < max(2, given.min_seeds):
        note = f"{seeds} seeds finished, {given.min_seeds} needed"
        return Judgement("inconclusive", None, None, None, given.test_error, seeds, note, details)
    value = bootstrap_mean(best.test_error)
    measured = {e: r for e, r in ratios.items() if len(r) >= given.min_seeds}
    intervals = [bootstrap_mean(r) for r in measured.values()]
    closest = min(intervals, key=lambda i: i.mean, default=None)
    rare = [ratio for e, r in ratios.items() if e not in measured for ratio in r]  # no interval: each one counts
    smaller = [bootstrap_mean(r) for r in measured.values() if clear_mean(r, len(measured)).high < given.comparable]
    larger = all(i.low > given.comparable for i in intervals) and all(ratio > given.comparable for ratio in rare)
    if value.high < given.test_error:
        verdict, reason = "contradicted", f"test error {value} lies below {given.test_error:g}: the parity is found"
    elif smaller:
        verdict, reason = "contradicted", f"norm at equal training error is {smaller[0]} of the hand-made"
    elif value.low >= given.test_error and larger:
        verdict, reason = "supported", "neither is found"
    else:
        verdict, reason = "inconclusive", "the intervals do not decide"
    settings = best.groupby(["m", "lr", "wd"]).size().sort_values(ascending=False)
    m, lr, wd = settings.index[0]
    notes = [reason, f"{settings.iloc[0]} of {seeds} seeds pick m = {m:.0f}, lr = {lr:g}, wd = {wd:g}"]
    if closest:
        notes.append(f"norm at the training error of a hand-made network: {closest} times its norm")
    else:
        notes.append("training error of the hand-made networks not reached on enough seeds")
    notes.append(f"by hand: {'; '.join(details['by_hand'].values())}")
    notes.append(_bound(hand, int(hand.N.iloc[0])))
    return Judgement(verdict, value.mean, value.low, value.high, given.test_error, seeds, "; ".join(notes), details)


def _hand(hand: pandas.DataFrame) -> dict[str, str]:
    """Wanted error -> norm / sqrt(d) and population error as measured, and the least norm there can be."""
    found: dict[str, Any] = {}
    for wanted, rows in hand.groupby("wanted_error", sort=False):
        norm, error = rows.train_norm_W.mean(), rows.population_risk.mean()
        found[f"{wanted:g}"] = f"norm {norm:.3g} at error {error:.2g} (none below {rows.least_norm_W.iloc[0]:.3g})"
    return found


def _bound(hand: pandas.DataFrame, n: int) -> str:
    """The Rademacher bound that the hand-made norms imply; inputs of norm 1, so the norm is that times sqrt(d)."""
    row = hand.sort_values("train_norm_W").iloc[0]
    rademacher = rademacher_frobenius(row.train_norm_W * numpy.sqrt(row.d), n)
    gap = generalisation_gap(rademacher, n)
    return f"Rademacher bound at norm {row.train_norm_W:.3g} sqrt(d), N = {n}: {rademacher:.2g}, gap <= {gap:.2g}"
