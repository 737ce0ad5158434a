"""Figure for D-thm3.1: the loss on its way against the bound, slack by depth, decay, and what lies beyond."""

from __future__ import annotations

import numpy
import pandas
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from learnability.claims.d_thm3_1 import Parameters, slack
from learnability.figures import lines, seeds, style
from learnability.figures.descent import empty, finite, powers, ways
from learnability.theory import paper_d

CURVES = ("hero",)
NAMES = {"huber": "Huberized ReLU", "swish": "scaled Swish"}
LN10 = numpy.log(10)


def draw(scores: pandas.DataFrame, given: Parameters, curves: pandas.DataFrame) -> Figure:
    """(i) J_t and its bound over t; (ii) the least ratio by L; (iii) exponents; (iv) larger alpha and h."""
    figure, axes = pyplot.subplots(2, 2, figsize=(2 * style.COLUMN, 5.0), layout="constrained")
    rows = scores[scores.learner.isin(given.methods)]
    rows = rows[rows.train_lost == 0] if "train_lost" in rows else rows[:0]
    descents(axes[0, 0], ways(curves, rows[rows.learner == given.hero], "path"), rows)
    ratios(axes[0, 1], rows, given)
    exponents(axes[1, 0], rows, given)
    further(axes[1, 1], scores, given)
    return figure


def descents(panel: pyplot.Axes, way: pandas.DataFrame, rows: pandas.DataFrame) -> None:
    """One instance of each depth, of the first size: log10 J_t over log10 t, the bound dashed, 1/Q a dot."""
    panel.set(xlabel="step $t$", ylabel="loss $J_t$", title="(i) the loss and its bound")
    if way.empty:
        return empty(panel, "no curves")
    sizes = way[["d", "N"]].drop_duplicates().iloc[0]
    way = way[(way.d == sizes.d) & (way.N == sizes.N) & (way.seed == way.seed.min())]
    for i, (depth, one) in enumerate(way.groupby("L")):
        first = one.iloc[0]
        t = numpy.r_[0.0, one.log10_t]
        panel.plot(
            t, numpy.r_[first.start_log10_loss, one.log10_loss], color=seeds.colour(i), label=f"$L = {depth:.0f}$"
        )
        grid = numpy.linspace(0.01, one.log10_t.max(), 200)
        elapsed = grid * LN10 + numpy.log(-numpy.expm1(-grid * LN10))
        bound = paper_d.log_bound(first.start_log10_loss * LN10, first.start_log10_q * LN10, elapsed) / LN10
        panel.plot(grid, bound, color=seeds.colour(i), linestyle=lines.DASHES, linewidth=0.9)
        panel.plot([-first.start_log10_q], [first.start_log10_loss], "o", color=seeds.colour(i), markersize=3)
    handles, labels = panel.get_legend_handles_labels()
    handles += [Line2D([], [], color="0.3", linestyle=lines.DASHES, linewidth=0.9)]
    handles += [Line2D([], [], color="0.3", marker="o", linestyle="none", markersize=3)]
    low, high = panel.get_ylim()
    panel.set_ylim(low, high + 0.4 * (high - low))  # room for the legend
    panel.legend(handles, [*labels, "bound", r"$t = 1/\tilde{Q}$"], loc="upper right", framealpha=0.9, ncols=3)
    powers(panel.xaxis)
    powers(panel.yaxis)


