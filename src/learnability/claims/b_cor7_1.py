"""B-cor7.1: the ResNet needs about d samples where kernels need d^(k/2) and more (Corollary 7.1 against Theorem 2).

On Theorem 2's family N*(d) is the least N from which on the risk stays at or below a level, read off each seed's
curve on log-log axes; the sample exponent is the slope of log N* on log d. For the hero the level is k alpha^4,
the corollary's; for kernels it is k alpha^2 / 2, half of the composite part, which asks for less. A kernel that is
not there at the largest N counts with that N, which lowers its exponent; d at which it gets there on no seed do
not count. Networks count at their largest width, the first experiment at its first k and alpha.

Supported: the hero's exponent has its whole interval below k/2, the exponent that Theorem 2 leaves to kernels (the
corollary says 1), and every kernel's measured exponent has its whole interval above the hero's. Contradicted: the
hero's interval lies above k/2, or some kernel's lies below the hero's. Where a curve lies wholly above or below
its level, N* is known from one side only: each comparison takes the least or the most that the exponent may be,
whichever makes it harder. Otherwise, with too few seeds, with alpha^2 >= 1/2 (then the hero's level is the easier
one), or if the hero is not there at the largest N, or is there at the smallest, somewhere: inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.stats import Interval, bootstrap_mean
from learnability.claims.tables import bounds, by_seed, crossing, largest, risk, slope
from learnability.schema.base import Strict
from learnability.theory.paper_b import resnet_samples

ID = "B-cor7.1"
PAPER = "B"
STATEMENT = "On Theorem 2's family the ResNet reaches risk alpha^4 with about d samples, kernels need d^(k/2)"
AXES = {"m", "N", "d", "k", "alpha"}  # judged at the first k and alpha
UNIT = "sample exponent of 3resnet: slope of log N on log d at risk k alpha^4"


class Parameters(Strict):
    """What ``claims.B-cor7.1`` in the experiment file may hold."""

    hero: str = "3resnet"
    kernels: Annotated[list[str], Field(min_length=1)]
    others: list[str] = Field(default_factory=list)  # networks to say the same of, at one d
    min_seeds: Annotated[int, Field(ge=5)] = 5


def samples_needed(scores: pandas.DataFrame, name: str, level: float) -> pandas.DataFrame:
    """N*: seeds x d; inf where the level is never reached."""
    return _read(scores, name, lambda n, risks: crossing(n, risks, level))


def _read(scores: pandas.DataFrame, name: str, what: Callable) -> pandas.DataFrame:
    """``what(N, risks)`` of each curve: seeds x d."""
    mine = largest(scores[scores.learner == name], "m")
    tables = {d: by_seed(rows, "N", "risk") for d, rows in mine.assign(risk=risk(mine)).groupby("d")}
    found = {d: {seed: what(row.index, row) for seed, row in t.iterrows()} for d, t in tables.items()}
    return pandas.DataFrame(found).dropna()


@dataclass(frozen=True)
class Exponent:
    """Slope of log N* on log d; ``least`` and ``most``: the ends of its interval over all that N* may be."""

    shown: Interval
    least: float
    most: float


def exponent(scores: pandas.DataFrame, name: str, level: float, dims: Sequence[int]) -> Exponent:
    """Over seeds, on these d; shown with N* at the end of the grid that it lies beyond."""
    low, high = (_read(scores, name, lambda n, risks, i=i: bounds(n, risks, level)[i])[dims] for i in (0, 1))
    ends = high.where(numpy.isfinite(high), low)
    shown = bootstrap_mean([slope(dims, row) for _, row in ends.iterrows()])
    places = numpy.log(numpy.asarray(dims, dtype=float))
    weights = (places - places.mean()) / numpy.square(places - places.mean()).sum()
    up, down = weights > 1e-9, weights < -1e-9  # a place in the very middle has no say
    with numpy.errstate(divide="ignore"):  # log 0 = -inf is meant
        low, high = numpy.log(low.to_numpy()), numpy.log(high.to_numpy())
    least = low[:, up] @ weights[up] + high[:, down] @ weights[down]
    most = high[:, up] @ weights[up] + low[:, down] @ weights[down]
    return Exponent(
        shown,
        bootstrap_mean(least).low if numpy.isfinite(least).all() else -numpy.inf,
        bootstrap_mean(most).high if numpy.isfinite(most).all() else numpy.inf,
    )


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text. ``scores`` has a row per learner x point x replica."""
    first = scores.iloc[0]
    scores = scores[(scores.experiment == first.experiment) & (scores.k == first.k) & (scores.alpha == first.alpha)]
    k, alpha, half = int(first.k), float(first.alpha), float(first.k) / 2
    small, middle = k * alpha**4, k * alpha**2 / 2
    hero = samples_needed(scores, given.hero, small)
    kernels = {name: samples_needed(scores, name, middle) for name in given.kernels}
    seeds = min(len(hero), *[len(stars) for stars in kernels.values()])
    missing = [name for name in (given.hero, *given.kernels) if name not in set(scores.learner)]
    reasons = {
        f"not run: {', '.join(missing)}": missing,
        f"alpha = {alpha:g}: k alpha^4 is no less than half of k alpha^2": small >= middle,
        "one d only: no exponent": len(hero.columns) < 2,
        f"{seeds} seeds, {given.min_seeds} needed": seeds < max(2, given.min_seeds),
    }
    if why := [words for words, holds in reasons.items() if holds]:
        return Judgement("inconclusive", None, None, None, half, seeds, why[0])
    value = exponent(scores, given.hero, small, list(hero.columns))
    rivals = {}
    for name, stars in kernels.items():  # a d at which no seed gets there says nothing of the slope
        there = [d for d in stars if numpy.isfinite(stars[d]).any()]
        if len(there) > 1:
            rivals[name] = exponent(scores, name, middle, there)
    early = (hero <= scores[scores.learner == given.hero].N.min()).any(axis=None)
    verdict, reason = _decide(numpy.isinf(hero).any(axis=None), early, value, rivals, half, given.hero)
    notes, found = [reason], hero.mean()
    if numpy.isfinite(found).any():
        ratio = max(n / resnet_samples(d, alpha) for d, n in found.items() if numpy.isfinite(n))
        notes.append(f"N* is {ratio:.1g} of d / alpha^8 at most")
    if rivals:
        words = ", ".join(f"{name} {rival.shown}" for name, rival in rivals.items())
        notes.append(f"kernels, at the d where they get there: {words}")
    if spectral := _from_spectrum(scores, given.kernels):
        notes.append(f"from the spectrum: {spectral}")
    if unmeasured := [name for name in kernels if name not in rivals]:
        notes.append(f"never half learned at two d, no exponent: {', '.join(unmeasured)}")
    for name in given.others:
        stars = samples_needed(scores, name, small)
        there = {d: v for d, v in stars.mean().items() if numpy.isfinite(v)}
        notes += [f"{name} gets there too, N = {v:.0f} at d = {d}" for d, v in there.items()]
    details = {
        "N*": {name: _plain(stars) for name, stars in {given.hero: hero, **kernels}.items()},
        "exponents": {n: [*_three(e)] for n, e in {given.hero: value, **rivals}.items()},
    }
    return Judgement(verdict, *_three(value), half, seeds, "; ".join(notes), details)


