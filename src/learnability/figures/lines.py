"""What the figures share: how a method looks, a mean with its interval over an axis, ticks, reference lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy
import pandas
import seaborn
from matplotlib import pyplot
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from learnability.claims.stats import Interval, bootstrap_mean
from learnability.claims.tables import by_seed, largest
from learnability.figures import style
from learnability.theory.paper_b import composite_threshold

Look = dict[str, Any]

# Told apart without colour: the marker is the network, the line is what trains.
MARKERS = {"3resnet": "o", "3layer": "s", "2layer": "^"}
LINES = {"": "-", "last": (0, (4, 1.5)), "ntk": (0, (1, 1.2)), "kernel": (0, (6, 1.5, 1, 1.5))}
LABELS = {"": "", "last": " (last)", "ntk": " (NTK)"}
FACES = {"": None, "last": "white", "ntk": "0.75"}

# A kernel has a marker of its own; its line is that of the network whose limit it is, if it is one's.
KERNELS = {
    "gaussian": ("D", "kernel"),
    "arcsin": ("X", "kernel"),
    "recursive": ("P", "kernel"),
    "random-features": ("*", "last"),
    "conjugate": ("v", "last"),
    "tangent": (">", "ntk"),
    "residual-tangent": ("p", "ntk"),
}
SPARE = ("h", "<", "d", "8", "H")

PALE = 8  # yellow in the palette: a line of it is lost on white paper
DASHES = "-."  # of reference lines, which have no marker


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Name -> marker, line, colours and label; the same for a name in every figure."""
    colours = [*seaborn.color_palette(n_colors=len(MARKERS) + len(KERNELS))]
    colours[PALE] = (0.38, 0.1, 0.5)
    unknown = [name for name in names if name.partition("-")[0] not in MARKERS and name not in KERNELS]
    found = {}
    for name in names:
        network, _, how = name.partition("-")
        if network in MARKERS and how in LABELS:
            place, marker, line, face = [*MARKERS].index(network), MARKERS[network], LINES[how], FACES[how]
            label = f"{network}{LABELS[how]}"
        elif name in KERNELS:
            place = len(MARKERS) + [*KERNELS].index(name)
            marker, line, face, label = KERNELS[name][0], LINES[KERNELS[name][1]], None, name
        else:
            marker = SPARE[unknown.index(name) % len(SPARE)] if name in unknown else MARKERS[network]
            place, line, face, label = None, LINES["kernel"], None, name
        colour = "0.35" if place is None else colours[place]
        found[name] = {"marker": marker, "linestyle": line, "color": colour, "label": label}
        found[name] |= {"markerfacecolor": colour if face is None else face}
    return found


