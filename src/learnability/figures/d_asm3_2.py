"""Figure for D-asm3.2: the margin gamma by width for every data set, and its slopes with their intervals."""

from __future__ import annotations

from typing import Any

import numpy
import pandas
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from learnability.claims.d_asm3_2 import LIMIT, STRICT, Parameters, intervals, measured, slopes
from learnability.figures import lines, seeds, style

NAMES = {
    "random": "random labels",
    "halfspace": "halfspace",
    "clustered": "clustered",
    "colliding": "colliding pairs",
}
STYLES = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """Above: gamma by p, a panel a data set, a colour a depth, a line style an n. Below: all slopes."""
    rows = measured(scores, given)
    figure = pyplot.figure(figsize=(2 * style.COLUMN, 4.4), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[1.15, 1])
    panels = above.subplots(1, len(given.data), sharey=True, squeeze=False)[0]
    depths, sizes = sorted(rows.L.unique()), sorted(rows.N.unique())
    for i, (panel, name) in enumerate(zip(panels, given.data, strict=True)):
        _by_width(panel, rows[rows.learner == name], depths, sizes, given.least_p)
        panel.set(title=f"{lines.roman(i)} {NAMES.get(name, name)}", xlabel="width $p$")
    panels[0].set_ylabel(r"margin $\gamma$")
    for panel in panels if len(rows) else ():
        lines.ticks_at(panel.xaxis, rows.d, apart=0.08)
    lines.log_ticks(panels[0].yaxis, most=7)
    slope = below.subplots()
    _slopes(slope, rows[rows.d >= given.least_p], given.data, depths, sizes)
    slope.set_title(rf"{lines.roman(len(panels))} slope of $\log\gamma$ on $\log p$, $p \geq {given.least_p}$")
    handles = [_plain(seeds.colour(i), 1.5, f"$L = {depth:g}$") for i, depth in enumerate(depths)]
    handles += [_size(i, f"$n = {n:g}$") for i, n in enumerate(sizes)]
    handles += [_plain("0.4", 0.4, "single seeds"), _plain("0.9", 6, "not judged")]
    if (rows.margin_gamma <= 0).any():
        handles.append(Line2D([], [], color="black", linestyle="none", marker="X", markersize=5, label="margin 0"))
    above.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, handlelength=2.4)
    return figure


def _plain(colour: Any, width: float, label: str) -> Line2D:
    return Line2D([], [], color=colour, linewidth=width, label=label)


def _size(index: int, label: str) -> Line2D:
    look = {"markerfacecolor": "black" if index == 0 else "white", "linestyle": STYLES[index % 4]}
    return Line2D([], [], color="black", marker="o", markersize=3.5, linewidth=1, label=label, **look)


def _by_width(panel: pyplot.Axes, rows: pandas.DataFrame, depths: list, sizes: list, least: int) -> None:
    """Geometric means over starts and seeds, and thin lines for seeds; widths that are not judged lie on grey, and
    a cross on the axis marks those where some start has margin 0.
    """
    panel.set(xscale="log", yscale="log")
    for (depth, size), mine in rows[rows.margin_gamma > 0].groupby(["L", "N"]):
        logs = mine.assign(log=numpy.log(mine.margin_gamma)).pivot_table(index="seed", columns="d", values="log")
        colour, which = seeds.colour(depths.index(depth)), sizes.index(size)
        p = logs.columns.to_numpy(dtype=float)
        panel.plot(p, numpy.exp(logs.to_numpy().T), color=colour, linewidth=0.4, alpha=0.35)
        look = {"markerfacecolor": colour if which == 0 else "white", "linestyle": STYLES[which % 4]}
        panel.plot(p, numpy.exp(logs.mean()), "o", color=colour, markersize=3.5, linewidth=1.1, **look)
    none = rows[rows.margin_gamma <= 0].d.unique().astype(float)
    if len(none):  # without points a line that is not clipped has no extent, and the layout fails
        where = {"transform": panel.get_xaxis_transform(), "clip_on": False}
        panel.plot(none, numpy.zeros(len(none)), "X", color="black", markersize=5, **where)
    if len(rows) and rows.d.min() < least:
        left, right = panel.get_xlim()
        panel.axvspan(left, least / 2**0.5, color="0.93", linewidth=0, zorder=0)
        panel.set_xlim(left, right)


def _slopes(panel: pyplot.Axes, rows: pandas.DataFrame, data: list[str], depths: list, sizes: list) -> None:
    """A group a data set; means with the judge's intervals, or single seeds where there are none."""
    found = slopes(rows)
    known, step = intervals(found), 0.8 / max(1, len(depths) * len(sizes))
    for setting, values in found.items():
        name, depth, size = setting
        place, which = depths.index(depth) * len(sizes) + sizes.index(size), sizes.index(size)
        x = data.index(name) + step * (place - (len(depths) * len(sizes) - 1) / 2)
        colour = seeds.colour(depths.index(depth))
        panel.plot(numpy.full(len(values), x), values, ".", color=colour, markersize=2.5, alpha=0.5)
        if setting in known:
            one = known[setting]
            bars = [[one.mean - one.low], [one.high - one.mean]]
            face = colour if which == 0 else "white"
            look = {"color": colour, "markerfacecolor": face, "markersize": 4, "elinewidth": 1.1, "capsize": 2}
            panel.errorbar([x], [one.mean], yerr=bars, fmt="o", **look)
    panel.axhline(0, color="0.4", linewidth=0.6)
    for level, look, words in (
        (LIMIT, {"linestyle": lines.DASHES}, r"$-\frac{1}{2}$: the text after it needs a slope above"),
        (STRICT, {"linestyle": seeds.DOTTED}, r"$-\frac{1}{8}$: the proof of Theorem 3.3 needs a slope above"),
    ):
        panel.axhline(level, color="black", linewidth=0.9, **look)
        panel.annotate(words, (-0.53, level), (0, -2), textcoords="offset points", va="top", fontsize=7)
    bottom, top = panel.get_ylim()
    panel.set(xlim=(-0.55, len(data) - 0.45), ylim=(min(bottom, LIMIT - 0.2), max(top, 0.15)), ylabel="slope")
    panel.set_xticks(range(len(data)), [NAMES.get(name, name) for name in data])
    panel.grid(axis="x", visible=False)
