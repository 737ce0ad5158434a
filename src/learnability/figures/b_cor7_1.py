"""Figure for B-cor7.1: the samples that a risk level takes, by dimension, with the exponents fitted to them."""

from __future__ import annotations

import numpy
import pandas
from matplotlib import pyplot
from matplotlib.figure import Figure

from learnability.claims.b_cor7_1 import Parameters, exponent, samples_needed
from learnability.figures import lines, style

DODGE = 0.013  # of log d, between kernels, whose seeds would lie on one another
ROW = 1.13  # between the rows of arrows


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """N* by d on log-log axes: seeds faint, means over seeds on top; beyond the grid, a row of arrows a method."""
    scores = lines.first_family(scores)
    k, alpha = int(scores.k.iloc[0]), float(scores.alpha.iloc[0])
    levels = dict.fromkeys([given.hero, *given.others], k * alpha**4)
    levels |= dict.fromkeys(given.kernels, k * alpha**2 / 2)
    levels = {name: level for name, level in levels.items() if scores[scores.learner == name].picked.any()}
    used = scores[scores.learner.isin(levels)]
    figure, panel = pyplot.subplots(figsize=(1.7 * style.COLUMN, 3.6), layout="constrained")
    panel.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel="samples $N^*$ that the risk level takes")
    looks = lines.looks(levels)
    kernels = [name for name in levels if name in given.kernels]
    stars = {name: samples_needed(scores, name, level) for name, level in levels.items()}
    late = [name for name in levels if numpy.isinf(stars[name]).any(axis=None)]
    for name in levels:
        place = kernels.index(name) - (len(kernels) - 1) / 2 if name in kernels else 0
        shown = stars[name]
        if name in kernels:  # a d at which no seed gets there says nothing of the slope
            shown = shown.loc[:, numpy.isfinite(shown).any()]
        said = f"{looks[name]['label']}: {_exponent(scores, name, levels[name], shown)}"
        most = used[used.learner == name].N.max()
        _method(panel, shown, most, looks[name] | {"label": said}, float(numpy.exp(DODGE * place)))
    for row, name in enumerate(late):
        _late(panel, stars[name], used.N.max() * ROW ** (row + 1), looks[name])
    if levels:
        _early(panel, stars, used)
        _guides(panel, used, stars.get(given.hero), k)
        _strip(panel, used.N.max(), len(late))
        lines.ticks_at(panel.xaxis, used.d)
        lines.log_ticks(panel.yaxis, end=used.N.max())
    title = rf"risk $k\alpha^4 = {k * alpha**4:.2g}$ for networks,"
    title += "\n" + rf"$k\alpha^2/2 = {k * alpha**2 / 2:.2g}$ for kernels; $N^* \propto d^p$"
    lines.legend(figure, [panel], title=title)
    return figure


def centre(stars: pandas.DataFrame, largest: float) -> pandas.Series:
    """Geometric mean of N* over seeds at each d, never counted as ``largest``: what ``exponent`` fits."""
    return numpy.exp(numpy.log(stars.clip(upper=largest)).mean())


def _exponent(scores: pandas.DataFrame, name: str, level: float, stars: pandas.DataFrame) -> str:
    """The judge's exponent with the least and the most that it may be; or why there is none."""
    if not numpy.isfinite(stars).any(axis=None):
        return "never"
    if len(stars.columns) < 2 or len(stars) < 2:
        return "one seed" if len(stars) < 2 else f"$d = {stars.columns[0]:g}$ only"
    found = exponent(scores, name, level, list(stars.columns))
    if numpy.isinf([found.least, found.most]).all():
        return "$p$ not known"
    low = f"[{found.least:.2f}" if numpy.isfinite(found.least) else r"(-\infty"
    high = f"{found.most:.2f}]" if numpy.isfinite(found.most) else r"\infty)"
    return f"$p = {found.shown.mean:.2f}$ ${low},\\,{high}$"


def _method(panel: pyplot.Axes, stars: pandas.DataFrame, largest: float, look: lines.Look, shift: float) -> None:
    """Seeds, faint, and their mean."""
    there = numpy.isfinite(stars)
    faint = {"marker": look["marker"], "color": look["color"], "markersize": 3, "alpha": 0.35}
    for d in stars.columns:
        values = stars[d][there[d]]
        panel.plot([d * shift] * len(values), values, linestyle="none", markeredgewidth=0, **faint)
    shown = centre(stars, largest) if there.any(axis=None) else pandas.Series(dtype=float)
    panel.plot(shown.index * shift, shown, **look | {"markersize": 5})


def _early(panel: pyplot.Axes, stars: dict[str, pandas.DataFrame], used: pandas.DataFrame) -> None:
    """Arrows down where a seed is there at the smallest N already: its N* is that or less."""
    smallest = used.groupby("learner").N.min()
    found = {
        (d, smallest[name]) for name, table in stars.items() for d in table if (table[d] <= smallest[name]).any()
    }
    if found:
        look = {"marker": r"$\downarrow$", "color": "black", "markersize": 7, "linestyle": "none"}
        d, n = zip(*sorted(found), strict=True)
        panel.plot(d, numpy.array(n) / ROW, label="some seed there at\nthe smallest $N$ already", **look)


def _late(panel: pyplot.Axes, stars: pandas.DataFrame, row: float, look: lines.Look) -> None:
    """Arrows up where a seed is not there at the largest N; open markers where some other seed is."""
    never = numpy.isinf(stars)
    for d in never.columns[never.any()]:
        face = look["color"] if never[d].all() else "white"
        mark = {"marker": look["marker"], "markerfacecolor": face, "markeredgewidth": 0.7}
        same = {"color": look["color"], "markersize": 4.5, "linestyle": "none"}
        panel.plot([d * 0.985], [row], **same | mark)
        panel.plot([d * 1.025], [row], marker=r"$\uparrow$", **same)


def _strip(panel: pyplot.Axes, largest: float, rows: int) -> None:
    """The grey strip above the largest N that holds the arrows."""
    if rows:
        left, right = panel.get_xlim()
        top = largest * ROW ** (rows + 0.8)
        label = f"not there at $N = {lines.plain(largest)}$\n(open: on some seeds)"
        panel.axhspan(largest * ROW**0.4, top, color="0.92", linewidth=0, zorder=0, label=label)
        panel.set(xlim=(left, right), ylim=(panel.get_ylim()[0], top))


def _guides(panel: pyplot.Axes, used: pandas.DataFrame, hero: pandas.DataFrame | None, k: int) -> None:
    """Slope k/2 as N = d^(k/2), up to which Theorem 2 speaks (no constant, no logs); slope 1 through the hero."""
    bottom, top = panel.get_ylim()
    d = numpy.array([used.d.min() / 1.1, used.d.max() * 1.1])
    black = {"color": "black", "linewidth": 0.9, "zorder": 1}
    panel.plot(d, d ** (k / 2), linestyle=lines.DASHES, label=f"$N = d^{{{k / 2:g}}}$ (slope $k/2$)", **black)
    if hero is not None and numpy.isfinite(hero).any(axis=None):
        means = centre(hero, used.N.max()).dropna()
        factor = float(numpy.exp(numpy.log(means / means.index.to_numpy(dtype=float)).mean()))
        panel.plot(d, factor * d, linestyle=(0, (1, 1)), label=f"$N = {factor:.2g}\\,d$ (slope 1)", **black)
    panel.set_ylim(bottom, top)
