"""Figure for A-gap: errors and feature errors by alpha_3 / alpha_2, up to 1 and beyond."""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from learnability.claims.a_gap import Parameters, curves
from learnability.figures import seeds


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """Two panels over alpha; the vertical line is where the information gap is gone."""
    figure, (left, right) = seeds.panels(2)
    if (scores.learner == given.hero).any():
        seeds.curve(left, curves(scores, given.hero), seeds.name(given.hero), 0)
        seeds.curve(right, curves(scores, given.hero, "nmse"), seeds.name(given.hero), 0)
    seeds.threshold(left, given.share, f"learned: at most {given.share:g}")
    left.set(ylabel=r"$f_2\,/\,\mathbb{E}\|S_2^*\|^2$", title="(i) features of layer 2")
    right.set(ylabel=seeds.ERROR, title="(ii) error")
    for panel in (left, right):
        panel.axvline(1.0, color="black", linewidth=0.9, linestyle=seeds.DOTTED, label="no gap")
        panel.set(xlabel=r"$\alpha_3/\alpha_2$", yscale="log")
    seeds.finish(left, right, seeds=True, loc="lower right")
    return figure
