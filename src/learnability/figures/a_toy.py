"""Figure for A-toy: the largest wrong coefficient of layer 2, layer-wise against trained together, by alpha."""

from __future__ import annotations

import numpy
import pandas
from matplotlib.figure import Figure

from learnability.claims.a_toy import WRONG, Parameters
from learnability.figures import lines, seeds

TITLES = {"toy": "Section 6.1", "example": "equation (1.2)"}


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """One panel an experiment (Section 6.1, and (1.2)); the dotted line goes as alpha through the first control."""
    names = list(scores.experiment.unique()) or [""]
    figure, panels = seeds.panels(len(names), sharey=True, width_ratios=_widths(scores, names))
    for i, (panel, experiment) in enumerate(zip(panels, names, strict=True)):
        rows = scores[scores.experiment == experiment]
        for j, method in enumerate((*given.methods, given.hero)):
            table = seeds.by_seed(rows[rows.learner == method], "alpha", WRONG)
            seeds.curve(panel, table, seeds.name(method), j)
            if j == 0 and table.shape[1] > 1:
                alphas = table.columns.to_numpy(dtype=float)
                straight = alphas * numpy.nanmean(seeds.middle(table) / alphas)
                panel.plot(alphas, straight, color="black", linestyle=":", linewidth=0.9, label=r"$\propto\alpha$")
        panel.set(xlabel=r"$\alpha$", yscale="log")
        panel.set_title(f"{lines.roman(i)} {TITLES.get(experiment, experiment)}")
    panels[0].set_ylabel("largest wrong coefficient in layer 2")
    lines.log_ticks(panels[0].yaxis)
    seeds.finish(panels[0], seeds=True)
    return figure


def _widths(scores: pandas.DataFrame, names: list[str]) -> list[float]:
    """A panel with one alpha is half as wide."""
    return [1.0 if scores[scores.experiment == name].alpha.nunique() > 1 else 0.5 for name in names]
