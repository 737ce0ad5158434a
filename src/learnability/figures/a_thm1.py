"""Figure for A-thm1: error of F and of F~ in every setting, one dot a seed."""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from learnability.claims.a_thm1 import Parameters, depth, settings
from learnability.figures import seeds


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """Two panels: the truly quadratic F, and the truncated F~ that was trained."""
    found = settings(scores, given.hero)
    figure, panels = seeds.panels(2, 3.4)
    for panel, column, name in zip(panels, ("nmse", "tilde_nmse"), ("F", r"\tilde F"), strict=True):
        seeds.dots(panel, {f"{key} ($L = {depth(rows)}$)": rows[column] for key, rows in found.items()})
        seeds.threshold(panel, given.error, f"{given.error:g}")
        panel.set_ylabel(rf"test $\mathbb{{E}}(G^*-{name})^2/\mathrm{{Var}}(G^*)$")
        panel.set_title(f"${name}$ after Algorithm 1, one dot a seed")
    seeds.legends(*panels)
    return figure
