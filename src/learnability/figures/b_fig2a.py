"""Figure for B-fig2a: test error and recovered composite signal of nine methods by width."""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from learnability.claims.b_fig2a import Parameters
from learnability.figures import lines


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """Two panels over width m (log axis): mean over seeds with 95% bands, all nine methods."""
    figure, *panels = lines.error_and_signal(scores, given.methods, "m", "width $m$")
    lines.legend(figure, panels)
    return figure
