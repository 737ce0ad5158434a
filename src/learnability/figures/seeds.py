"""Pieces that figures of paper A's theory share: one dot a seed, lines over an axis, thresholds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy
import pandas
import seaborn
from matplotlib import pyplot
from matplotlib.figure import Figure

from learnability.figures import lines, style


def panels(count: int, height: float = 3.0) -> tuple[Figure, list[pyplot.Axes]]:
    """A row of panels, a column wide each."""
    size = (count * style.COLUMN, height)
    figure, axes = pyplot.subplots(1, count, figsize=size, layout="constrained", squeeze=False)
    return figure, list(axes[0])


def dots(panel: pyplot.Axes, groups: Mapping[str, pandas.Series]) -> None:
    """One dot a seed and a bar at the geometric mean, a column a group, on a log axis."""
    colours = seaborn.color_palette(n_colors=max(1, len(groups)))
    for i, (_name, values) in enumerate(groups.items()):
        values = values.dropna().clip(lower=1e-18)
        if len(values):
            shift = numpy.linspace(-0.2, 0.2, len(values)) if len(values) > 1 else [0.0]
            panel.plot(i + numpy.asarray(shift), values, "o", color=colours[i], markersize=3.5)
            middle = 10 ** numpy.log10(values).mean()
            panel.plot([i - 0.32, i + 0.32], [middle, middle], color=colours[i], linewidth=1.5)
    panel.set(yscale="log", xlim=(-0.6, max(1, len(groups)) - 0.4))
    panel.set_xticks(range(len(groups)), groups, rotation=30, ha="right")
    panel.grid(axis="x", visible=False)


def curve(panel: pyplot.Axes, table: pandas.DataFrame, label: str, index: int) -> None:
    """Seeds (rows) over an axis (columns): thin lines, and the geometric mean with markers."""
    colour = seaborn.color_palette(n_colors=10)[index % 10]
    table = table.where(table > 0)
    if table.dropna(how="all").empty:
        return
    for _, row in table.iterrows():
        panel.plot(table.columns, row, color=colour, linewidth=0.5, alpha=0.5)
    middle = 10 ** numpy.log10(table).mean()
    panel.plot(table.columns, middle, color=colour, marker="osD^vPX*hd"[index % 10], markersize=4, label=label)
    panel.set(xscale="log", yscale="log")
    lines.ticks_at(panel.xaxis, [float(value) for value in table.columns])


def threshold(panel: pyplot.Axes, level: float, label: str) -> None:
    """A dashed horizontal line."""
    panel.axhline(level, color="black", linewidth=0.9, linestyle=lines.DASHES, label=label)


def legends(*axes: pyplot.Axes) -> None:
    """A legend in each panel that has labels."""
    for panel in axes:
        if panel.get_legend_handles_labels()[0]:
            panel.legend(loc="best")
