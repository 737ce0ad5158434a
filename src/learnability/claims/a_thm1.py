"""A-thm1: Algorithm 1 learns G* to any error, for F and F~ alike, at every depth (paper A, Theorem 1).

A *setting* is one experiment of those joined (a depth, an input distribution), where it is run more than once at
the alpha that most settings have. Each seed has a limit,

    min(error, top * share),    share of Var(G*) above degree 2^(L-1):

the best polynomial of degree 2^(L-1) has E(G* - P)^2 / Var(G*) = share, so that an error below a tenth of it
(``top``) takes layer L, however small alpha_L is (at L = 4 the share may lie below ``error``). Where the share is
not known (mixtures of inputs), ``error`` alone is the limit.

Supported: in every setting every seed has E(G* - F)^2 / Var(G*) and E(G* - F~)^2 / Var(G*) at or below its limit.
Contradicted: in some setting the mean of log(error / limit) lies above 0 (Student's interval, Bonferroni over the
settings). Otherwise inconclusive: a setting with too few seeds or a seed that is not there yet. Errors of F are
exact where the scores hold them, those of F~ are of the test set.

Settings in ``open`` are reported and do not decide. The number is the geometric mean over seeds in the deciding
setting where error / limit is worst, the threshold the least limit of its seeds. Whether the rank rule finds the
true k_l is reported beside. The theorem's own regime is out of reach: the note gives what Definition B.3 would ask
for with all its hidden constants set to 1.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.dense import LEAST, geometric, judged, normalised, picked, span, too_few
from learnability.claims.stats import clear_mean
from learnability.schema.base import Strict

ID = "A-thm1"
PAPER = "A"
STATEMENT = "Algorithm 1 learns quadratic DenseNets G* of every depth to any error, its k_l found on the way"
AXES = {"alpha"}
UNIT = "E(G*-F)^2 / Var(G*) in the worst setting, geometric mean"


class Parameters(Strict):
    """What ``claims.A-thm1`` in the experiment file may hold."""

    hero: str = "algorithm1"
    error: Annotated[float, Field(gt=0)] = 1e-4
    top: Annotated[float, Field(gt=0, le=1)] = 0.1  # share of what takes layer L that may be missed
    open: list[str] = Field(default_factory=list)
    min_seeds: Annotated[int, Field(ge=2)] = 4


def settings(scores: pandas.DataFrame, hero: str) -> dict[str, pandas.DataFrame]:
    """Experiment -> the hero's picked rows, one a seed, at the alpha that most experiments have."""
    mine = scores[(scores.learner == hero) & scores.picked]
    counts = mine.groupby("alpha").experiment.nunique()
    found = {}
    for name, rows in mine.groupby("experiment", sort=False):
        alpha = max(rows.alpha.unique(), key=lambda value: counts[value])
        found[name] = picked(normalised(rows), hero, alpha=alpha)
    return found


def depth(rows: pandas.DataFrame) -> int:
    """L: the last layer whose k_l is known."""
    return max(
        int(c.removeprefix("teacher_k")) for c in rows if c.startswith("teacher_k") and rows[c].notna().any()
    )


def right_ranks(rows: pandas.DataFrame) -> list[int]:
    """For l = 2..L, on how many seeds the rank rule found the true k_l."""
    return [int((rows[f"found_k{n}"] == rows[f"teacher_k{n}"]).sum()) for n in range(2, depth(rows) + 1)]