def ratios(panel: pyplot.Axes, rows: pandas.DataFrame, given: Parameters) -> None:
    """A dot for every instance, by depth and activation."""
    panel.set(xlabel="hidden layers $L$", title="(ii) least ratio, one dot an instance")
    panel.set_ylabel(r"$(J_1/J_t - 1)/(\tilde{Q}(t-1))$")
    depths = sorted(rows.L.unique())
    for i, name in enumerate(given.methods):
        mine = rows[rows.learner == name]
        if not len(mine) or "least_I1" not in mine:
            continue
        side = (i - (len(given.methods) - 1) / 2) * 0.3
        shift = numpy.tile(numpy.linspace(-0.1, 0.1, 5), len(mine))[: len(mine)]
        look = {"color": seeds.colour(i), "markersize": 3, "label": NAMES.get(name, name)}
        panel.plot(mine.L + side + shift, 10 ** finite(slack(mine)), "osD^"[i % 4], **look)
    panel.set(yscale="log")
    panel.set_xticks(depths, [f"{depth:.0f}" for depth in depths])
    seeds.threshold(panel, 1.0, "the bound")
    lines.log_ticks(panel.yaxis)
    panel.legend(loc="upper left", framealpha=0.9)


def exponents(panel: pyplot.Axes, rows: pandas.DataFrame, given: Parameters) -> None:
    """How fast J_t falls, on the second half of the way: measured, and what (7)(i) proves."""
    panel.set(
        xlabel="hidden layers $L$", ylabel=r"$-d\log J_t / d\log t$", title="(iii) decay, second half of the way"
    )
    if "end_exponent" not in rows or not rows.end_exponent.notna().any():
        return empty(panel, "no curves")
    for i, name in enumerate(given.methods):
        mine = rows[rows.learner == name]
        look = {"color": seeds.colour(i), "markersize": 3, "label": NAMES.get(name, name)}
        panel.plot(mine.L + (i - 0.5) * 0.2, mine.end_exponent, "osD^"[i % 4], **look)
    look = {"color": "black", "marker": "_", "markersize": 12, "linestyle": "none"}
    panel.plot(rows.L, rows.end_proof_exponent, **look, label=r"$1/(t\,\log^{2-2/L}t)$, proved at (7)")
    panel.axhline(1.0, color="black", linewidth=0.9, linestyle=lines.DASHES, label="$1/t$, stated")
    panel.set_xticks(sorted(rows.L.unique()), [f"{depth:.0f}" for depth in sorted(rows.L.unique())])
    low, high = panel.get_ylim()
    panel.set_ylim(low - 0.7 * (high - low), high)  # room for the legend
    panel.legend(loc="lower center", framealpha=0.9)


def further(panel: pyplot.Axes, scores: pandas.DataFrame, given: Parameters) -> None:
    """The worst seed's least ratio where alpha, or h, is larger than the theorem allows."""
    panel.set(xlabel=r"$\alpha/\alpha_{\max}$, or $h/h_{\max}$", title="(iv) beyond the hypotheses")
    panel.set_ylabel("least ratio, worst seed")
    for name in given.beyond:
        mine = scores[(scores.learner == name) & (scores.get("train_lost", 0) == 0)]
        if not len(mine):
            continue
        by_alpha = mine.given_alpha_times.nunique() > 1
        axis, symbol = ("given_alpha_times", r"$\alpha$") if by_alpha else ("given_h_times", "$h$")
        values = mine.assign(
            slack=finite(numpy.fmin(mine.steps_I1, mine.get("least_I1", mine.steps_I1).fillna(numpy.inf)), -6)
        )
        for i, (depth, one) in enumerate(values.groupby("L")):
            worst = one.groupby(axis).slack.min()
            label = rf"{symbol}, $L = {depth:.0f}$"
            look = {"color": seeds.colour(i), "linestyle": "-" if by_alpha else (0, (2, 1.5)), "linewidth": 1.0}
            panel.plot(
                numpy.log10(worst.index),
                worst,
                marker="o" if by_alpha else "s",
                markersize=2.5,
                **look,
                label=label,
            )
    if panel.lines:
        panel.axhline(0.0, color="black", linewidth=0.9, linestyle=lines.DASHES)
        panel.set_ylim(-14, None)  # room for the legend
        panel.legend(loc="lower left", framealpha=0.9, ncols=2)
    powers(panel.xaxis)
    powers(panel.yaxis)
