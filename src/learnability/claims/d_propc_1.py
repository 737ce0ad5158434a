"""D-propC.1: clustered data have a margin gamma that is constant, in p and in n (paper D, Proposition C.1).

Two layers (L = 1), every x_s at distance r of y_s mu with the largest h and r that the proposition allows (c' = 1).
Its proof needs the event (c): |V_{1,i} . (x_s - y_s mu)| <= 2h for all i and s. Starts where it does not happen are
left out and counted. Known of each start are gamma (an upper bound, and a certified lower one), what the proof's
W* attains, and its bound on that, (3 |S_+| - |S_-|) / (8 sqrt(|S_+| + |S_-|) sqrt(p)) or the same with + and -
exchanged. c = 1/32 is this bound at the worst sizes |S_+|, |S_-| that (a) and (b) allow as p grows.

    slopes   of log gamma on log p and log n together (least squares over the starts of a seed); means over seeds
             with Student's intervals at level 1 - 0.05 / 3: two slopes, and the control's

At fixed n the margin of random labels goes to a constant with p as well; it is n that tells the two apart. So the
control is random labels (the joined experiments), whose gamma falls with n.

Supported: the certified gamma is at least c on every start, both slopes' intervals lie within +-``flat``, and the
interval of the control's slope in log n lies below -``flat``. Contradicted: gamma is below c on some start, W* is
below the proof's bound, or the interval of a slope lies below -``flat``. Otherwise inconclusive; also if a start
has no result, or the event fails on more than a share ``delta`` of them, which is all that the proposition allows.
The number is the least gamma of a seed, a geometric mean over seeds.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement, Word
from learnability.claims.dense import geometric, judged, span, too_few
from learnability.claims.stats import Interval, clear_mean
from learnability.schema.base import Strict
from learnability.theory.paper_d import CLUSTERED_MARGIN, CLUSTERED_MARGIN_LIMIT

ID = "D-propC.1"
PAPER = "D"
STATEMENT = "r-clustered data have a constant margin gamma with two layers"
AXES = {"L", "d", "N"}
UNIT = "least margin gamma of a seed over all p and n"
ROUNDING = 1e-9
MARGINS = ["margin_gamma", "margin_certified"]
PROOF = ["margin_proof", "margin_proof_bound", "margin_part_c", "margin_plus", "margin_minus"]


class Parameters(Strict):
    """What ``claims.D-propC.1`` in the experiment file may hold."""

    hero: str = "clustered"
    flat: Annotated[float, Field(gt=0, lt=0.5)] = 0.1
    delta: Annotated[float, Field(gt=0, lt=1)] = 0.1
    min_seeds: Annotated[int, Field(ge=2)] = 5


def starts(scores: pandas.DataFrame, given: Parameters) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """All starts with two layers: the hero's, of the claim's own experiment, and those of the joined ones."""
    own = scores.experiment == (scores.experiment.iloc[0] if len(scores) else "")
    two = scores.L == 1
    return scores[two & own & (scores.learner == given.hero)], scores[two & ~own]


def measured(rows: pandas.DataFrame, columns: list[str]) -> pandas.DataFrame:
    """The starts that have a result in all of ``columns``."""
    rows = rows.reindex(columns=[*rows.columns, *[c for c in columns if c not in rows]])
    return rows[rows.picked.astype(bool) & numpy.isfinite(rows[columns].astype(float)).all(axis=1)]


def by_event(rows: pandas.DataFrame) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Starts on clustered data that have a result: those with the event (c), and those without."""
    found = measured(rows, [*MARGINS, *PROOF])
    return found[found.margin_part_c == 1], found[found.margin_part_c != 1]


class Slopes(NamedTuple):
    """Of log gamma, on log p and on log n: one number a seed, in the order of the seeds."""

    p: numpy.ndarray
    n: numpy.ndarray


def slopes(rows: pandas.DataFrame) -> Slopes:
    """Least squares over the starts of each seed; a seed that has not two p and two n with a margin is left out."""
    found = []
    for _, mine in rows[rows.margin_gamma > 0].sort_values(["seed", "d", "N"]).groupby("seed"):
        sides = numpy.stack([numpy.ones(len(mine)), numpy.log(mine.d), numpy.log(mine.N)], axis=1)
        if numpy.linalg.matrix_rank(sides) == 3:
            found.append(numpy.linalg.lstsq(sides, numpy.log(mine.margin_gamma.to_numpy()), rcond=None)[0][1:])
    table = numpy.array(found, dtype=float).reshape(-1, 2)
    return Slopes(table[:, 0], table[:, 1])


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    asked = starts(scores, given)
    (rows, left), other = by_event(asked[0]), measured(asked[1], MARGINS)
    ours, theirs = slopes(rows), slopes(other)
    details = _details(rows, other, ours, theirs)
    seeds = min(rows.seed.nunique(), other.seed.nunique())
    if seeds < given.min_seeds:
        return too_few(seeds, given.min_seeds, CLUSTERED_MARGIN, details)
    if min(len(ours.p), len(theirs.p)) < given.min_seeds:
        note = "slopes need two p and two n on every seed"
        return Judgement("inconclusive", None, None, None, CLUSTERED_MARGIN, seeds, note, details)
    found = {"p": clear_mean(ours.p, 3), "n": clear_mean(ours.n, 3), "control": clear_mean(theirs.n, 3)}
    lost = _planned(pandas.concat(asked)) - len(rows) - len(left) - len(other)
    word, reason = _decide(rows, left, lost, found, given)
    least = geometric(rows.groupby("seed").margin_certified.min())
    return judged(word, least, CLUSTERED_MARGIN, [reason, *_notes(rows, left, other, found)], details)


