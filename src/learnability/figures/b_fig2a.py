"""Figure for B-fig2a: test error and recovered composite signal of nine methods by width."""

from __future__ import annotations

from typing import Any

import numpy
import pandas
import seaborn
from matplotlib import pyplot
from matplotlib.figure import Figure

from learnability.claims.b_fig2a import Parameters
from learnability.claims.stats import bootstrap_mean
from learnability.figures import style
from learnability.theory.paper_b import composite_threshold

# Told apart without colour: the marker is the network, the line is what trains.
MARKERS = {"3resnet": "o", "3layer": "s", "2layer": "^"}
LINES = {"": "-", "last": (0, (4, 1.5)), "ntk": (0, (1, 1.2))}
LABELS = {"": "", "last": " (last)", "ntk": " (NTK)"}


def draw(scores: pandas.DataFrame, given: Parameters, teacher: dict[str, Any]) -> Figure:
    """Two panels over width m (log axis): mean over seeds with 95% bands, all nine methods."""
    picks = scores[scores.picked]
    figure, panels = pyplot.subplots(1, 2, figsize=(2 * style.COLUMN, 3.1), layout="constrained")
    colours = dict(zip(MARKERS, seaborn.color_palette(n_colors=len(MARKERS)), strict=True))
    threshold = composite_threshold(teacher["k"], teacher["alpha"], teacher.get("noise", 0.0))
    for name in given.methods:
        network, _, how = name.partition("-")
        rows = picks[picks.learner == name]
        look = {
            "marker": MARKERS.get(network, "D"),
            "linestyle": LINES.get(how, "-"),
            "color": colours.get(network, "0.3"),
            "markerfacecolor": {"": None, "last": "white", "ntk": "0.75"}.get(how),
            "label": f"{network}{LABELS.get(how, how)}",
        }
        for panel, column in zip(panels, ("test_error", "test_cG"), strict=True):
            _line(panel, rows, column, look)
    error, signal = panels
    error.axhline(threshold, color="black", linewidth=0.9, linestyle="-.")
    left, right = picks.m.min(), picks.m.max()
    floor = r"k(\alpha^2+\sigma^2)" if teacher.get("noise") else r"k\alpha^2"
    error.annotate(
        f"${floor} = {threshold:.2f}$: $F$ alone",
        (right, threshold),
        xytext=(0, -3),
        textcoords="offset points",
        va="top",
        ha="right",
        fontsize=6.5,
    )
    error.set(yscale="log", ylabel=r"test error $\mathbb{E}\,\|\mathrm{out}-y\|^2$")
    error.set_title("(i) test error")
    signal.axhline(teacher["alpha"], color="black", linewidth=0.9, linestyle="-.")
    signal.annotate(
        rf"$\alpha = {teacher['alpha']:g}$: all of it",
        (left, teacher["alpha"]),
        xytext=(0, -3),
        textcoords="offset points",
        va="top",
        fontsize=6.5,
    )
    signal.axhline(0, color="0.4", linewidth=0.6)
    signal.set(ylabel=r"recovered signal $c_G = \mathbb{E}[\mathrm{out}\cdot G(F)]/k$")
    signal.set_title("(ii) how much of $G(F)$ is learned")
    widths = sorted(picks.m.unique())
    for panel in panels:
        panel.set(xscale="log", xlabel="width $m$")
        panel.set_xticks(widths, [str(m) for m in widths])
        panel.minorticks_off()
    error.set_yticks(*_ticks(error.get_ylim()))
    handles, labels = error.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, handlelength=3.2)
    return figure


def _ticks(limits: tuple[float, float]) -> tuple[list[float], list[str]]:
    """1-2-5 ticks as plain numbers within the limits of a log axis."""
    wanted = [a * 10.0**e for e in range(-4, 4) for a in (1, 2, 5)]
    inside = [v for v in wanted if limits[0] <= v <= limits[1]]
    return inside, [f"{v:g}" for v in inside]


def _line(panel: pyplot.Axes, rows: pandas.DataFrame, column: str, look: dict[str, Any]) -> None:
    """Mean and interval of ``column`` over seeds at each width."""
    widths, intervals = [], []
    for m, group in rows.groupby("m"):
        values = group[column].dropna()
        if len(values) >= 2:
            widths.append(m)
            intervals.append(bootstrap_mean(values.to_numpy()))
    mean = numpy.array([i.mean for i in intervals])
    panel.plot(widths, mean, linewidth=1.1, markersize=4, markeredgewidth=0.8, **look)
    low, high = ([getattr(i, side) for i in intervals] for side in ("low", "high"))
    panel.fill_between(widths, low, high, color=look["color"], alpha=0.15, linewidth=0)
