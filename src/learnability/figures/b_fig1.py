"""Figure for B-fig1: training and test error of every replica of SGD against its norm, and hand-made networks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import pandas
import seaborn
from matplotlib import pyplot
from matplotlib.figure import Figure

from learnability.claims.b_fig1 import Parameters, picked
from learnability.figures import lines, style

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """Errors by ||W||_F / sqrt(d), a point a replica: marker by m, colour by lr (dark is large), size by wd."""
    hand = scores[scores.learner == given.hero]
    mine = scores[(scores.learner != given.hero) & ~scores.diverged]
    figure, panels = pyplot.subplots(1, 2, figsize=(2 * style.COLUMN, 3.5), layout="constrained")
    looks = _Looks(mine)
    chosen = picked(scores, given.methods) if mine.learner.isin(given.methods).any() else mine.iloc[:0]
    for panel, column in zip(panels, ("train_final_error", "test_error"), strict=True):
        for (m, lr, wd), rows in mine.groupby(["m", "lr", "wd"]):
            look = {"marker": looks.markers[m], "color": looks.colours[lr], "markersize": looks.sizes[wd]}
            panel.plot(
                rows.train_norm_W, rows[column], linestyle="none", alpha=0.85, markeredgecolor="white",
                markeredgewidth=0.4, **look,
            )  # fmt: skip
        _ring(panel, chosen, column, given.methods)
        _by_hand(panel, hand, column)
        panel.set(xscale="log", yscale="log", xlabel=r"$\|W\|_F/\sqrt{d}$ (inputs of norm 1)")
        if not numpy.isfinite(scores[column]).any():  # an empty log axis has no limits
            panel.set(xlim=(1, 100), ylim=(0.01, 2))
    train, test = panels
    train.set(title="(i) training error", ylabel=r"training error, mean $|F(W;x)-y|^2$")
    test.set(title="(ii) test error", ylabel=r"test error $\mathbb{E}\,|F(W;x)-y|^2$")
    said = f"(ii) paper: no test error\nbelow {given.test_error:g}"
    lines.reference(test, given.test_error, f"{given.test_error:g}", said)
    _least(panels, hand)
    for panel in panels:
        lines.log_ticks(panel.xaxis, 6)
        lines.log_ticks(panel.yaxis)
    looks.entries(test)
    lost = int(scores.diverged.sum())
    lines.legend(figure, panels, handlelength=1.8, title=f"{lost} diverged replicas not drawn" if lost else None)
    return figure


class _Looks:
    """Markers of widths, colours of learning rates, sizes of decays, for the replicas there are."""

    def __init__(self, mine: pandas.DataFrame) -> None:
        widths, rates, decays = (sorted(mine[column].dropna().unique()) for column in ("m", "lr", "wd"))
        self.markers = {m: MARKERS[i % len(MARKERS)] for i, m in enumerate(widths)}
        palette = seaborn.color_palette("flare", n_colors=len(rates) + 1)  # its lightness falls all the way
        self.colours = dict(zip(rates, palette[:1] + palette[2:], strict=True)) if rates else {}
        self.sizes = dict(zip(decays, numpy.linspace(3.5, 8, max(len(decays), 1)), strict=False))

    def entries(self, panel: pyplot.Axes) -> None:
        """Empty lines that put each look into the legend; of long lists of sizes and colours some."""
        for m, marker in self.markers.items():
            panel.plot([], [], marker=marker, color="0.5", linestyle="none", markersize=5, label=f"$m = {m:.0f}$")
        for lr in _some(list(self.colours)):
            panel.plot([], [], color=self.colours[lr], linewidth=5, solid_capstyle="butt", label=f"lr {lr:g}")
        for wd in _some(list(self.sizes)):
            panel.plot(
                [], [], marker="o", color="0.5", linestyle="none", markersize=self.sizes[wd], label=f"wd {wd:g}"
            )


def _some(values: Sequence[float], most: int = 4) -> list[float]:
    """At most ``most`` of the values, both ends among them."""
    places = numpy.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int)
    return [values[i] for i in sorted(set(places))]


def _ring(panel: pyplot.Axes, chosen: pandas.DataFrame, column: str, methods: list[str]) -> None:
    """The replicas whose test error is judged: each seed's, picked on validation."""
    if len(chosen):
        ring = {"marker": "o", "markerfacecolor": "none", "markeredgecolor": "black", "markersize": 9.5}
        label = f"picked on validation\n({', '.join(methods)}; one a seed)"
        panel.plot(chosen.train_norm_W, chosen[column], linestyle="none", **ring, label=label)


def _by_hand(panel: pyplot.Axes, hand: pandas.DataFrame, column: str) -> None:
    """Stars at the hand-made networks' norms and errors."""
    if len(hand):
        star = {"marker": "*", "markersize": 9, "color": "gold", "markeredgecolor": "black", "markeredgewidth": 0.6}
        panel.plot(hand.train_norm_W, hand[column], linestyle="none", zorder=5, label="made by hand", **star)


def _least(panels: Sequence[pyplot.Axes], hand: pandas.DataFrame) -> None:
    """The least norm there is at a population error e, c (1 - sqrt e); c is read off the hand-made networks."""
    known = hand.dropna(subset=["least_norm_W", "wanted_error"]) if "least_norm_W" in hand else hand.iloc[:0]
    if known.empty:
        return
    constant = float((known.least_norm_W / (1 - numpy.sqrt(known.wanted_error))).iloc[0])
    errors = numpy.geomspace(1e-8, 1 - 1e-4, 800)
    for panel in panels:
        (left, right), (bottom, top) = panel.get_xlim(), panel.get_ylim()
        label = f"least norm at population\nerror $e$: ${constant:.2f}\\,(1-\\sqrt{{e}})$"
        panel.plot(constant * (1 - numpy.sqrt(errors)), errors, color="black", linewidth=1, label=label, zorder=1)
        panel.set(xlim=(left, right), ylim=(bottom, top))