def _planned(asked: pandas.DataFrame) -> int:
    """How many starts there would be if every seed had all of its own at every p and n."""
    cell = ["experiment", "learner", "d", "N"]
    return int(asked.groupby([*cell, "seed"]).size().groupby(cell).max().sum()) * asked.seed.nunique()


def _decide(
    rows: pandas.DataFrame, left: pandas.DataFrame, lost: int, found: dict[str, Interval], given: Parameters
) -> tuple[Word, str]:
    below, falls = rows.margin_gamma < CLUSTERED_MARGIN, [a for a in "pn" if found[a].high < -given.flat]
    if below.any():
        return "contradicted", f"gamma is below c = 1/32 on {below.sum()} starts where the event holds"
    if (rows.margin_proof < rows.margin_proof_bound - ROUNDING).any():
        return "contradicted", "W* stays below what the proof says of it"
    if falls:
        return "contradicted", f"gamma falls with {' and '.join(falls)}"
    if lost:
        return "inconclusive", f"{lost} starts have no result"
    if len(left) > given.delta * (len(left) + len(rows)):
        return "inconclusive", f"the event fails on more than {given.delta:g} of the starts"
    if (rows.margin_certified < CLUSTERED_MARGIN).any():
        return "inconclusive", "margins that are not certified to be 1/32"
    if found["control"].high >= -given.flat:
        return "inconclusive", "random labels do not tell: their gamma is as flat in n"
    wide = [a for a in "pn" if max(-found[a].low, found[a].high) > given.flat]
    if wide:
        return "inconclusive", f"not known to be flat within {given.flat:g} in {' and '.join(wide)}"
    return "supported", f"at least c = 1/32 on all {len(rows)} starts, and flat in p and n"


def _notes(rows, left, other, found: dict[str, Interval]) -> list[str]:
    notes = [f"slope in p {found['p']}, in n {found['n']}; random labels in n {found['control']}"]
    last = rows[rows.d == rows.d.max()]
    notes.append(
        f"at p = {last.d.max():g}: gamma {span(last.margin_gamma)}, W* {span(last.margin_proof)}, the proof's bound"
        f" {span(last.margin_proof_bound)} (as p grows: {CLUSTERED_MARGIN_LIMIT:.3g}), c = {CLUSTERED_MARGIN:.3g}"
    )
    low = rows[rows.margin_proof_bound < CLUSTERED_MARGIN]
    if len(low):
        notes.append(f"the proof's bound itself is below c on {len(low)} starts, p up to {low.d.max():g}")
    notes.append(f"the event (c) failed on {len(left)} of {len(rows) + len(left)} starts, which are left out")
    notes.append(f"|S_+|/p {span(rows.margin_plus)}, |S_-|/p {span(rows.margin_minus)}")
    most = other[other.N.eq(other.N.max())]
    notes.append(f"random labels have gamma {span(most.margin_gamma)} at n = {most.N.max():g}")
    return notes


def _details(rows: pandas.DataFrame, other: pandas.DataFrame, ours: Slopes, theirs: Slopes) -> dict[str, Any]:
    """Slopes of every seed, and all margins by p and n, a list over starts."""
    found: dict[str, Any] = {
        "slope in p": ours.p.tolist(),
        "slope in n": ours.n.tolist(),
        "random labels, slope in p": theirs.p.tolist(),
        "random labels, slope in n": theirs.n.tolist(),
    }
    for name, table, column in (
        ("gamma", rows, "margin_gamma"),
        ("W*", rows, "margin_proof"),
        ("proof's bound", rows, "margin_proof_bound"),
        ("random labels, gamma", other, "margin_gamma"),
    ):
        sizes = table.groupby(["d", "N"]) if len(table) else ()
        found[name] = {f"p = {p:g}, n = {n:g}": [float(v) for v in mine[column]] for (p, n), mine in sizes}
    return found
