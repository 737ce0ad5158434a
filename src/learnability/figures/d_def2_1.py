"""Figure for D-def2.1: which activation holds which condition of Definition 2.1, and by how much."""

from __future__ import annotations

import numpy
import pandas
import seaborn
from matplotlib import pyplot
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from learnability.claims.d_def2_1 import CONDITIONS, LIMITS, Parameters, by_condition
from learnability.figures import lines, seeds, style

NAMES = {
    "huber": "Huberized ReLU",
    "swish": "scaled Swish",
    "relu": "ReLU",
    "gelu": "GELU",
    "swish-unscaled": "Swish, not scaled",
}
WORDS = {
    "differentiable": "jump of\n$\\varphi'$",
    "zero": "$|\\varphi(0)|$\n$/h$",
    "lipschitz": "Lip($\\varphi'$)\n$\\cdot h$",
    "slope": "sup\n$|\\varphi'|$",
    "tangent": "sup $|\\varphi' z$\n$-\\varphi|\\,/\\,h$",
}
MOST = 2.6  # ratios beyond are arrows at the top
NOTHING, HOLDS, OPEN, FAILS = range(4)


def draw(scores: pandas.DataFrame, given: Parameters) -> Figure:
    """(i) suprema by interval arithmetic at h = 1, with the place where one fails; (ii) the grid's ratios by h."""
    table, names = by_condition(scores), [*given.methods, *given.others]
    size, ratios = (2 * style.COLUMN, 3.2), {"width_ratios": [1.6, 1]}
    figure, (left, right) = pyplot.subplots(1, 2, figsize=size, layout="constrained", gridspec_kw=ratios)
    _matrix(left, table, names)
    for i, name in enumerate(names):
        _by_h(right, table[table.learner == name], i)
    right.axhline(1.0, color="black", linewidth=0.9, linestyle=lines.DASHES, zorder=3, label="allowed")
    right.set(xscale="log", ylim=(0.9, MOST + 0.15), xlabel="$h$", title="(ii) on a grid of $z$, by $h$")
    right.set_ylabel("worst / allowed,\nlargest over conditions")
    lines.log_ticks(right.xaxis, most=5)
    lines.legend(figure, [right], "lower center", ncols=4)
    return figure


def called(name: str) -> str:
    """What a reader calls an activation of the config."""
    return NAMES.get(name, name)


def _matrix(panel: pyplot.Axes, table: pandas.DataFrame, names: list[str]) -> None:
    """A row an activation, a column a condition: its supremum at h = 1, coloured by what is proved."""
    state = numpy.full((len(names), len(CONDITIONS)), NOTHING)
    for (name, condition), rows in table[table.learner.isin(names)].groupby(["learner", "condition"]):
        row, column, one = names.index(name), CONDITIONS.index(condition), rows.iloc[0]
        bad = one.refuted or not rows.holds.all()
        state[row, column] = FAILS if bad else HOLDS if one.proved else OPEN
        text = r"$\infty$" if numpy.isinf(one["sup"]) else f"{one['sup']:.4g}"
        text += f"\n$z = {round(one.sup_at, 2) + 0:g}h$" if bad else ""
        panel.text(column, row, text, ha="center", va="center", fontsize=6.5)
    pale = [seaborn.set_hls_values(seaborn.color_palette()[i], l=0.86) for i in (0, 1, 3)]
    panel.imshow(state, cmap=ListedColormap(["white", *pale]), vmin=NOTHING, vmax=FAILS, aspect="auto")
    heads = [f"{WORDS[c]}\n$\\leq {LIMITS[c]:g}$" for c in CONDITIONS]
    panel.set_xticks(range(len(CONDITIONS)), heads)
    panel.set_yticks(range(len(names)), [called(name) for name in names])
    panel.tick_params(length=0)
    panel.tick_params(axis="x", labeltop=True, labelbottom=False)
    panel.set_xlabel("blue: proved for all $z$;  orange: refuted, as at this $z$")
    panel.set_title("(i) by interval arithmetic, as $\\varphi_h(z) = h\\,\\varphi(z/h)$ for all $h$ at once")
    panel.grid(visible=False)


def _by_h(panel: pyplot.Axes, rows: pandas.DataFrame, index: int) -> None:
    """The largest ratio over conditions at every h; beyond MOST, arrows at the top."""
    worst = rows.groupby("h").ratio.max().dropna()
    if worst.empty:
        return
    beyond = (worst > MOST).to_numpy()
    look = {"color": seeds.colour(index), "markersize": 4.5 if index else 8, "linewidth": 1.0}
    look |= {"marker": "osD^vPX*h"[index % 9], "label": called(rows.learner.iloc[0])}
    look |= {} if index else {"markerfacecolor": "none"}  # the second one lies on it
    if beyond.all():
        look |= {"marker": r"$\uparrow$", "linestyle": "none", "markersize": 7}
        look["label"] += f" ({lines.plain(float(f'{worst.min():.0e}'))})"
    panel.plot(worst.index.to_numpy(dtype=float), worst.clip(upper=MOST).to_numpy(), **look)
