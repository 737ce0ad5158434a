"""Figure for B-thm1: risk by alpha on log-log axes, a panel for each target, with and without label noise."""

from __future__ import annotations

from typing import Any

import numpy
import pandas
from matplotlib import pyplot
from matplotlib.figure import Figure

from learnability.claims.b_thm1 import Parameters, Target, targets
from learnability.figures import lines, style

FRAME = {"marker": "s", "markersize": 10, "markerfacecolor": "none", "color": "black", "linestyle": "none"}


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """Means over seeds with 95% bands; a frame where the hero's interval is not wholly below Theorem 1's line."""
    names = [n for n in (given.hero, *given.kernels) if scores[scores.learner == n].picked.any()]
    found = {name: targets(scores, name) for name in names}
    experiments = list(scores.experiment.unique())
    size = (2 * style.COLUMN, 3.4)
    figure, panels = pyplot.subplots(1, len(experiments), figsize=size, layout="constrained", squeeze=False)
    looks = lines.looks(names)
    for i, (panel, experiment) in enumerate(zip(panels[0], experiments, strict=True)):
        here = scores[scores.experiment == experiment]
        for name in names:
            mine = {noise: target for (where, noise), target in found[name].items() if where == experiment}
            _method(panel, mine, looks[name], framed=name == given.hero)
        _bounds(panel, here)
        panel.set(xscale="log", yscale="log", xlabel=r"size $\alpha$ of the composite part $G(F)$")
        panel.set_title(f"{lines.roman(i)} {experiment}: {_sizes(here, names)}")
        _promise(panel, here, given.hero)
        lines.ticks_at(panel.xaxis, here.alpha)
        lines.log_ticks(panel.yaxis)
    panels[0, 0].set_ylabel(r"risk $\mathbb{E}\,\|\mathrm{out}-H(x)\|^2$")
    lines.legend(figure, panels[0], "lower center", ncols=3)
    return figure


def _method(panel: pyplot.Axes, mine: dict[float, Target], look: lines.Look, framed: bool) -> None:
    """One method on one target: small, filled markers without noise, large, open with: they may coincide."""
    for noise, target in sorted(mine.items()):
        this = look | {"label": look["label"] + (", noisy labels" if noise else "")}
        this |= {"markersize": 6.5, "markerfacecolor": "none", "linewidth": 0.8} if noise else {"markersize": 4}
        means = lines.mean_line(panel, target.risks, this)
        missed = {a: i for a, i in means.items() if i.high > target.bound(a) or i.n < len(target.risks)}
        above = [(a, i.mean) for a, i in missed.items()] if framed else []
        if above:
            label = f"{look['label']} not below\n" + r"$\mathrm{OPT}+g\alpha^4$ of its noise"
            panel.plot(*zip(*above, strict=True), **FRAME, zorder=6, label=label)


def _bounds(panel: pyplot.Axes, here: pandas.DataFrame) -> None:
    """g alpha^2, and OPT + g alpha^4 for every noise level."""
    first, positive = here.iloc[0], here.alpha[here.alpha > 0]
    if positive.empty:
        return
    alphas = numpy.geomspace(positive.min(), positive.max(), 50)
    black: dict[str, Any] = {"color": "black", "linewidth": 0.9, "zorder": 1.5}
    panel.plot(alphas, first.g_size * alphas**2, linestyle=lines.DASHES, label=r"$g\alpha^2$: $F$ alone", **black)
    for noise in sorted(here.noise.unique()):
        label = r"$\mathrm{OPT}+g\alpha^4$, noisy labels" if noise else r"$g\alpha^4$: Theorem 1"
        target = Target("", pandas.DataFrame(), first.g_size, first.k * noise**2, int(first.d), int(first.N))
        dashes = (0, (2, 1.2)) if noise else "-"
        panel.plot(alphas, [target.bound(a) for a in alphas], linestyle=dashes, label=label, **black)


def _promise(panel: pyplot.Axes, here: pandas.DataFrame, hero: str) -> None:
    """Shade the alphas at which N >= d / alpha^8, from which on Theorem 1 (constants 1) promises its line."""
    mine, (left, right) = here[here.learner == hero], panel.get_xlim()
    start = (mine.d.iloc[0] / mine.N.iloc[0]) ** (1 / 8) if len(mine) else right
    if start < here.alpha.max():
        label = r"$N\geq d/\alpha^8$: enough samples" + "\nfor Theorem 1, constants 1"
        panel.axvspan(max(start, left), right, color="0.9", linewidth=0, zorder=0, label=label)
        panel.set_xlim(left, right)


def _sizes(here: pandas.DataFrame, names: list[str]) -> str:
    """d, N and noise of a panel; the methods that have another N than the first are named."""
    sizes = here[here.learner.isin(names)].groupby("learner").N.max().reindex(names).dropna()
    text = f"$d = {here.d.iloc[0]:.0f}$"
    if len(sizes):
        text += f", $N = {sizes.iloc[0]:.0f}$"
        others = sizes[sizes != sizes.iloc[0]]
        if len(others):
            text += f"\n({', '.join(others.index)}: $N = {', '.join(f'{n:.0f}' for n in sorted(set(others)))}$)"
    noises = [f"{noise:g}" for noise in sorted(here.noise.unique()) if noise]
    return text + (rf", noise $\sigma = {', '.join(noises)}$" if noises else "")
