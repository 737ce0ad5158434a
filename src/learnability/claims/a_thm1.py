"""A-thm1: Algorithm 1 learns G* to any error, for F and F~ alike, at every depth (paper A, Theorem 1).

A *setting* is one experiment of those joined (a depth, an input distribution), where it is run more than once at
the alpha that most settings have. Supported: in every setting every seed has E(G* - F)^2 / Var(G*) and E(G* - F~)^2
/ Var(G*) of at most ``error``. Contradicted: in some setting the mean of log error lies above log ``error``
(Student's interval, Bonferroni over the settings). Otherwise inconclusive: a setting with too few seeds or a seed
that is not there yet.

Settings in ``open`` are reported and do not decide. The number is the geometric mean over seeds in the worst
deciding setting. Whether the rank rule finds the true k_l is reported beside. The theorem's own regime is out of
reach: the note gives what Definition B.3 would ask for with all its hidden constants set to 1.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.dense import geometric, judged, normalised, picked, span, too_few
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


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text. ``scores`` has a row per learner x point x replica, of all joined experiments."""
    found = settings(scores, given.hero)
    details = {name: _details(rows) for name, rows in found.items()}
    deciding = {name: rows for name, rows in found.items() if name not in given.open}
    started = scores[(scores.learner == given.hero) & ~scores.experiment.isin(given.open)]
    asked = started.groupby("experiment").seed.nunique()
    least = min((len(rows) for rows in deciding.values()), default=0)
    if least < max(2, given.min_seeds) or set(deciding) != set(asked.index):
        return too_few(least, given.min_seeds, given.error, details)
    errors = {name: rows[["nmse", "tilde_nmse"]].max(axis=1) for name, rows in deciding.items()}
    worst = max(errors, key=lambda name: numpy.log10(errors[name]).mean())
    logs = {name: clear_mean(numpy.log10(values), len(errors)) for name, values in errors.items()}
    above = [name for name, interval in logs.items() if interval.low > numpy.log10(given.error)]
    lost = int(sum(asked[name] - len(rows) for name, rows in deciding.items()))
    late = [name for name, values in errors.items() if (values > given.error).any()]
    if above:
        word, reason = "contradicted", f"not learned: {', '.join(above)}"
    elif lost or late:
        word = "inconclusive"
        reason = f"{lost} seeds diverged" if lost else f"some seeds are above {given.error:g}: {', '.join(late)}"
    else:
        word, reason = "supported", f"every seed of every setting is at or below {given.error:g} (worst: {worst})"
    notes = [reason, *[_note(name, rows) for name, rows in found.items()]]
    return judged(word, geometric(errors[worst]), given.error, [*notes, *_regime(found)], details)


def _note(name: str, rows: pandas.DataFrame) -> str:
    ranks = ", ".join(map(str, right_ranks(rows)))
    return f"{name} (L = {depth(rows)}): {span(rows.nmse)}, k_l right on {ranks} of {len(rows)}"


def _details(rows: pandas.DataFrame) -> dict[str, Any]:
    names = ["nmse", "tilde_nmse", *[f"found_k{n}" for n in range(2, depth(rows) + 1)]]
    theory = {c.removeprefix("theory_"): float(rows[c].iloc[0]) for c in rows if c.startswith("theory_")}
    table = {name: [float(v) for v in rows[name] if numpy.isfinite(v)] for name in names}
    return table | {"depth": depth(rows), "Definition B.3": {k: v for k, v in theory.items() if numpy.isfinite(v)}}


def _regime(found: dict[str, pandas.DataFrame]) -> list[str]:
    """What Definition B.3 would ask for, at the setting where it asks for least."""
    firsts = [rows.iloc[0] for rows in found.values() if "theory_log10_N" in rows and len(rows)]
    firsts = [row for row in firsts if numpy.isfinite(row.theory_log10_N)]  # Gaussian inputs only
    if not firsts:
        return []
    least = min(firsts, key=lambda row: row.theory_log10_N)
    asks = f"N >= 10^{least.theory_log10_N:.0f}, m >= 10^{least.theory_log10_m:.0f}"
    gaps = [row.theory_log10_gap for row in firsts if numpy.isfinite(row.get("theory_log10_gap", numpy.nan))]
    if gaps:
        gap = max(gaps)
        asks += f" and, for L >= 3, alpha_3 / alpha_2 <= 10^{gap:.3g}"
    return [f"Definition B.3 with hidden constants 1 asks for {asks}"]
