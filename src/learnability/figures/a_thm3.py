"""Figure for A-thm3: test error against OPT, by the number of samples."""

from __future__ import annotations

import numpy
import pandas
from matplotlib.figure import Figure

from learnability.claims.a_thm3 import Parameters, tables
from learnability.figures import seeds


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """(i) error over OPT; (ii) error / OPT: 1 + gamma is the line not to be crossed."""
    figure, (left, right) = seeds.panels(2)
    levels: set[float] = set()
    for i, (n, table) in enumerate(tables(scores, given.hero).items()):
        noisy = table[[opt for opt in table if opt > 0]]
        levels |= set(noisy.columns)
        seeds.curve(left, noisy, f"$N = {n:,}$".replace(",", r"\,"), i)
        seeds.curve(right, noisy / numpy.asarray(noisy.columns), f"$N = {n:,}$".replace(",", r"\,"), i)
    opt = numpy.sort([*levels])
    left.plot(opt, opt, color="black", linewidth=0.9, linestyle=":", label=r"$\mathrm{OPT}$")
    seeds.threshold(right, 1 + given.gamma, rf"$1+\gamma = {1 + given.gamma:g}$")
    right.set_yscale("linear")
    for panel in (left, right):
        panel.set_xlabel(r"$\mathrm{OPT}$, variance of the label noise")
    left.set(ylabel=r"test $\mathbb{E}(F-Y)^2$", yscale="log", title="(i) error")
    right.set(ylabel=r"test $\mathbb{E}(F-Y)^2/\mathrm{OPT}$", title="(ii) what noise costs")
    seeds.finish(left, right, seeds=True)
    return figure
