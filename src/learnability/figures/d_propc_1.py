"""Figure for D-propC.1: the margin of clustered data by p and by n, beside random labels and the proof's."""

from __future__ import annotations

import numpy
import pandas
from matplotlib import pyplot
from matplotlib.figure import Figure

from learnability.claims.d_propc_1 import MARGINS, Parameters, by_event, measured, starts
from learnability.figures import lines, seeds
from learnability.theory.paper_d import CLUSTERED_MARGIN, CLUSTERED_MARGIN_LIMIT

SHOWN = (
    ("margin_gamma", r"$\gamma$, exact"),
    ("margin_proof", "the proof's $W^*$"),
    ("margin_proof_bound", "the proof's bound on it"),
)
FLOOR = 0.012  # the lower edge: what lies below, as the proof's bound may at small p, is drawn on it


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """(i) by p at the largest n, (ii) by n at the largest p; starts where the event (c) failed are left out."""
    figure, (left, right) = seeds.panels(2, 3.3, sharey=True)
    asked = starts(scores, given)
    (rows, out), other = by_event(asked[0]), measured(asked[1], MARGINS)
    for panel, axis, fixed in ((left, "d", "N"), (right, "N", "d")):
        panel.set(xscale="log", yscale="log")
        for i, (column, label) in enumerate(SHOWN):
            _curve(panel, _table(rows, axis, fixed, column), label, i)
        _curve(panel, _table(other, axis, fixed, "margin_gamma"), r"$\gamma$, random labels", 3)
    _guide(right, _table(other, "N", "d", "margin_gamma"))
    for panel in (left, right):
        seeds.threshold(panel, CLUSTERED_MARGIN, "$c = 1/32$, from (a) and (b)")
        limit = {"color": "0.35", "linewidth": 0.9, "linestyle": seeds.DOTTED}
        panel.axhline(CLUSTERED_MARGIN_LIMIT, label=r"the bound as $p\to\infty$", **limit)
        panel.set_ylim(FLOOR, 1.0)
    p, n = (f"{name} = {rows[axis].max():g}" if len(rows) else name for axis, name in (("d", "p"), ("N", "n")))
    left.set(xlabel="width $p$", ylabel=r"margin$\,/\,\sqrt{p}$", title=f"(i) ${n}$")
    right.set(xlabel="samples $n$", title=f"(ii) ${p}$")
    right.plot([], [], color="0.4", linewidth=0.5, label="single seeds")
    lines.log_ticks(left.yaxis, most=7)
    title = f"medians over seeds; the event (c) holds on {len(rows)} of {len(rows) + len(out)} starts"
    lines.legend(figure, [left, right], "lower center", ncols=4, title=title)
    return figure


def _table(rows: pandas.DataFrame, axis: str, fixed: str, column: str) -> pandas.DataFrame:
    """Seeds x values of an axis where the other one is largest: means over the starts of a seed."""
    mine = rows[rows[fixed] == rows[fixed].max()]
    return mine.pivot_table(index="seed", columns=axis, values=column)


def _curve(panel: pyplot.Axes, table: pandas.DataFrame, label: str, index: int) -> None:
    """Seeds (rows), thin, and their median, over an axis (columns)."""
    if table.empty:
        return
    x, colour = table.columns.to_numpy(dtype=float), seeds.colour(index)
    for _, row in table.clip(lower=FLOOR).iterrows():
        panel.plot(x, row, color=colour, linewidth=0.5, alpha=0.5)
    look = {"marker": "osD^"[index], "markersize": 4, "linewidth": 1.2}
    panel.plot(x, table.median().clip(lower=FLOOR), color=colour, label=label, **look)
    lines.ticks_at(panel.xaxis, x, apart=0.045)


def _guide(panel: pyplot.Axes, table: pandas.DataFrame) -> None:
    """n^-1/2, a little below the control's first point."""
    if not table.empty:
        n = table.columns.to_numpy(dtype=float)
        level = float(table.median().iloc[0]) * numpy.sqrt(n[0] / n) / 1.15
        panel.plot(n, level, color="0.4", linewidth=0.8, linestyle=(0, (3, 2)), label=r"$\propto n^{-1/2}$")
