"""Figure for D-thm3.3: the way from random starts, steps to the threshold, and which conditions hold at which p."""

from __future__ import annotations

import numpy
import pandas
from matplotlib import pyplot
from matplotlib.figure import Figure

from learnability.claims.d_thm3_3 import Parameters, outcomes
from learnability.figures import lines, seeds, style
from learnability.figures.descent import empty, powers, ways

CURVES = ("hero",)
SYMBOLS = {
    "h": r"$h_{\max}/h_{\mathrm{NT}}$ in phase 2",
    "norm": r"$\sqrt{6pL}/\|V^{(T+1)}\|$",
    "ball": r"$\tau\,/$ distance moved",
    "tau": r"limit on $\tau$ (Lemma D.8) $/\tau$",
}


def draw(scores: pandas.DataFrame, given: Parameters, curves: pandas.DataFrame) -> Figure:
    """(i) phase 1 over its steps; (ii) steps to the threshold by p; (iii) phase 2; (iv) conditions of the proof."""
    figure, axes = pyplot.subplots(2, 2, figsize=(2 * style.COLUMN, 5.0), layout="constrained")
    rows = scores[scores.learner.isin(given.methods)].reset_index(drop=True)
    hero = rows[rows.learner == given.hero]
    first_phase(axes[0, 0], ways(curves, hero, "phase1") if "phase1_reached" in rows else hero[:0])
    steps(axes[0, 1], rows)
    second_phase(axes[1, 0], rows)
    conditions(axes[1, 1], rows)
    return figure


def first_phase(panel: pyplot.Axes, way: pandas.DataFrame) -> None:
    """log10 J over log10 t, the first seed at every p."""
    panel.set(xlabel=r"step $t$ of size $\alpha_{\mathrm{NT}}$", ylabel="loss $J_t$", title="(i) phase 1")
    if way.empty or not way.log10_t.notna().any():
        return empty(panel, "no curves")
    for i, (p, one) in enumerate(way[way.seed == way.seed.min()].groupby("d")):
        panel.plot(one.log10_t, one.log10_loss, color=seeds.colour(i), linewidth=1.0, label=f"$p = {p:.0f}$")
    n, depth = way.N.iloc[0], way.L.iloc[0]
    panel.axhline(-(1 + 24 * depth) * numpy.log10(n), color="black", linewidth=0.9, linestyle=lines.DASHES)
    panel.legend(
        title=rf"$L = {depth:.0f}$; dashed: $n^{{-(1+24L)}}$", loc="lower left", framealpha=0.9, title_fontsize=7
    )
    powers(panel.xaxis)
    powers(panel.yaxis)


def steps(panel: pyplot.Axes, rows: pandas.DataFrame) -> None:
    """Steps to the threshold against T and n^(2+24L), by p."""
    panel.set(xlabel="width $p$", ylabel="steps", title=r"(ii) steps to $J < n^{-(1+24L)}$")
    if "phase1_log10_t" not in rows or rows.empty:
        return empty(panel, "nothing was run")
    for i, (depth, mine) in enumerate(rows.groupby("L")):
        for column, marker, text in (
            ("phase1_log10_t", "o", "measured"),
            ("phase1_log10_T", "v", "$T$"),
        ):
            table = mine.groupby("d")[column].mean()
            look = {"color": seeds.colour(i), "marker": marker, "markersize": 3.5, "linewidth": 1.0}
            panel.plot(table.index, table, **look, label=f"$L = {depth:.0f}$, {text}")
        level = (2 + 24 * depth) * numpy.log10(mine.N.iloc[0])
        panel.axhline(level, color=seeds.colour(i), linewidth=0.9, linestyle=lines.DASHES)
    panel.plot([], [], color="0.3", linewidth=0.9, linestyle=lines.DASHES, label="$n^{2+24L}$")
    panel.set_xscale("log")
    lines.ticks_at(panel.xaxis, sorted(rows.d.unique()), apart=0.08)
    powers(panel.yaxis)
    panel.set_ylim(panel.get_ylim()[0], panel.get_ylim()[1] + 0.5 * numpy.ptp(panel.get_ylim()))
    panel.legend(loc="upper center", framealpha=0.9, ncols=2, columnspacing=1.0)


def second_phase(panel: pyplot.Axes, rows: pandas.DataFrame) -> None:
    """Least ratio of bound to loss in phase 2, by p: Theorem 3.3's rate and Theorem 3.1's bound."""
    panel.set(xlabel="width $p$", ylabel="bound / loss, least", title="(iii) phase 2")
    if "least2_rate" not in rows or not rows.least2_rate.notna().any():
        return empty(panel, "no seed got there")
    for i, (depth, mine) in enumerate(rows.groupby("L")):
        for column, marker, text in (
            ("least2_rate", "o", "rate of Theorem 3.3"),
            ("least2_I1", "s", "Theorem 3.1"),
        ):
            table = mine.groupby("d")[column].mean()
            look = {"color": seeds.colour(i), "marker": marker, "markersize": 3.5, "linewidth": 1.0}
            look |= {"linestyle": "-" if marker == "o" else (0, (2, 1.5))}
            panel.plot(table.index, table, **look, label=f"$L = {depth:.0f}$, {text}")
    panel.axhline(0.0, color="black", linewidth=0.9, linestyle=lines.DASHES)
    panel.set_xscale("log")
    lines.ticks_at(panel.xaxis, sorted(rows.d.unique()), apart=0.08)
    panel.set_ylim(panel.get_ylim()[0], panel.get_ylim()[1] + 0.6 * numpy.ptp(panel.get_ylim()))
    powers(panel.yaxis)
    panel.legend(loc="upper left", framealpha=0.9)


def conditions(panel: pyplot.Axes, rows: pandas.DataFrame) -> None:
    """What the proof needs to be at least 1, by p: mean over seeds, L = 1 filled, deeper open."""
    panel.set(xlabel="width $p$", ylabel="allowed / measured", title="(iv) conditions of the proof")
    if "phase1_reached" not in rows or rows.empty:
        return empty(panel, "nothing was run")
    found = outcomes(rows).where(lambda table: table > 0)
    for j, (_, mine) in enumerate(rows.groupby("L")):
        for i, name in enumerate(SYMBOLS):
            table = numpy.log10(found.loc[mine.index, name]).groupby(mine.d).mean()
            look = {"color": seeds.colour(i), "marker": "osD^"[i], "markersize": 3.5, "linewidth": 1.0}
            look |= {"markerfacecolor": seeds.colour(i) if not j else "white", "linestyle": "-" if not j else ":"}
            panel.plot(table.index, table, **look, label="" if j else SYMBOLS[name])
    panel.axhline(0.0, color="black", linewidth=0.9, linestyle=lines.DASHES)
    panel.set_xscale("log")
    lines.ticks_at(panel.xaxis, sorted(rows.d.unique()), apart=0.08)
    panel.set_ylim(panel.get_ylim()[0] - 0.9 * numpy.ptp(panel.get_ylim()), panel.get_ylim()[1])
    powers(panel.yaxis)
    depths = sorted(rows.L.unique())
    title = f"$L = {depths[0]:.0f}$" + (f"; open: $L = {depths[-1]:.0f}$" if len(depths) > 1 else "")
    panel.legend(title=title, loc="lower center", framealpha=0.9, title_fontsize=7)
