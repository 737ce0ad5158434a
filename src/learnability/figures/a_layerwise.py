"""Figure for A-layerwise: final errors of the ways to train, on the same samples."""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from learnability.claims.a_layerwise import Parameters, errors
from learnability.figures import seeds


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """One dot a seed for each way to train."""
    figure, (panel,) = seeds.panels(1)
    found = errors(scores, given) if len(scores) else {}
    names = {name: seeds.name(name) for name in found}
    broken = {name: word.replace(" ", "\n") if len(word) > 11 else word for name, word in names.items()}
    seeds.dots(panel, {broken[name]: values for name, values in found.items()})
    panel.set(ylabel=seeds.ERROR, title="the same samples, one dot a seed")
    seeds.finish(panel)
    return figure
