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
    for i, (n, table) in enumerate(tables(scores, given.hero).items()):
        noisy = table[[opt for opt in table if opt > 0]]
        if noisy.empty:
            continue
        seeds.curve(left, noisy, f"$N = {n}$", i)
        seeds.curve(right, noisy / numpy.asarray(noisy.columns), f"$N = {n}$", i)
        left.plot(noisy.columns, noisy.columns, color="black", linewidth=0.9, linestyle=":")
    seeds.threshold(right, 1 + given.gamma, rf"$1+\gamma$, $\gamma = {given.gamma:g}$")
    right.set_yscale("linear")
    left.set(xlabel="OPT", ylabel=r"test $\mathbb{E}(F-Y)^2$", title="(i) dotted: error = OPT")
    right.set(xlabel="OPT", ylabel="test error / OPT", title="(ii) what noise costs")
    seeds.legends(left, right)
    return figure
