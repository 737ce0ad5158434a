"""What figures of paper D's descents share: the way of some instances, and axes whose numbers are powers of ten."""

from __future__ import annotations

from typing import Any

import numpy
import pandas
from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter, MaxNLocator

JOB = ["experiment", "learner", "point", "replica"]


def ways(curves: pandas.DataFrame, scores: pandas.DataFrame, split: str) -> pandas.DataFrame:
    """Everything seen in ``split`` of the instances in ``scores``, wide: a row for each mark, in order, with the
    instance's L, d, N and start.
    """
    mine = curves[curves["split"] == split].astype({"replica": int})
    wide = mine.pivot_table(index=[*JOB, "epoch"], columns="name", values="value", dropna=False).reset_index()
    told = [c for c in scores if c in ("seed", "L", "d", "N") or c.startswith(("start_", "phase1_"))]
    return wide.merge(scores[[*JOB, *told]].astype({"replica": int}), on=JOB).sort_values([*JOB, "epoch"])


def powers(axis: Any, most: int = 6) -> None:
    """An axis of logarithms to base 10, labelled by the powers themselves."""
    axis.set_major_locator(MaxNLocator(most, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: rf"$10^{{{value:.0f}}}$"))


def empty(panel: pyplot.Axes, what: str) -> None:
    """Said in a panel that has nothing to show."""
    panel.text(0.5, 0.5, what, transform=panel.transAxes, ha="center", va="center", fontsize=7, color="0.4")


def finite(values: pandas.Series, least: float = -40.0) -> pandas.Series:
    """Slacks that can be drawn: -inf, a loss that rose, at the foot of the axis."""
    return values.replace(-numpy.inf, least).clip(lower=least)
