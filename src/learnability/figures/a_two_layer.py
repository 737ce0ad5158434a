"""Figure for A-two-layer: test error of two-layer polynomial networks by width, against the DenseNet's."""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from learnability.claims.a_two_layer import Parameters, barred, tables
from learnability.figures import lines, seeds

TITLES = {"hard-widths": "Theorem I.6", "hard-widths-even": "Theorem I.7"}


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """One panel an experiment: Theorems I.6 and I.7. The band holds all seeds of the DenseNet."""
    found = tables(scores, given)
    figure, panels = seeds.panels(max(1, len(found)), sharey=True)
    for i, (panel, (name, (hero, table))) in enumerate(zip(panels, found.items(), strict=False)):
        seeds.curve(panel, table, "two layers", 0)
        if len(hero):
            label = f"{seeds.name(given.hero)}: mean, all seeds"
            panel.axhspan(hero.min(), hero.max(), color=seeds.colour(1), alpha=0.2, linewidth=0)
            panel.axhline(seeds.middle(hero), color=seeds.colour(1), linewidth=1.2, label=label)
        bar = barred(float(scores.d.iloc[0]), given.depth)
        panel.axvline(bar, color="black", linewidth=0.9, linestyle=seeds.DOTTED, label="$(d/p)^p$ of Lemma I.5")
        panel.set_title(f"{lines.roman(i)} {TITLES.get(name, name)}")
    for panel in panels:
        panel.set(xlabel="width", yscale="log")
    panels[0].set_ylabel(r"test error$/\mathrm{Var}(G^*)$")
    lines.log_ticks(panels[0].yaxis)
    seeds.finish(panels[0], seeds=True)
    return figure
