"""Figure for A-thm2: feature errors by layer and time (the paper's Figure 5, measured), and of layer 2 by alpha.

Layer 2's error stops falling while layer 3 is not there, and goes on when it is; frozen features do not.
"""

from __future__ import annotations

import numpy
import pandas
from matplotlib import patheffects, pyplot
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure, SubFigure

from learnability.claims.a_thm2 import BEFORE, Parameters, picked, reference_alpha
from learnability.figures import lines, seeds, stages, style

CURVES = ("hero",)
OUTLINE = [patheffects.withStroke(linewidth=2.0, foreground="white")]


def draw(scores: pandas.DataFrame, given: Parameters, curves: pandas.DataFrame) -> Figure:
    """(i), (ii) heat maps at two depths; (iii) f_2 by alpha; (iv) f_2 with the control, at one alpha."""
    figure = pyplot.figure(figsize=(2 * style.COLUMN, 4.6), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1, 1.35))
    heat_maps(above, above.subplots(1, 2), scores, given, curves)
    left, right = below.subplots(1, 2)
    ours = seeds.own(scores)
    by_alpha(left, ours[ours.learner == given.hero])
    corrected(right, ours, given)
    seeds.finish(left, right, seeds=True)
    return figure


def median_seed(scores: pandas.DataFrame, given: Parameters, experiment: str) -> pandas.DataFrame:
    """The hero's row with the median test error, at the alpha of the control if it is run there."""
    rows = scores[(scores.experiment == experiment) & (scores.learner == given.hero) & scores.picked]
    alpha = reference_alpha(rows if not (scores.learner == given.control).any() else seeds.own(scores), given)
    rows = rows[rows.alpha == alpha] if (rows.alpha == alpha).any() else rows
    rows = rows[rows.test_error.notna()].sort_values("test_error", kind="stable")
    return rows.iloc[(len(rows) - 1) // 2 :][:1]


def layers(curves: pandas.DataFrame) -> pandas.DataFrame:
    """Feature errors on validation of one seed: layers x passes."""
    names = sorted(n for n in curves[curves["split"] == "val"].name.unique() if n[0] == "f" and n[1:].isdigit())
    return pandas.concat([stages.table(curves, "val", n).rename(lambda _, n=n: n[1:]) for n in names] or [_NONE])


_NONE = pandas.DataFrame()


def heat_maps(
    figure: SubFigure, axes, scores: pandas.DataFrame, given: Parameters, curves: pandas.DataFrame
) -> None:
    """One panel for each of the first two experiments, colours shared."""
    names = list(scores.experiment.unique())[: len(axes)]
    chosen = [stages.of(curves, median_seed(scores, given, name)) for name in names]
    tables = [layers(one) for one in chosen]
    values = numpy.concatenate([numpy.ravel(t) for t in tables] or [[]])
    values = values[numpy.isfinite(values) & (values > 0)]
    norm = LogNorm(values.min(), values.max()) if len(values) else LogNorm(1e-6, 1)
    meshes = []
    for i, panel in enumerate(axes):
        table = tables[i].where(tables[i] > 0) if i < len(tables) else _NONE
        meshes.append(stages.heat(panel, table, norm))
        panel.set(xlabel="passes over the samples", ylabel="layer $l$")
        if meshes[-1] is not None:
            title = f"{lines.roman(i)} $L = {len(table) + 1}$, the seed of median error"
            stages.mark(panel, stages.events(chosen[i]), title, color="black", path_effects=OUTLINE)
        else:
            panel.set_title(f"{lines.roman(i)} no curves")
    if drawn := [mesh for mesh in meshes if mesh is not None]:
        bar = figure.colorbar(drawn[0], ax=list(axes), label="feature error $f_l$", pad=0.01)
        lines.log_ticks(bar.ax.yaxis, most=5)


def by_alpha(panel: pyplot.Axes, mine: pandas.DataFrame) -> None:
    """f_2 at the release of layer 3 and at the end."""
    for i, (column, label) in enumerate({BEFORE: "layer 3 released", "test_f2": "at the end"}.items()):
        seeds.curve(panel, seeds.by_seed(mine, "alpha", column), label, i)
    alphas = numpy.sort(mine.alpha.unique().astype(float))
    if len(alphas):
        panel.plot(alphas, alphas**2, color="black", linewidth=0.9, linestyle=":", label=r"$(\alpha_3/\alpha_2)^2$")
    panel.set(xlabel=r"$\alpha_3/\alpha_2$", ylabel="feature error $f_2$", title="(iii) by the information gap")


def corrected(panel: pyplot.Axes, ours: pandas.DataFrame, given: Parameters) -> None:
    """f_2 before and after layer 3 trains, with layer 2 free to follow and with its features frozen."""
    alpha = reference_alpha(ours, given)
    groups = {}
    for learner in (given.hero, given.control):
        rows = picked(ours, learner, alpha=alpha)
        for column, when in ((BEFORE, "before"), ("test_f2", "after")):
            label = f"{seeds.name(learner)}\n{when}".replace("features ", "")
            groups[label] = rows[column] if column in rows else pandas.Series(dtype=float)
    seeds.dots(panel, groups)
    where = rf" at $\alpha_3/\alpha_2 = {alpha:g}$" if numpy.isfinite(alpha) else ""
    panel.set(ylabel="feature error $f_2$", title=f"(iv) layer 3 trained{where}")