def _decide(
    late: bool, early: bool, value: Exponent, rivals: dict[str, Exponent], half: float, hero: str
) -> tuple[str, str]:
    if value.least > half:
        return "contradicted", f"its exponent is above k/2 = {half:g}"
    ahead = [name for name, rival in rivals.items() if rival.most < value.least]
    if ahead:
        return "contradicted", f"smaller exponents: {', '.join(ahead)}"
    if late:
        return "inconclusive", f"{hero} is not there at the largest N on some seeds"
    if early:
        return "inconclusive", f"{hero} is there at the smallest N already on some seeds: no exponent"
    if not rivals:
        return "inconclusive", "no kernel to compare with"
    unclear = [f"k/2 = {half:g}"] if value.most >= half else []
    unclear += [name for name, rival in rivals.items() if rival.least <= value.most]
    if unclear:
        return "inconclusive", f"intervals do not decide against {', '.join(unclear)}"
    return "supported", f"below k/2 = {half:g} and below all {len(rivals)} kernels that have one"


def _three(found: Exponent) -> tuple[float | None, float | None, float | None]:
    """As shown; nothing if it may be anything."""
    if numpy.isinf(found.least) and numpy.isinf(found.most):
        return None, None, None
    return found.shown.mean, found.shown.low, found.shown.high


def _plain(stars: pandas.DataFrame) -> dict[str, list[float | None]]:
    """By d, one a seed; JSON has no infinity: null is 'never'."""
    return {str(d): [float(v) if numpy.isfinite(v) else None for v in stars[d]] for d in stars}


def _from_spectrum(scores: pandas.DataFrame, kernels: list[str]) -> str:
    """Exponents between the two largest d of the N that the spectrum predicts for a kernel to be half there."""
    if "predicted_samples" not in scores:
        return ""
    found = []
    for name in kernels:
        needed = scores[scores.learner == name].groupby("d").predicted_samples.first()
        needed = needed[numpy.isfinite(needed)].tail(2)
        if len(needed) == 2:
            found.append(f"{name} {slope(needed.index, needed):.2g} (d = {needed.index[0]}..{needed.index[1]})")
    return ", ".join(found)
