"""B-fig2b: the three-layer ResNet needs the fewest samples (paper B, Figure 2(b)).

N* of a method is the least N from which on its test error stays at or below k alpha^2, the error of learning F
alone, read off each seed's curve on log-log axes, with hyper-parameters picked on validation at each N. Of every
rival the ratio N*(rival) / N*(hero) is taken seed by seed. Where a rival never gets there, its N* is at least the
largest N that it was given, and that is what enters: the ratio is then a lower bound. A method that is there at its
smallest N may need fewer still. Each method counts at its largest width.

Supported: the interval of every rival's mean log ratio lies above 0, each N* taken at the end of what is known
that favours the rival. Contradicted: some rival's lies below 0 at the other end, at a level that allows for the
number of rivals (Bonferroni), or the hero never gets there on any seed. Anything else, too few seeds, or a seed on
which all of the hero's replicas diverged: inconclusive.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy
import pandas
from pydantic import Field, model_validator

from learnability.claims import Judgement
from learnability.claims.stats import Interval, bootstrap_mean, clear_mean
from learnability.claims.tables import bounds, by_seed, crossing, grid_ends, largest
from learnability.schema.base import Strict, wrong
from learnability.theory.paper_b import composite_threshold

ID = "B-fig2b"
PAPER = "B"
STATEMENT = "Of nine methods 3resnet needs the fewest samples to learn the composite part alpha G(F)"
AXES = {"m", "N"}
UNIT = "samples that the closest rival needs / samples that 3resnet needs, to reach k alpha^2"


class Parameters(Strict):
    """What ``claims.B-fig2b`` in the experiment file may hold."""

    hero: str = "3resnet"
    methods: Annotated[list[str], Field(min_length=2)]
    min_seeds: Annotated[int, Field(ge=5)] = 5

    @model_validator(mode="after")
    def _hero_competes(self) -> Parameters:
        if self.hero not in self.methods:
            raise wrong(("hero",), f"must be one of methods; allowed: {', '.join(self.methods)}, got {self.hero}")
        return self


def needed(scores: pandas.DataFrame, name: str, level: float) -> pandas.Series:
    """N* of each seed, inf where the level is never reached, NaN where nothing finished."""
    table = by_seed(largest(scores[scores.learner == name], "m"), "N", "test_error")
    found = pandas.Series({seed: crossing(row.index, row, level) for seed, row in table.iterrows()}, dtype=float)
    return found.where(table.notna().any(axis=1))


def known(scores: pandas.DataFrame, name: str, level: float) -> pandas.DataFrame:
    """Seeds x (low, high): what is known of log N*; infinite where the curve does not cross."""
    table = by_seed(largest(scores[scores.learner == name], "m"), "N", "test_error").dropna(how="all")
    found = {seed: bounds(row.index, row, level) for seed, row in table.iterrows()}
    with numpy.errstate(divide="ignore"):  # log 0 = -inf is meant
        return numpy.log(pandas.DataFrame.from_dict(found, orient="index", columns=["low", "high"], dtype=float))


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text. ``scores`` has a row per learner x point x replica."""
    level = composite_threshold(*scores.iloc[0][["k", "alpha", "noise"]])
    stars = {name: needed(scores, name, level) for name in given.methods if name in set(scores.learner)}
    details = {"N*": {name: _plain(star) for name, star in stars.items()}}
    if missing := [name for name in given.methods if name not in stars]:
        note = f"not run: {', '.join(missing)}"
        return Judgement("inconclusive", None, None, None, 1.0, 0, note, details)
    hero, ranges = stars[given.hero], {name: known(scores, name, level) for name in given.methods}
    ratios = {name: _ratios(ranges[name], ranges[given.hero]) for name in given.methods if name != given.hero}
    seeds = min(len(values) for values in ratios.values())
    if seeds < max(2, given.min_seeds):
        note = f"{seeds} seeds with all methods finished, {given.min_seeds} needed"
        return Judgement("inconclusive", None, None, None, 1.0, seeds, note, details)
    intervals = {name: bootstrap_mean(values["shown"]) for name, values in ratios.items()}
    details["ratio"] = {name: _factors(interval) for name, interval in intervals.items()}
    closest = min(intervals, key=lambda name: intervals[name].mean)
    never = [name for name, star in stars.items() if numpy.isinf(star.dropna()).all()]
    verdict, reason = _decide(hero, intervals, ratios, given)
    value = _factors(intervals[closest])
    said = [reason, f"closest rival {closest}"]
    there = hero[numpy.isfinite(hero)]
    if len(there):
        where = "" if len(there) == len(hero) else f" on the {len(there)} seeds on which it gets there"
        said.append(f"{given.hero} needs about {numpy.exp(numpy.log(there).mean()):.0f}{where}")
    if never:
        said.append(f"never there up to their largest N (ratio is a bound): {', '.join(never)}")
    widths = scores[scores.learner.isin(given.methods)].groupby("learner").m.max()
    if other := [f"{name} {m:.0f}" for name, m in widths.items() if m == m and m != widths[given.hero]]:
        said.append(f"width {widths[given.hero]:.0f}, but {', '.join(other)}")
    judged = largest(scores[scores.learner.isin(given.methods)], "m")
    if ends := sorted({end.split()[0] for end in grid_ends(judged, "N")}):
        said.append(f"most seeds picked the end of a grid somewhere: {', '.join(ends)}")
    return Judgement(verdict, *value, 1.0, seeds, "; ".join(said), details)


