"""D-asm3.2: at random starts the tangent features have a margin gamma (paper D, Assumption 3.2).

    gamma = max_{|W| = 1} min_s y_s <grad f_V(x_s), W> / sqrt(p)    at the random start V, h = h_NT

is found exactly from the Gram matrix: every start has an upper bound and a certified lower one, attained by a W. A
setting is a data set, a depth L and a number n of samples. Widths p below ``least_p`` are shown and not judged:
gamma grows there until the points, of the sphere in p dimensions, are apart. The text after Theorem 3.3 lets gamma
fall as p^-omega, omega < 1/2; its proof needs omega < 1/8 (``theory/paper_d.py``), which is reported too.

    slope   of log gamma on log p, over the starts of a seed; its mean over seeds, with Student's interval at level
            1 - 0.05 / (number of settings), as the least of all slopes decides

Supported: every start has a certified margin > 0 with a relative gap of at most ``most_gap``, and the interval of
the slope lies above -1/2 in every setting. Contradicted: in some setting more than a share ``delta`` of the starts
has margin 0 at the largest p (by an exact binomial test at level 0.05 / number of settings), or a slope's interval
lies below -1/2. Otherwise, also if a data set or a start is missing, inconclusive. The number is the least slope.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy
import pandas
from pydantic import Field
from scipy.special import bdtrc

from learnability.claims import Judgement, Word
from learnability.claims.dense import judged, too_few
from learnability.claims.stats import Interval, clear_mean
from learnability.claims.tables import slope
from learnability.schema.base import Strict

ID = "D-asm3.2"
PAPER = "D"
STATEMENT = "at random starts the tangent features have a margin gamma, no less than p^-omega for an omega < 1/2"
AXES = {"L", "d", "N"}
UNIT = "least slope of log gamma on log p"
LIMIT, STRICT = -1 / 2, -1 / 8  # Theorem 3.3's text, and what its proof needs
MEASURED = ["margin_gamma", "margin_certified", "margin_gap"]
SETTING = ["learner", "L", "N"]  # the data set has the learner's name
Setting = tuple[str, int, int]


class Parameters(Strict):
    """What ``claims.D-asm3.2`` in the experiment file may hold."""

    data: Annotated[list[str], Field(min_length=1)]  # learners, of this experiment or a joined one
    least_p: Annotated[int, Field(ge=1)] = 64
    delta: Annotated[float, Field(gt=0, lt=1)] = 0.1
    most_gap: Annotated[float, Field(gt=0, lt=1)] = 1e-6
    min_seeds: Annotated[int, Field(ge=2)] = 5


def measured(scores: pandas.DataFrame, given: Parameters) -> pandas.DataFrame:
    """Starts on the data sets that are judged, at all p, that have a result."""
    rows = scores[scores.learner.isin(given.data)].reindex(columns=[*SETTING, "d", "seed", "picked", *MEASURED])
    return rows[rows.picked.astype(bool) & numpy.isfinite(rows[MEASURED].astype(float)).all(axis=1)]


def slopes(rows: pandas.DataFrame) -> dict[Setting, pandas.Series]:
    """Setting -> slope of log gamma on log p of every seed; a seed without two p that have a margin is left out."""
    found = {}
    for setting, mine in rows.groupby(SETTING):
        by_seed = {seed: _slope(starts) for seed, starts in mine.groupby("seed")}
        found[setting] = pandas.Series(by_seed, dtype=float).dropna()
    return found


def _slope(starts: pandas.DataFrame) -> float:
    return slope(starts.d, starts.margin_gamma) if starts[starts.margin_gamma > 0].d.nunique() > 1 else numpy.nan


def intervals(found: Mapping[Setting, pandas.Series]) -> dict[Setting, Interval]:
    """Mean slopes with intervals that hold for all settings at once; none for fewer than two seeds."""
    return {setting: clear_mean(values, len(found)) for setting, values in found.items() if len(values) > 1}


def without(rows: pandas.DataFrame, delta: float) -> list[Setting]:
    """Settings where significantly more than a share ``delta`` of the starts has margin 0 at the largest p."""
    groups = dict(iter(rows.groupby(SETTING)))
    found = []
    for setting, mine in groups.items():
        last = mine[mine.d == mine.d.max()]
        zeros = int((last.margin_gamma <= 0).sum())
        if zeros and bdtrc(zeros - 1, len(last), delta) < 0.05 / len(groups):  # P(zeros or more) at this delta
            found.append(setting)
    return found


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    asked = scores[scores.learner.isin(given.data) & (scores.d >= given.least_p)]
    rows = measured(asked, given)
    cells = rows.groupby([*SETTING, "d"]).seed.nunique()
    seeds = int(cells.min()) if len(cells) else 0
    absent = [name for name in given.data if name not in set(rows.learner)]
    if absent and len(rows):
        note = f"no result on: {', '.join(absent)}"
        return Judgement("inconclusive", None, None, None, LIMIT, seeds, note, _details(rows))
    if seeds < given.min_seeds:
        return too_few(seeds, given.min_seeds, LIMIT, _details(rows))
    found = intervals(slopes(rows))
    word, reason = _decide(rows, found, _planned(asked) - len(rows), given)
    notes = [reason, *_notes(rows, found)]
    if not found:
        return Judgement(word, None, None, None, LIMIT, seeds, "; ".join(notes), _details(rows))
    return judged(word, min(found.values(), key=lambda one: one.mean), LIMIT, notes, _details(rows))


def _planned(asked: pandas.DataFrame) -> int:
    """How many starts there would be if every seed had all of its own in every setting and at every p."""
    cells = asked.groupby("learner").apply(lambda rows: len(rows.drop_duplicates(["L", "N", "d"])))
    starts = asked.groupby([*SETTING, "d", "seed"]).size().groupby("learner").max()
    return int((cells * starts).sum()) * asked.seed.nunique()


def _decide(
    rows: pandas.DataFrame, found: dict[Setting, Interval], lost: int, given: Parameters
) -> tuple[Word, str]:
    none = without(rows, given.delta)
    if none:
        return "contradicted", f"no margin on more than {given.delta:g} of the starts: {_named(none)}"
    below = [setting for setting, one in found.items() if one.high < LIMIT]
    if below:
        return "contradicted", f"gamma falls faster than p^-1/2: {_named(below)}"
    if lost:
        return "inconclusive", f"{lost} starts have no result"
    bare = int((rows.margin_certified <= 0).sum())
    if bare:
        return "inconclusive", f"{bare} of {len(rows)} starts have no certified margin"
    if not (rows.margin_gap <= given.most_gap).all():
        return "inconclusive", f"margins are known up to {rows.margin_gap.max():.1e} only"
    if len(found) < rows.groupby(SETTING).ngroups:
        return "inconclusive", f"one p only, from {given.least_p} on: no slope"
    unclear = [setting for setting, one in found.items() if one.low <= LIMIT]
    if unclear:
        return "inconclusive", f"the slope's interval does not decide: {_named(unclear)}"
    return "supported", f"all {len(rows)} starts have a margin, and every slope is above -1/2"


def name(setting: Setting) -> str:
    """``colliding, L = 2, n = 64``."""
    return f"{setting[0]}, L = {setting[1]:g}, n = {setting[2]:g}"


def _named(settings: list[Setting], most: int = 4) -> str:
    more = f" and {len(settings) - most} more" if len(settings) > most else ""
    return " | ".join(name(setting) for setting in settings[:most]) + more


def _notes(rows: pandas.DataFrame, found: dict[Setting, Interval]) -> list[str]:
    notes = []
    if found:
        worst = min(found, key=lambda setting: found[setting].mean)
        ranked = [one.mean for one in found.values()]
        notes.append(f"slopes {min(ranked):.3g} ({name(worst)}) to {max(ranked):.3g} in {len(found)} settings")
        clear = sum(one.low > STRICT for one in found.values())
        notes.append(f"the proof needs omega < 1/8: {clear} of {len(found)} intervals lie above -1/8")
    last = rows[rows.d == rows.d.max()]
    middle = {setting: geometric_mean(mine.margin_gamma) for setting, mine in last.groupby(SETTING)}
    ends = [min(middle, key=middle.get), max(middle, key=middle.get)]
    said = " to ".join(f"{middle[setting]:.3g} ({name(setting)})" for setting in ends)
    notes.append(f"gamma at p = {last.d.max():g}: {said}")
    notes.append(f"p from {rows.d.min():g} on; largest gap of a certificate {rows.margin_gap.max():.1e}")
    return notes


def geometric_mean(values: pandas.Series) -> float:
    """0 if one of them is."""
    return float(numpy.exp(numpy.log(values).mean())) if (values > 0).all() else 0.0


def _details(rows: pandas.DataFrame) -> dict[str, Any]:
    """By setting: every seed's slope, and gamma by p, a geometric mean."""
    found = {}
    for setting, values in slopes(rows).items():
        mine = rows[(rows[SETTING] == list(setting)).all(axis=1)]
        gamma = {f"{p:g}": geometric_mean(starts.margin_gamma) for p, starts in mine.groupby("d")}
        found[name(setting)] = {"slope": values.tolist(), "gamma by p": gamma, "starts": len(mine)}
    return found
