"""Figure for D-lemmas: how loose every inequality of the proof is along the way, by depth."""

from __future__ import annotations

import numpy
import pandas
from matplotlib import pyplot
from matplotlib.figure import Figure

from learnability.claims.d_lemmas import LEMMAS, Parameters
from learnability.figures import lines, seeds, style
from learnability.figures.descent import empty, ways

CURVES = ("hero",)
MARKERS = "osD^vP*"


def draw(scores: pandas.DataFrame, given: Parameters, curves: pandas.DataFrame) -> Figure:
    """A panel for each depth: the median instance's log10(greater side / lesser side) over s = log(J_1 / J_t)."""
    rows = scores[scores.learner == given.hero]
    rows = rows[rows.train_lost == 0] if "train_lost" in rows else rows[:0]
    way = ways(curves, rows, "path")
    depths = sorted(way.L.unique())[:4] or [0]
    columns = min(2, len(depths))
    height = -(-len(depths) // columns)
    size = (2 * style.COLUMN, 0.6 + 2.1 * height)
    figure, axes = pyplot.subplots(height, columns, figsize=size, layout="constrained", sharex=True, squeeze=False)
    for i, (panel, depth) in enumerate(zip(axes.flat, depths, strict=False)):
        looseness(panel, way[depth == way.L])
        panel.set(title=f"{lines.roman(i)} $L = {depth:.0f}$" if depth else "no curves")
    for panel in axes.flat[len(depths) :]:
        panel.set_visible(False)
    for panel in axes[:, 0]:
        panel.set_ylabel("greater / lesser side")
    for panel in axes[-1]:
        panel.set_xlabel(r"fall of the loss, $s = \log(J_1/J_t)$")
    if axes[0, 0].get_legend_handles_labels()[0]:
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def looseness(panel: pyplot.Axes, way: pandas.DataFrame) -> None:
    """One line an inequality; the dashed line is where it would fail."""
    if way.empty:
        return empty(panel, "no curves")
    for i, (name, text) in enumerate(LEMMAS.items()):
        if name not in way:
            continue
        middle = way.dropna(subset=[name]).groupby("epoch").agg({"fallen": "median", name: "median"})
        every = max(1, len(middle) // 8)
        look = {
            "color": seeds.colour(i),
            "marker": MARKERS[i],
            "markersize": 3,
            "markevery": every,
            "linewidth": 1.0,
        }
        panel.plot(middle.fallen, numpy.maximum(middle[name], -5), **look, label=text)
    panel.axhline(0.0, color="black", linewidth=0.9, linestyle=lines.DASHES, label="fails below")
    panel.set_yscale("symlog", linthresh=1.0)
    low, high = panel.dataLim.intervaly
    panel.set_ylim(min(-0.15, 1.2 * low), 1.6 * high)
    ticks = [tick for tick in (0, 0.3, 1, 3, 10, 30) if tick <= panel.get_ylim()[1]]
    panel.set_yticks(ticks, [f"{10**tick:.0f}" if tick < 2 else rf"$10^{{{tick}}}$" for tick in ticks])
    panel.minorticks_off()