def limits(rows: pandas.DataFrame, given: Parameters) -> pandas.Series:
    """min(error, top * share) of each seed; ``error`` where the share above degree 2^(L-1) is not known."""
    found = pandas.Series(given.error, index=rows.index)
    if "teacher_top_share" in rows:
        found = found.clip(upper=(given.top * rows.teacher_top_share).fillna(given.error))
    return found


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text. ``scores`` has a row per learner x point x replica, of all joined experiments."""
    found = settings(scores, given.hero)
    details = {name: _details(rows, given) for name, rows in found.items()}
    deciding = {name: rows for name, rows in found.items() if name not in given.open}
    started = scores[(scores.learner == given.hero) & ~scores.experiment.isin(given.open)]
    asked = started.groupby("experiment").seed.nunique()
    least = min((len(rows) for rows in deciding.values()), default=0)
    if least < max(2, given.min_seeds) or set(deciding) != set(asked.index):
        return too_few(least, given.min_seeds, given.error, details)
    errors = {name: rows[["nmse", "tilde_nmse"]].max(axis=1) for name, rows in deciding.items()}
    most = {name: limits(rows, given) for name, rows in deciding.items()}
    logs = {name: numpy.log10(values.clip(lower=LEAST) / most[name]) for name, values in errors.items()}
    worst = max(logs, key=lambda name: logs[name].mean())
    above = [name for name, values in logs.items() if clear_mean(values, len(logs)).low > 0]
    lost = int(sum(asked[name] - len(rows) for name, rows in deciding.items()))
    late = [name for name, values in errors.items() if (values > most[name]).any()]
    if above:
        word, reason = "contradicted", f"not learned: {', '.join(above)}"
    elif lost or late:
        word = "inconclusive"
        reason = f"{lost} seeds diverged" if lost else f"some seeds are above their limit: {', '.join(late)}"
    else:
        word, reason = "supported", f"every seed of every setting is at or below its limit (worst: {worst})"
    reason += f"; limits are min({given.error:g}, {given.top:g} of Var(G*)'s share above degree 2^(L-1))"
    notes = [reason, *[_note(name, rows, given) for name, rows in found.items()]]
    return judged(word, geometric(errors[worst]), float(most[worst].min()), [*notes, *_regime(found)], details)


def _note(name: str, rows: pandas.DataFrame, given: Parameters) -> str:
    ranks = ", ".join(map(str, right_ranks(rows)))
    found = limits(rows, given)
    most = f" (limits {span(found)})" if (found < given.error).any() else ""
    return f"{name} (L = {depth(rows)}): {span(rows.nmse)}{most}, k_l right on {ranks} of {len(rows)}"


def _details(rows: pandas.DataFrame, given: Parameters) -> dict[str, Any]:
    names = ["nmse", "tilde_nmse", *[f"found_k{n}" for n in range(2, depth(rows) + 1)]]
    theory = {c.removeprefix("theory_"): float(rows[c].iloc[0]) for c in rows if c.startswith("theory_")}
    table = {name: [float(v) for v in rows[name] if numpy.isfinite(v)] for name in names}
    table |= {"limit": limits(rows, given).tolist(), "depth": depth(rows)}
    return table | {"Definition B.3": {k: v for k, v in theory.items() if numpy.isfinite(v)}}


def _regime(found: dict[str, pandas.DataFrame]) -> list[str]:
    """What Definition B.3 would ask for in two settings: where it asks for least N, and for the largest alpha_3."""
    firsts = {name: rows.iloc[0] for name, rows in found.items() if "theory_log10_N" in rows and len(rows)}
    firsts = {name: row for name, row in firsts.items() if numpy.isfinite(row.theory_log10_N)}  # Gaussian inputs
    gaps = {name: row.get("theory_log10_gap", numpy.nan) for name, row in firsts.items()}
    gaps = {name: gap for name, gap in gaps.items() if numpy.isfinite(gap)}  # L >= 3
    chosen = [min(firsts, key=lambda name: firsts[name].theory_log10_N)] if firsts else []
    chosen += [max(gaps, key=gaps.get)] if gaps else []
    asks = []
    for name in dict.fromkeys(chosen):
        row = firsts[name]
        asks.append(f"N >= 10^{row.theory_log10_N:.0f}, m >= 10^{row.theory_log10_m:.0f}")
        asks[-1] += f", alpha_{{l+1}} / alpha_l <= 10^{gaps[name]:.3g}" if name in gaps else ""
        asks[-1] += f" at {name}"
    return [f"Definition B.3 with hidden constants 1 asks for {'; for '.join(asks)}"] if asks else []
