"""Figure for A-thm4: error rates by the number of samples, with layer 2 alone and at the end."""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from learnability.claims.a_thm4 import BEFORE, Parameters
from learnability.figures import seeds


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """Rates of wrong signs over N."""
    figure, (panel,) = seeds.panels(1)
    mine = scores[scores.learner == given.hero]
    for i, (column, label) in enumerate(((BEFORE, "layer 2 alone"), ("test_error", "all layers"))):
        seeds.curve(panel, seeds.by_seed(mine, "N", column), label, i)
    seeds.threshold(panel, given.epsilon, rf"$\varepsilon = {given.epsilon:g}$")
    panel.set(xlabel="training samples $N$", ylabel=r"test rate of $Y\neq\mathrm{sgn}(x_0+F)$", yscale="log")
    panel.set_title("classification by cross entropy")
    seeds.finish(panel, seeds=True)
    return figure
