"""Pieces that figures of paper A's theory share: one dot a seed, lines over an axis, thresholds, names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
import pandas
import seaborn
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from learnability.figures import lines, style

NAMES = {
    "algorithm1": "Algorithm 1",
    "layerwise": "layer-wise",
    "frozen": "features frozen",
    "together": "all together",
    "densenet": "DenseNet",
    "two-layer": "two layers",
    "polynomial": "polynomial kernel",
    "gaussian": "Gaussian kernel",
    "tangent": "tangent kernel",
    "conjugate": "conjugate kernel",
    "features": "random features",
}
ERROR = r"$\mathbb{E}(G^*-F)^2/\mathrm{Var}(G^*)$"
LEAST = 1e-18  # where a zero lies that has no positive number beside it
FOOT = 0.3  # of the least positive number: where an exact zero lies on a log axis
ZERO = {"marker": "v", "markerfacecolor": "white", "linestyle": "none", "markersize": 4, "markeredgewidth": 0.7}
DOTTED = (0, (1, 1))


def name(learner: str) -> str:
    """What a reader calls a learner of the config."""
    return NAMES.get(learner, learner)


def colour(index: int) -> Any:
    """The palette's, without its pale yellow."""
    return [c for i, c in enumerate(seaborn.color_palette(n_colors=10)) if i != lines.PALE][index % 9]


def panels(count: int, height: float = 2.7, width: float | None = None, **more: Any) -> tuple[Figure, list]:
    """A row of panels, a column wide each; no wider than a page."""
    size = (width or min(2, count) * style.COLUMN, height)
    figure, axes = pyplot.subplots(1, count, figsize=size, layout="constrained", squeeze=False, **more)
    return figure, list(axes[0])


def own(scores: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of the claim's own experiment, the first; none without rows."""
    return scores[scores.experiment == scores.experiment.iloc[0]] if len(scores) else scores


def by_seed(rows: pandas.DataFrame, axis: str, column: str) -> pandas.DataFrame:
    """Seeds x values of the axis of the picked replicas; empty without the column."""
    rows = rows[rows.picked.astype(bool)]
    return rows.pivot_table(index="seed", columns=axis, values=column) if column in rows else pandas.DataFrame()


def floored(values: pandas.Series | pandas.DataFrame, least: float | None = None) -> Any:
    """The same with exact zeros just below all others, at ``FOOT`` of the ``least`` positive number."""
    least = _least(values) if least is None else least
    return values.mask(values <= 0, FOOT * least)


def _least(*groups: pandas.Series | pandas.DataFrame) -> float:
    """The least positive number of all."""
    every = numpy.concatenate([numpy.zeros(0), *[values.to_numpy(dtype=float).ravel() for values in groups]])
    return float(every[every > 0].min()) if (every > 0).any() else LEAST


def middle(values: pandas.Series | pandas.DataFrame) -> Any:
    """Geometric mean over seeds. A zero, which would make it zero, counts as :func:`floored` has it: a bound from
    above.
    """
    return 10 ** numpy.log10(floored(values)).mean()


def dots(panel: pyplot.Axes, groups: Mapping[str, pandas.Series], look: Mapping[str, Any] | None = None) -> None:
    """One dot a seed and a bar at the geometric mean, a column a group, on a log axis; zeros are open triangles."""
    least = _least(*groups.values())
    for i, values in enumerate(groups.values()):
        values = values.dropna()
        zero, values = (values <= 0).to_numpy(), floored(values, least)
        if len(values):
            shift = numpy.linspace(-0.2, 0.2, len(values)) if len(values) > 1 else numpy.zeros(1)
            panel.plot(i + shift, values, "o", **({"color": colour(i), "markersize": 3.5} | dict(look or {})))
            panel.plot((i + shift)[zero], values[zero], color=colour(i), **ZERO)
            if not look:
                bar = middle(values)
                panel.plot([i - 0.32, i + 0.32], [bar, bar], color=colour(i), linewidth=1.5)
    panel.set(yscale="log", xlim=(-0.6, max(1, len(groups)) - 0.4))
    panel.set_xticks(range(len(groups)), groups)
    panel.grid(axis="x", visible=False)


def curve(panel: pyplot.Axes, table: pandas.DataFrame, label: str, index: int, shift: float = 1.0) -> None:
    """Seeds (rows) over an axis (columns): thin lines, and the geometric mean with markers.

    With one value of the axis seeds are small dots, and zeros are open triangles at the foot. ``shift`` multiplies
    the axis, to keep markers apart.
    """
    table = table.dropna(axis=1, how="all")
    if table.empty:
        return
    zeros, table = table <= 0, floored(table)
    locator = panel.xaxis.get_major_locator()
    ticks = {*(locator.locs if isinstance(locator, FixedLocator) else ()), *(float(x) for x in table.columns)}
    x = shift * table.columns.to_numpy(dtype=float)
    marker = {"marker": ".", "markersize": 3} if len(x) == 1 else {}
    for seed, row in table.iterrows():
        panel.plot(x, row, color=colour(index), linewidth=0.5, alpha=0.5, **marker)
        zero = zeros.loc[seed].to_numpy()
        panel.plot(x[zero], row[zero], color=colour(index), **ZERO)
    look = {"marker": "osD^vPX*h"[index % 9], "markersize": 4, "linewidth": 1.2}
    panel.plot(x, middle(table), color=colour(index), label=label, **look)
    panel.set(xscale="log", yscale="log")
    lines.ticks_at(panel.xaxis, ticks, apart=0.045)


def threshold(panel: pyplot.Axes, level: float, label: str) -> None:
    """A dashed horizontal line, after all data; without any, limits found from a power of ten would be equal."""
    if not numpy.isfinite(panel.dataLim.intervaly).all():
        panel.set_ylim(level / 10, level * 10)
    panel.axhline(level, color="black", linewidth=0.9, linestyle=lines.DASHES, label=label)


def finish(*axes: pyplot.Axes, seeds: bool = False, **more: Any) -> None:
    """Last touch: few and plain ticks on log axes, a legend in each panel that has labels.

    ``seeds`` says in the first legend what the thin lines are.
    """
    for panel in axes:
        if panel.get_yscale() == "log":
            lines.log_ticks(panel.yaxis)
        handles, labels = panel.get_legend_handles_labels()
        if seeds and panel is axes[0] and handles:
            handles, labels = [*handles, Line2D([], [], color="0.4", linewidth=0.5)], [*labels, "single seeds"]
        if handles:
            panel.legend(handles, labels, **({"loc": "best", "framealpha": 0.9, "handlelength": 2.4} | more))
