"""Figure for A-thm4: error rates by the number of samples, with layer 2 alone and at the end."""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from learnability.claims.a_thm4 import BEFORE, Parameters, rates
from learnability.figures import seeds


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """Rates of wrong signs over N."""
    figure, (panel,) = seeds.panels(1)
    for i, (column, label) in enumerate(((BEFORE, "layer 2 alone"), ("test_error", "all layers"))):
        if column in scores:
            seeds.curve(panel, rates(scores, given.hero, column), label, i)
    seeds.threshold(panel, given.epsilon, rf"$\varepsilon = {given.epsilon:g}$")
    panel.set(xlabel="training samples $N$", ylabel=r"rate of $Y\neq\mathrm{sgn}(x_0+F)$")
    panel.set_title("classification by cross entropy")
    seeds.legends(panel)
    return figure
