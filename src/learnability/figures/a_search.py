"""Figure for A-search: validation errors of the truth, of wrong alphas and of wrong graphs, teacher by teacher."""

from __future__ import annotations

import numpy
import pandas
from matplotlib.figure import Figure

from learnability.claims.a_search import Parameters, ranking
from learnability.figures import seeds


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """One dot a teacher in each of three columns."""
    table = ranking(scores, given.hero)
    figure, (panel,) = seeds.panels(1)
    names = {"true": "true alpha and graph", "alpha": "best wrong alpha", "graph": "best wrong graph"}
    groups = {label: table[name].replace(numpy.inf, numpy.nan) for name, label in names.items() if name in table}
    seeds.dots(panel, groups)
    panel.set(ylabel="validation error", title="grid search, one dot a teacher")
    return figure
