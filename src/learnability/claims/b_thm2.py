"""B-thm2: with N <= d^(k/2) / log^k d samples no correlation kernel gets below risk alpha^2 / 4 (Theorem 2).

Risk is the exact population risk of each seed's kernel ridge regression, with the ridge that is best for that risk
(kinder to kernels than any honest choice). The theorem's O(.) leaves its constant open, and its proof's own
constants allow no sample at all at d = 30 ((d / 20 k^2 log^2 d)^(k/2) < 1), so the claim is judged where it says
more: at all N <= ``constant`` d^(k/2), logarithms dropped, d^(-k/4) <= alpha <= 1, k >= 4 and no noise.

Supported: every kernel at every such point has its whole interval above alpha^2 / 4. Contradicted: somewhere a
whole interval lies below (Bonferroni). Otherwise, with too few seeds or no such point for some kernel:
inconclusive.

Beside it: the risk that the spectrum lambda_S predicts (Proposition E.1, ``kernels/learning_curve.py``), and at how
many points it lies within the interval of the measured risk at the same ridge. Trained networks solve
this family too (B-cor7.1): it separates kernels from networks that learn features, not ResNets from the rest.
"""

from __future__ import annotations

from typing import Annotated

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.stats import Interval, bootstrap_mean, clear_mean
from learnability.schema.base import Strict
from learnability.theory.paper_b import kernel_alpha_min, kernel_risk

ID = "B-thm2"
PAPER = "B"
STATEMENT = "No correlation kernel gets below risk alpha^2 / 4 with N <= d^(k/2) / log^k d samples"
AXES = {"m", "N", "d", "k", "alpha"}
UNIT = "risk of the best kernel at its best point / (alpha^2 / 4)"


class Parameters(Strict):
    """What ``claims.B-thm2`` in the experiment file may hold."""

    kernels: Annotated[list[str], Field(min_length=1)]
    constant: Annotated[float, Field(gt=0)] = 1.0
    min_seeds: Annotated[int, Field(ge=5)] = 5


POINT = ["learner", "N", "d", "k", "alpha"]


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text. ``scores`` has a row per learner x point x replica."""
    mine = scores[scores.learner.isin(given.kernels) & (scores.noise == 0)]
    best = mine.groupby([*POINT, "seed"]).population_risk.min().reset_index()
    few = given.constant * best.d ** (best.k / 2) >= best.N
    inside = best[few & best.alpha.between(kernel_alpha_min_of(best), 1) & (best.k >= 4)]
    groups = {key: rows.population_risk.dropna() / kernel_risk(key[-1]) for key, rows in inside.groupby(POINT)}
    seeds = min((len(values) for values in groups.values()), default=0)
    agreement = agree(mine)
    missing = [name for name in given.kernels if name not in set(inside.learner)]
    if missing or seeds < max(2, given.min_seeds):
        why = f"{seeds} seeds, {given.min_seeds} needed"
        if missing:
            why = f"no point with N <= constant d^(k/2) that the theorem speaks of: {', '.join(missing)}"
        return Judgement("inconclusive", None, None, None, 1.0, seeds, why, {"predicted": agreement})
    intervals = {key: bootstrap_mean(values) for key, values in groups.items()}
    least = min(intervals, key=lambda key: intervals[key].mean)
    below = [key for key, values in groups.items() if clear_mean(values, len(groups)).high < 1]
    unclear = [key for key, interval in intervals.items() if interval.low <= 1]
    if below:
        verdict = "contradicted"
        reason = f"below alpha^2 / 4: {', '.join(map(_place, below))}"
    elif unclear:
        verdict, reason = "inconclusive", f"intervals reach alpha^2 / 4 at {len(unclear)} points"
    else:
        verdict = "supported"
        reason = f"{len(given.kernels)} kernels at {len(groups)} points; least {_place(least)}"
    learned = best[~few & (best.k >= 4) & (best.population_risk < best.alpha.map(kernel_risk))]
    notes = [reason]
    if len(learned):
        named = sorted({(row.learner, int(row.d), int(row.N)) for row in learned.itertuples()})
        notes.append(
            f"with N > d^(k/2) below it on some seeds: {', '.join(f'{n} d={d} N={N}' for n, d, N in named[:4])}"
        )
    if "predicted_share" in mine and (blind := sorted(mine[mine.predicted_share < 1e-12].learner.unique())):
        notes.append(f"no part of that degree in some or all of its spectra, so at any N: {', '.join(blind)}")
    within, of, off = (agreement[key] for key in ("within", "points", "largest_relative_error"))
    notes.append(
        f"risk predicted from the spectrum within the interval at {within} of {of} points with N^2 < 2^d, off by "
        f"{off:.1%} at most ({agreement['within_else']} of {agreement['points_else']} where samples repeat)"
    )
    details = {"/".join(map(str, key)): [i.mean, i.low, i.high] for key, i in intervals.items()}
    value = intervals[least]
    return Judgement(
        verdict,
        value.mean,
        value.low,
        value.high,
        1.0,
        seeds,
        "; ".join(notes),
        {"ratio": details, "predicted": agreement},
    )


def _place(key: tuple) -> str:
    name, n, d, k, alpha = key
    return f"{name} at d = {d}, N = {n}, k = {k}, alpha = {alpha:g}"


def kernel_alpha_min_of(points: pandas.DataFrame) -> pandas.Series:
    """d^(-k/4) of each row."""
    return pandas.Series(
        [kernel_alpha_min(d, k) for d, k in zip(points.d, points.k, strict=True)], index=points.index
    )


def points(mine: pandas.DataFrame) -> list[tuple[str, float, Interval, bool]]:
    """(kernel, predicted, measured, trusted) of every point, at the ridge that most seeds pick there."""
    found = []
    if "predicted_risk" not in mine or "population_risk" not in mine:
        return found
    for (name, n, d, *_), rows in mine.groupby(POINT):
        at = rows[rows.wd == rows[rows.picked].wd.mode().min()]
        if len(at) < 2:
            continue
        measured, predicted = bootstrap_mean(at.population_risk), float(at.predicted_risk.iloc[0])
        if numpy.isfinite(predicted) and measured.mean > 0:
            found.append((name, predicted, measured, trusted(n, d)))
    return found


def agree(mine: pandas.DataFrame) -> dict[str, float]:
    """How often the prediction lies within the measured risk's interval: where samples seldom repeat, and else."""
    found = points(mine)
    counts = {"within": 0, "points": 0, "within_else": 0, "points_else": 0}
    for _, predicted, measured, good in found:
        counts["points" if good else "points_else"] += 1
        counts["within" if good else "within_else"] += measured.low <= predicted <= measured.high
    off = [abs(predicted / measured.mean - 1) for _, predicted, measured, good in found if good]
    return counts | {"largest_relative_error": max(off, default=0.0)}


def trusted(n: int, d: int) -> bool:
    """The prediction treats samples as drawn from a continuum: few of N points in {-1, 1}^d may coincide."""
    return n**2 < 2.0**d
