"""Figure for A-search: validation errors of the truth, of wrong alphas and of wrong graphs, teacher by teacher."""

from __future__ import annotations

import numpy
import pandas
from matplotlib.figure import Figure

from learnability.claims.a_search import Parameters, ranking
from learnability.figures import seeds

LABELS = {"true": "true $\\alpha$,\ntrue graph", "alpha": "best\nwrong $\\alpha$", "graph": "best\nwrong graph"}


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """One dot a teacher in each of three columns, those of a teacher joined by a line."""
    table = ranking(scores, given.hero).reindex(columns=list(LABELS)).replace(numpy.inf, numpy.nan)
    figure, (panel,) = seeds.panels(1)
    shift = numpy.linspace(-0.2, 0.2, len(table)) if len(table) > 1 else numpy.zeros(len(table))
    for x, (_, row) in zip(shift, table.iterrows(), strict=True):
        panel.plot(x + numpy.arange(3), row.clip(lower=seeds.LEAST), color="0.6", linewidth=0.5)
    seeds.dots(panel, {label: table[name] for name, label in LABELS.items()})
    panel.set(ylabel=r"validation $\mathbb{E}(G^*-F)^2$", title="grid search, a line for each teacher")
    seeds.finish(panel)
    return figure
