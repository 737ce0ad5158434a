"""Training of paper A's learners over time: curves of seeds, the stages of Algorithm 1, heat maps.

``curves`` has a row for everything a picked replica logged, with the columns experiment, learner, point, replica,
seed, epoch, split, name and value. The epoch is the number of passes over the samples; split ``event`` has the pass
at which a stage began.
"""

from __future__ import annotations

from typing import Any

import numpy
import pandas
from matplotlib import pyplot
from matplotlib.collections import QuadMesh
from matplotlib.colors import Normalize

JOB = ["experiment", "learner", "point", "replica"]
SYMBOLS = {"triangle": "\u25b3", "nabla": "\u25bd"}
STEP = 8  # points from one row of the stages' names to the next
ROOM = 0.07  # of the axis, for a name


def of(curves: pandas.DataFrame, rows: pandas.DataFrame) -> pandas.DataFrame:
    """The curves of the replicas in ``rows`` of the scores."""
    known = rows.reset_index()[JOB].drop_duplicates()
    return curves.astype({"replica": int}).merge(known.astype({"replica": int}), on=JOB)


def table(curves: pandas.DataFrame, split: str, name: str) -> pandas.DataFrame:
    """Seeds x passes of one measurement."""
    rows = curves[(curves["split"] == split) & (curves["name"] == name)]
    return rows.astype({"value": float}).pivot_table(index="seed", columns="epoch", values="value")


def events(curves: pandas.DataFrame) -> pandas.Series:
    """Stage -> the pass at which it began, the median over seeds, in order of time."""
    rows = curves[curves["split"] == "event"].astype({"value": float})
    return rows.groupby("name").value.median().dropna().sort_values(kind="stable")


def symbol(stage: str) -> str:
    """``2-nabla`` -> the paper's sign for it; not as mathtext, which sets signs apart from numbers."""
    layer, _, kind = stage.partition("-")
    return layer + SYMBOLS[kind] if kind in SYMBOLS else stage


def over_time(panel: pyplot.Axes, seeds: pandas.DataFrame, label: str, **look: Any) -> None:
    """Seeds (rows) over passes (columns) as thin lines on a log axis, one entry in the legend."""
    seeds = seeds.where(seeds > 0)
    for i, (_, row) in enumerate(seeds.iterrows()):
        panel.plot(seeds.columns, row, label="" if i else label, **({"linewidth": 0.7, "alpha": 0.8} | look))
    panel.set_yscale("log")


def mark(panel: pyplot.Axes, began: pandas.Series, title: str, **look: Any) -> None:
    """A vertical line where each stage begins, named above the panel in as many rows as that takes; the title."""
    low, high = panel.get_xlim()
    last: list[float] = []  # centre of the last name in each row, as a share of the axis
    where = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "annotation_clip": False}
    for stage, at in began.items():
        place = (at - low) / (high - low)
        first = place < ROOM / 2  # its name ends at the line, where there is room
        centre = place - first * ROOM / 2
        row = next((i for i, other in enumerate(last) if centre - other >= ROOM), len(last))
        last[row:] = [centre, *last[row + 1 :]]
        panel.axvline(at, **({"color": "0.35", "linewidth": 0.7, "linestyle": "-"} | look))
        side = "right" if first else "center"
        panel.annotate(symbol(stage), (at, 1), (0, 2 + STEP * row), **where, ha=side, fontsize=7)
    panel.set_title(title, pad=4 + STEP * max(2, len(last)))


def heat(panel: pyplot.Axes, errors: pandas.DataFrame, norm: Normalize) -> QuadMesh | None:
    """Layers (rows) by passes (columns), the least layer below: a cell lasts from its measurement to the next."""
    panel.grid(visible=False)
    if errors.empty:
        panel.set(xlim=(0, 1), yticks=[])
        return None
    passes = errors.columns.to_numpy(dtype=float)
    last = passes[-1] + (passes[-1] - passes[-2] if len(passes) > 1 else 1.0)
    sides = numpy.arange(len(errors) + 1) - 0.5
    panel.set_yticks(range(len(errors)), [f"${layer}$" for layer in errors.index])
    mesh = panel.pcolormesh([*passes, last], sides, errors.to_numpy(dtype=float), cmap="viridis", norm=norm)
    panel.set_xlim(0, last)
    return mesh