def _ratios(rival: pandas.DataFrame, hero: pandas.DataFrame) -> pandas.DataFrame:
    """log N*(rival) / N*(hero) of each seed that both finished: as shown, and the least and most that it may be."""
    rival, hero = rival.align(hero, join="inner", axis=0)
    ends = [
        frame.low.where(numpy.isfinite(frame.low), frame.high) for frame in (rival, hero)
    ]  # N*, or the end of N
    return pandas.DataFrame(
        {"shown": ends[0] - ends[1], "low": rival.low - hero.high, "high": rival.high - hero.low}
    )


def _decide(
    hero: pandas.Series,
    intervals: dict[str, Interval],
    ratios: dict[str, pandas.DataFrame],
    given: Parameters,
) -> tuple[str, str]:
    there = numpy.isfinite(hero)
    if not there.any():
        return "contradicted", f"{given.hero} never gets there"
    beaten = [
        name
        for name, values in ratios.items()
        if numpy.isfinite(values.high).all() and clear_mean(values.high, len(intervals)).high < 0
    ]
    if beaten:
        return "contradicted", f"{', '.join(beaten)} needs fewer"
    if not there.all():
        return "inconclusive", f"{given.hero} gets there on {int(there.sum())} of {len(hero)} seeds"
    early = [name for name, values in ratios.items() if numpy.isneginf(values.low).any()]
    if early:
        return "inconclusive", f"there at their smallest N already, may need fewer: {', '.join(early)}"
    unclear = [f"{n} {_text(intervals[n])}" for n, values in ratios.items() if bootstrap_mean(values.low).low <= 0]
    if unclear:
        return "inconclusive", f"intervals do not decide: {'; '.join(unclear)}"
    return "supported", f"all {len(intervals)} rivals need more"


def _factors(interval: Interval) -> tuple[float, float, float]:
    """A mean of logarithms as a ratio with its interval."""
    return tuple(float(numpy.exp(v)) for v in (interval.mean, interval.low, interval.high))


def _text(interval: Interval) -> str:
    mean, low, high = _factors(interval)
    return f"{mean:.2g} [{low:.2g}, {high:.2g}]"


def _plain(star: pandas.Series) -> list[Any]:
    """JSON has no infinity: null is 'never'."""
    return [float(v) if numpy.isfinite(v) else None for v in star]
