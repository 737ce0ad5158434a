"""Figure for A-toy: the largest wrong coefficient of layer 2, layer-wise against trained together, by alpha."""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from learnability.claims.a_toy import WRONG, Parameters
from learnability.figures import seeds


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """One panel an experiment (Section 6.1, and (1.2))."""
    names = list(scores.experiment.unique())
    figure, panels = seeds.panels(len(names))
    for panel, name in zip(panels, names, strict=True):
        rows = scores[(scores.experiment == name) & scores.picked]
        for i, method in enumerate((*given.methods, given.hero)):
            mine = rows[rows.learner == method]
            if len(mine) and WRONG in mine:
                table = mine.pivot_table(index="seed", columns="alpha", values=WRONG)
                seeds.curve(panel, table, method, i)
        panel.set(xlabel=r"$\alpha$", ylabel="largest wrong coefficient in layer 2", title=name)
    seeds.legends(*panels)
    return figure
