"""Figure for A-kernels: test risk by the number of samples, and of features."""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from learnability.claims.a_kernels import Parameters, energy
from learnability.figures import seeds


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """(i) risks over N; (ii) those of random features over their number. The line is the hidden parity's energy."""
    figure, (left, right) = seeds.panels(2, 3.2)
    names = [given.hero, *given.kernels]
    for i, name in enumerate(names):
        mine = scores[(scores.learner == name) & scores.picked]
        if mine.empty:
            continue
        widest = mine[mine.m.isna() | (mine.m == mine.m.max())]
        seeds.curve(left, widest.pivot_table(index="seed", columns="N", values="test_error"), name, i)
        if mine.m.nunique() > 1:
            seeds.curve(right, mine.pivot_table(index="seed", columns="m", values="test_error"), name, i)
    for panel in (left, right):
        seeds.threshold(panel, energy(scores, given), "energy of the hidden parity")
        panel.set_yscale("log")
        panel.set_ylabel(r"test risk $\mathbb{E}(G^*-f)^2$")
    left.set(xlabel="training samples $N$", title=f"(i) $d = {scores.d.iloc[0]:.0f}$")
    right.set(xlabel="random features", title="(ii) by number of features")
    seeds.legends(left, right)
    return figure
