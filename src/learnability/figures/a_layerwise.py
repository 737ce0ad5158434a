"""Figure for A-layerwise: final test errors of the ways to train, on the same samples."""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from learnability.claims.a_layerwise import Parameters, errors
from learnability.figures import seeds


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """One dot a seed for each way to train."""
    figure, (panel,) = seeds.panels(1)
    seeds.dots(panel, errors(scores, given))
    panel.set(
        ylabel=r"test $\mathbb{E}(G^*-F)^2/\mathrm{Var}(G^*)$", title="the same samples, trained in other ways"
    )
    return figure
