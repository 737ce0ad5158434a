"""Figure for B-fig2c: test error and recovered composite signal by the size beta of the base signal."""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from learnability.claims.b_fig2c import Parameters, stops
from learnability.claims.stats import Interval, bootstrap_mean
from learnability.figures import lines
from learnability.theory.paper_b import composite_threshold


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """Two panels over beta (log axis), mean over seeds with 95% bands; alpha / beta = 1 is the vertical line."""
    names = [given.hero, *[name for name in scores.learner.unique() if name != given.hero]]
    figure, error, signal = lines.error_and_signal(scores, names, "beta", r"size $\beta$ of the base signal $F$")
    alpha = float(scores.alpha.iloc[0])
    for panel in (error, signal):
        panel.axvline(alpha, color="black", linewidth=0.9, linestyle=(0, (1, 1)), label=r"$\alpha/\beta = 1$")
    level = composite_threshold(*(scores[column].iloc[0] for column in ("k", "alpha", "noise")))
    ratio = _tolerated(scores, given.hero, level, alpha)
    if ratio is not None:
        place = Interval(alpha / ratio.mean, alpha / ratio.high, alpha / max(ratio.low, 1e-9), ratio.n)
        most = scores.beta.max()
        place = Interval(min(place.mean, most), place.low, min(place.high, most), ratio.n)
        early = (stops(scores, given.hero, level) <= scores.beta[scores.beta > 0].min()).any()
        sign = r"\geq" if early else "="
        label = f"{given.hero} holds up\n" + rf"to $\alpha/\beta {sign} {ratio.mean:.2g}$"
        lines.on_level(error, level, place, lines.looks([given.hero])[given.hero], label)
    widths = scores[scores.learner == given.hero].m.dropna()
    where = [f"$N = {scores.N.iloc[0]:.0f}$"]
    where += [f"$m = {widths.max():.0f}$ unless said"] if len(widths) else []
    lines.legend(figure, (error, signal), title="\n".join(where))
    return figure


def _tolerated(scores: pandas.DataFrame, hero: str, level: float, alpha: float) -> Interval | None:
    """alpha / beta* as the judge averages it; None where no seed ever gets below the level."""
    if not scores[scores.learner == hero].picked.any():
        return None
    ratios = (alpha / stops(scores, hero, level)).dropna()
    if not (ratios > 0).any():
        return None
    return bootstrap_mean(ratios) if len(ratios) > 1 else Interval(*[float(ratios.iloc[0])] * 3, 1)