def first_family(scores: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of the claim's own experiment, not of those joined to it, that share the first one's k and alpha."""
    same = [scores[column] == scores[column].iloc[0] for column in ("experiment", "k", "alpha")]
    return scores[same[0] & same[1] & same[2]]


def mean_line(panel: pyplot.Axes, table: pandas.DataFrame, look: Look) -> dict[float, Interval]:
    """Mean over seeds (rows) at each value of the axis (columns), with its 95% band; NaNs are left out.

    One value alone is a point without a band. Nothing is drawn, and no entry made, without values.
    """
    found = {}
    for x in table.columns:
        values = table[x].dropna().to_numpy(dtype=float)
        if len(values):
            mean = float(values.mean())
            found[x] = bootstrap_mean(values) if len(values) > 1 else Interval(mean, mean, mean, 1)
    if found:
        x, low, high = [*found], [i.low for i in found.values()], [i.high for i in found.values()]
        mean = [i.mean for i in found.values()]
        panel.plot(x, mean, **({"linewidth": 1.1, "markersize": 4, "markeredgewidth": 0.8} | look))
        panel.fill_between(x, low, high, color=look["color"], alpha=0.15, linewidth=0)
    return found


def reference(panel: pyplot.Axes, level: float, short: str, label: str, **look: Any) -> None:
    """A horizontal line, named in the margin to the right and explained in the legend."""
    panel.axhline(level, **({"color": "black", "linewidth": 0.9, "linestyle": DASHES} | look), label=label)
    margin(panel, level, short)


def margin(panel: pyplot.Axes, level: float, text: str) -> None:
    """Text right of the panel at a height."""
    where = {"xycoords": ("axes fraction", "data"), "xytext": (2.5, 0), "textcoords": "offset points"}
    panel.annotate(text, (1, level), **where, va="center", ha="left", fontsize=7, annotation_clip=False)


def on_level(panel: pyplot.Axes, level: float, interval: Interval, look: Look, label: str) -> None:
    """Where a curve crosses a level: a star with the interval of that place, on the level's line."""
    bars = [[interval.mean - interval.low], [interval.high - interval.mean]]
    star = {"marker": "*", "markersize": 8, "markeredgecolor": "black", "markeredgewidth": 0.6, "capsize": 2.5}
    panel.errorbar(
        [interval.mean], [level], xerr=bars, color=look["color"], ecolor="black", elinewidth=1, linestyle="none",
        label=label, zorder=5, **star,
    )  # fmt: skip


def roman(number: int) -> str:
    """(i), (ii), (iii), (iv): the panels' names."""
    return f"({('i', 'ii', 'iii', 'iv', 'v', 'vi')[number]})"


def plain(value: float) -> str:
    """A number of a tick: 0.05, 500, 20k; a power of ten where that is shorter."""
    if 10_000 <= value < 1e6:
        return f"{value / 1000:g}k"
    if 0 < value < 1e-3 or value >= 1e6:
        exponent = int(numpy.floor(numpy.log10(value) + 1e-9))
        digit = f"{value / 10.0**exponent:.3g}"
        return f"$10^{{{exponent}}}$" if digit == "1" else rf"${digit}\cdot 10^{{{exponent}}}$"
    return f"{value:g}"


def log_ticks(axis: Axis, most: int = 9, end: float = numpy.inf) -> None:
    """1-2-5 ticks as plain numbers on a log axis up to ``end``; more if it is short, powers of ten if long."""
    low, high = sorted(axis.get_view_interval())
    if low <= 0:  # nothing is drawn there yet
        return
    high = min(high, end)
    first, last = int(numpy.floor(numpy.log10(low))), int(numpy.ceil(numpy.log10(high)))

    def inside(digits: Sequence[float], every: int = 1) -> list[float]:
        wanted = [a * 10.0**e for e in range(first, last + 1) if e % every == 0 for a in digits]
        return [v for v in wanted if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]

    found = inside((1, 2, 5))
    if len(found) < 3:
        found = inside((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9))
    for digits, every in (((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((1,), 2), ((1,), 3), ((1,), 5)):
        if len(found) > most:
            found = inside(digits, every)
    axis.set_ticks(found, [plain(v) for v in found])
    axis.set_ticks([], minor=True)


def ticks_at(axis: Axis, values: Iterable[float], apart: float = 0.055) -> None:
    """A tick at every value of a log axis; a label where it is ``apart`` of the axis from the last one."""
    values = sorted(v for v in set(values) if v > 0)
    low, high = numpy.log([min([*axis.get_view_interval(), *values]), max([*axis.get_view_interval(), *values])])
    labels, last = [], -numpy.inf
    for value in values:
        room = (numpy.log(value) - last) / (high - low) >= apart * max(1, len(plain(value)) / 2)
        labels.append(plain(value) if room else "")
        last = numpy.log(value) if room else last
    axis.set_ticks(values, labels)
    axis.set_ticks([], minor=True)


def legend(figure: Figure, panels: Sequence[pyplot.Axes], place: str = "right center", **more: Any) -> None:
    """One legend outside of all panels, an entry for each label."""
    entries = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    chosen = {"frameon": False, "handlelength": 3.2, "title_fontsize": 7, "alignment": "left"} | more
    figure.legend(entries.values(), entries.keys(), loc=f"outside {place}", **chosen)


def error_and_signal(
    scores: pandas.DataFrame, names: Sequence[str], axis: str, xlabel: str
) -> tuple[Figure, pyplot.Axes, pyplot.Axes]:
    """Figure 2's two panels over ``axis`` (log): test error, and cG, of each seed's picked replica.

    Along another axis than m a method is shown at its largest width, as it is judged.
    """
    figure, (error, signal) = pyplot.subplots(1, 2, figsize=(2 * style.COLUMN, 3.1), layout="constrained")
    alpha, noise, k = (scores[column].iloc[0] for column in ("alpha", "noise", "k"))
    scores = scores[scores[axis] > 0]
    scores = scores if axis == "m" else largest(scores, "m")
    said = _widths(scores, names) if axis != "m" else {}
    for name, look in looks(names).items():
        rows = scores[scores.learner == name]
        look = look | {"label": look["label"] + said.get(name, "")}
        for panel, column in ((error, "test_error"), (signal, "test_cG")):
            if rows.picked.any():
                mean_line(panel, by_seed(rows, axis, column), look)
    floor = r"k(\alpha^2+\sigma^2)" if noise else r"k\alpha^2"
    threshold = composite_threshold(k, alpha, noise)
    base = r"\beta F" if axis == "beta" else "F"
    reference(error, threshold, f"${floor}$", f"(i) ${floor} = {threshold:.2g}$:\n${base}$ alone")
    reference(signal, alpha, r"$\alpha$", rf"(ii) $\alpha = {alpha:g}$: all of $G(F)$")
    signal.axhline(0, color="0.4", linewidth=0.6)
    error.set(yscale="log", ylabel=r"test error $\mathbb{E}\,\|\mathrm{out}-y\|^2$", title="(i) test error")
    signal.set(ylabel=r"recovered signal $c_G = \mathbb{E}[\mathrm{out}\cdot G(F)]/k$")
    signal.set_title("(ii) how much of $G(F)$ is learned")
    for panel in (error, signal):
        panel.set(xscale="log", xlabel=xlabel)
        ticks_at(panel.xaxis, scores[scores.learner.isin(names)][axis])
    log_ticks(error.yaxis)
    return figure, error, signal


def _widths(scores: pandas.DataFrame, names: Sequence[str]) -> dict[str, str]:
    """Name -> ', m=100' for methods that are not as wide as the first one."""
    widths = scores.groupby("learner").m.max()
    first = widths.get(names[0])
    return {name: f", m={m:.0f}" for name, m in widths.items() if name in names and m != first and m == m}
