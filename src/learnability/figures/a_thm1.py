"""Figure for A-thm1: objective and errors over training at each depth; errors at the end in every setting."""

from __future__ import annotations

import pandas
from matplotlib import pyplot
from matplotlib.figure import Figure

from learnability.claims.a_thm1 import Parameters, depth, limits, settings
from learnability.figures import lines, seeds, stages, style

CURVES = ("hero",)
DRAWN = {  # split, name -> label, look
    ("train", "objective"): ("objective", {"color": "0.6"}),
    ("val", "error"): ("$F$, validation", {"color": seeds.colour(0)}),
    ("val", "tilde_error"): (r"$\tilde F$, validation", {"color": seeds.colour(1), "linestyle": (0, (2, 2))}),
}
SPECIAL = {"dropping": "axes dropped", "gaussian": "Gaussian", "kappa": r"$\kappa > 1$"}
MOST = 3  # depths whose training is shown


def draw(scores: pandas.DataFrame, given: Parameters, curves: pandas.DataFrame) -> Figure:
    """Above, training at each depth, of its first experiment; below, one dot a seed for every experiment."""
    found = settings(scores, given.hero)
    order = [name for name in scores.experiment.unique() if name in found]
    order.sort(key=lambda name: depth(found[name]))
    first = {depth(found[name]): name for name in reversed(order)}
    shown = [first[level] for level in sorted(first)][:MOST] or [""]
    figure = pyplot.figure(figsize=(2 * style.COLUMN, 5.2), layout="constrained")
    grid = figure.add_gridspec(2, 1, height_ratios=(1.1, 1))
    top = grid[0].subgridspec(1, len(shown)).subplots(sharey=True, squeeze=False)[0]
    below = figure.add_subplot(grid[1])
    for i, (panel, name) in enumerate(zip(top, shown, strict=True)):
        training(panel, lines.roman(i), found.get(name), curves)
    top[0].set_ylabel(r"error$/\mathrm{Var}(G^*)$")
    endings(below, {name: found[name] for name in order}, given)
    below.set_title(f"{lines.roman(len(shown))} at the end, one dot a seed")
    lines.log_ticks(top[0].yaxis, most=7)
    seeds.finish(below, ncols=3)
    if top[0].get_legend_handles_labels()[0]:
        lines.legend(figure, top, "upper center", ncols=4)
    return figure


def training(panel: pyplot.Axes, number: str, rows: pandas.DataFrame | None, curves: pandas.DataFrame) -> None:
    """Objective and validation errors over passes, each seed by its Var(G*); stars are the errors at the end."""
    panel.set(xlabel="passes over the samples", yscale="log", title=f"{number} no curves")
    if rows is None:
        return
    mine = stages.of(curves, rows)
    for (split, name), (label, look) in DRAWN.items():
        table = stages.table(mine, split, name)
        stages.over_time(panel, table.div(rows.teacher_variance.reindex(table.index), axis=0), label, **look)
    if len(mine):
        last = float(mine.epoch.max())
        star = {"marker": "*", "markersize": 6, "markeredgecolor": "black", "markeredgewidth": 0.4}
        star |= {"linestyle": "none", "color": seeds.colour(0), "label": "$F$, at the end"}
        panel.plot([last] * len(rows), rows.nmse, **star)
        panel.set_xlim(0, 1.03 * last)
        stages.mark(panel, stages.events(mine), f"{number} $L = {depth(rows)}$")


def endings(panel: pyplot.Axes, found: dict[str, pandas.DataFrame], given: Parameters) -> None:
    """Errors of F (exact where known), and of F~ on the test set around them as rings; short lines are limits below
    ``error``, the least of the seeds'.
    """
    names = {name: label(name, rows, name in given.open) for name, rows in found.items()}
    seeds.dots(panel, {names[name]: rows.nmse for name, rows in found.items()})
    if all("tilde_nmse" in rows for rows in found.values()):
        ring = {"markerfacecolor": "none", "color": "black", "markersize": 5.5, "markeredgewidth": 0.6}
        seeds.dots(panel, {names[name]: rows.tilde_nmse for name, rows in found.items()}, ring)
        panel.plot([], [], "o", **ring, label=r"$\tilde F$ instead of $F$")
    least = {i: limits(rows, given).min() for i, rows in enumerate(found.values())}
    lower = [(i, limit) for i, limit in least.items() if limit < given.error]
    for n, (i, limit) in enumerate(lower):
        named = {} if n else {"label": rf"{given.top:g} of what takes layer $L$, if less"}
        look = {"color": "black", "linewidth": 0.9, "linestyle": seeds.DOTTED} | named
        panel.plot([i - 0.4, i + 0.4], [limit, limit], **look)
    seeds.threshold(panel, given.error, rf"learned: at most {lines.plain(given.error)}")
    panel.set_ylabel(seeds.ERROR)


def label(name: str, rows: pandas.DataFrame, reported: bool) -> str:
    """Depth, and what is special: ``dense3-mixture`` -> 'L = 3, mixture'."""
    special = name.partition("-")[2]
    said = [f"$L = {depth(rows)}$", SPECIAL.get(special, special), "(not judged)" if reported else ""]
    return "\n".join(line for line in said if line)
