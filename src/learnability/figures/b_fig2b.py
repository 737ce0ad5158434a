"""Figure for B-fig2b: test error and recovered composite signal of nine methods by the number of samples."""

from __future__ import annotations

import numpy
import pandas
from matplotlib.figure import Figure

from learnability.claims.b_fig2b import Parameters, needed
from learnability.claims.stats import Interval, bootstrap_mean
from learnability.figures import lines
from learnability.theory.paper_b import composite_threshold


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """Two panels over N (log axis), mean over seeds with 95% bands; a star where the hero's N* is read off."""
    names = [given.hero, *[name for name in given.methods if name != given.hero]]
    figure, error, signal = lines.error_and_signal(scores, names, "N", "training samples $N$")
    level = composite_threshold(*(scores[column].iloc[0] for column in ("k", "alpha", "noise")))
    star, sign, where = _star(scores, given.hero, level)
    if star:
        look = lines.looks([given.hero])[given.hero]
        lines.on_level(error, level, star, look, rf"$N^*$ of {given.hero} ${sign} {star.mean:.0f}${where}")
    widths = scores[scores.learner == given.hero].m.dropna()
    lines.legend(figure, (error, signal), title=f"$m = {widths.max():.0f}$ unless said" if len(widths) else None)
    return figure


def _star(scores: pandas.DataFrame, hero: str, level: float) -> tuple[Interval | None, str, str]:
    """N* averaged over the seeds that get there as the judge does, on a log scale; a sign; which seeds, if not all.

    None where no seed gets there: then there is no place to show.
    """
    mine = scores[scores.learner == hero]
    stars = needed(scores, hero, level) if mine.picked.any() else pandas.Series(dtype=float)
    there = stars[numpy.isfinite(stars)]
    if there.empty:
        return None, "", ""
    logs = numpy.log(there)
    found = bootstrap_mean(logs) if len(logs) > 1 else Interval(*[float(logs.iloc[0])] * 3, 1)
    where = "" if len(there) == len(stars) else f"\non {len(there)} of {len(stars)} seeds"
    sign = r"\leq" if (there <= mine.N.min()).any() else r"\approx"
    return Interval(*(float(numpy.exp(v)) for v in (found.mean, found.low, found.high)), found.n), sign, where
