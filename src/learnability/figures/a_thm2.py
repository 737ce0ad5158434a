"""Figure for A-thm2: feature error of layer 2 before and after layer 3 trains, by alpha, beside the control."""

from __future__ import annotations

import numpy
import pandas
from matplotlib.figure import Figure

from learnability.claims.a_thm2 import BEFORE, Parameters, own, picked, reference_alpha
from learnability.figures import seeds


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """(i) f_2 by alpha at the release of layer 3 and at the end; (ii) the same with the control, at one alpha."""
    ours = own(scores)
    mine = ours[(ours.learner == given.hero) & ours.picked]
    figure, (left, right) = seeds.panels(2)
    labels = {BEFORE: "layer 3 released", "test_f2": "at the end"}
    for i, (column, label) in enumerate(labels.items()):
        if column in mine and len(mine):
            seeds.curve(left, mine.pivot_table(index="seed", columns="alpha", values=column), label, i)
    alphas = numpy.sort(mine.alpha.unique())
    if len(alphas):
        left.plot(alphas, alphas**2, color="black", linewidth=0.9, linestyle=":", label=r"$\alpha_3^2$")
    left.set(xlabel=r"$\alpha_3/\alpha_2$", ylabel=r"feature error $f_2$", title="(i) by the information gap")
    alpha = reference_alpha(ours, given)
    groups = {}
    for name in (given.hero, given.control):
        rows = picked(ours, name, alpha=alpha)
        for column, when in ((BEFORE, "before"), ("test_f2", "after")):
            groups[f"{name}, {when}"] = rows[column] if column in rows else pandas.Series(dtype=float)
    seeds.dots(right, groups)
    right.set(ylabel=r"feature error $f_2$", title=rf"(ii) at $\alpha_3 = {alpha:g}$: corrected, and frozen")
    seeds.legends(left)
    return figure
