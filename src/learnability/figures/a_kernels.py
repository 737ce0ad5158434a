"""Figure for A-kernels: test risk by the number of samples, and of features."""

from __future__ import annotations

import numpy
import pandas
from matplotlib import pyplot
from matplotlib.figure import Figure

from learnability.claims.a_kernels import Parameters, energy
from learnability.figures import lines, seeds, style


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """(i) all risks over N; (ii) the kernels' alone; (iii) those of random features over their number."""
    figure, (left, zoom, right) = seeds.panels(3, 2.9, 2 * style.COLUMN)
    scores = scores.assign(risk=scores.test_error / scores.teacher_variance)
    names = [given.hero, *given.kernels]
    for i, name in enumerate(names):
        mine = scores[scores.learner == name]
        widest = mine[mine.m.isna() | (mine.m == mine.m.max())]
        table, label = seeds.by_seed(widest, "N", "risk"), seeds.name(name)
        shift = 1 if name == given.hero else 1.04 ** (i - (len(names) - 1) / 2)
        seeds.curve(left, table, label, i, shift)
        if name != given.hero:
            seeds.curve(zoom, table, label, i, shift)
        if mine.m.nunique() > 1:
            seeds.curve(right, seeds.by_seed(mine, "m", "risk"), label, i)
    if len(scores):
        level = float(seeds.middle(energy(scores, given) / scores.teacher_variance))
        seeds.threshold(left, level, "hidden parity alone")
    about = f", $d = {scores.d.iloc[0]:.0f}$" if len(scores) else ""
    left.set(xlabel="training samples $N$", yscale="log", title=f"(i) all{about}")
    left.set_ylabel(r"test risk$/\mathrm{Var}(G^*)$")
    zoom.set(xlabel="training samples $N$", title="(ii) kernels, enlarged")
    right.set(xlabel="number of features", title="(iii) random features")
    same_height(zoom, right)
    lines.log_ticks(left.yaxis, most=7)
    lines.legend(figure, [left], "lower center", ncols=4)
    return figure


def same_height(*panels: pyplot.Axes) -> None:
    """Linear axes with the same limits around 1, the risk of the constant that is best."""
    drawn = [numpy.asarray(line.get_ydata(), dtype=float) for panel in panels for line in panel.lines]
    values = numpy.concatenate([*drawn, [1.0]])
    low, high = numpy.nanmin(values), numpy.nanmax(values)
    for panel in panels:
        panel.axhline(1.0, color="0.4", linewidth=0.6)
        margin = 0.08 * (high - low) + 0.02
        panel.set(yscale="linear", ylim=(low - margin, high + margin))
