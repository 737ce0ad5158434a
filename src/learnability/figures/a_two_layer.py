"""Figure for A-two-layer: test error of two-layer polynomial networks by width, against the DenseNet's."""

from __future__ import annotations

import numpy
import pandas
from matplotlib.figure import Figure

from learnability.claims.a_two_layer import Parameters, barred, tables
from learnability.figures import seeds


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """One panel an experiment: Theorems I.6 and I.7."""
    found = tables(scores, given)
    figure, panels = seeds.panels(max(1, len(found)))
    for panel, (name, (hero, table)) in zip(panels, found.items(), strict=False):
        seeds.curve(panel, table, "two layers", 0)
        if len(hero):
            seeds.threshold(panel, float(10 ** numpy.log10(hero).mean()), given.hero)
        panel.axvline(barred(float(scores.d.iloc[0]), given.depth), color="black", linewidth=0.9,
                      linestyle=(0, (1, 1)), label="$(d/p)^p$ of Lemma I.5")  # fmt: skip
        panel.set(xlabel="width", ylabel=r"test error / $\mathrm{Var}(G^*)$", title=name)
    seeds.legends(*panels)
    return figure
