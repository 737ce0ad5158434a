"""What judges of sweeps share: one number per seed and setting, and where a curve crosses a level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import pandas


def largest(scores: pandas.DataFrame, *axes: str) -> pandas.DataFrame:
    """Of every method the rows at its largest value of each of ``axes``; all its rows if it has none (kernels)."""
    for axis in axes:
        most = scores.groupby(["experiment", "learner"])[axis].transform("max")
        scores = scores[most.isna() | (scores[axis] == most)]
    return scores


def by_seed(scores: pandas.DataFrame, axis: str, column: str) -> pandas.DataFrame:
    """``column`` of each seed's picked replica: seeds x values of ``axis``; NaN where all replicas diverged."""
    seeds, values = sorted(scores.seed.unique()), sorted(scores[axis].unique())
    table = scores[scores.picked].pivot(index="seed", columns=axis, values=column)
    return table.where(numpy.isfinite(table)).reindex(index=seeds, columns=values)


def risk(scores: pandas.DataFrame) -> pandas.Series:
    """E||out - H(x)||^2 as well as it is known: exact, against clean labels, or the test error if no noise."""
    found = scores.test_error.where(scores.noise == 0)
    for column in ("test_risk", "population_risk"):  # the later is the better
        if column in scores:
            found = scores[column].fillna(found)
    return found


def crossing(x: Sequence[float], y: Sequence[float], level: float) -> float:
    """Least x from which on the curve stays at or below ``level``, straight between points on log-log axes.

    inf if it ends above; the first x if it is below everywhere. Points with a NaN are left out. 'From which on': a
    curve that dips below once and rises again has not got there yet.
    """
    pairs = [(a, b) for a, b in sorted(zip(x, y, strict=True)) if numpy.isfinite(b)]
    above = [i for i, (_, b) in enumerate(pairs) if b > level]
    if not pairs or (above and above[-1] == len(pairs) - 1):
        return numpy.inf
    if not above:
        return float(pairs[0][0])
    (x0, y0), (x1, y1) = pairs[above[-1]], pairs[above[-1] + 1]
    y1 = max(y1, 1e-300)  # an exact zero has no logarithm
    share = (numpy.log(y0) - numpy.log(level)) / (numpy.log(y0) - numpy.log(y1))
    return float(numpy.exp(numpy.log(x0) + share * (numpy.log(x1) - numpy.log(x0))))


def bounds(x: Sequence[float], y: Sequence[float], level: float) -> tuple[float, float]:
    """What is known of :func:`crossing`, least and most: it may lie below the first x or beyond the last one."""
    measured = [a for a, b in zip(x, y, strict=True) if numpy.isfinite(b)]
    if not measured:
        return 0.0, numpy.inf
    at = crossing(x, y, level)
    if numpy.isinf(at):
        return float(max(measured)), numpy.inf
    return (0.0, at) if at <= min(measured) else (at, at)


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Least-squares slope of log y on log x; NaN with fewer than two points that have logarithms."""
    x, y = numpy.asarray(x, dtype=float), numpy.asarray(y, dtype=float)
    good = numpy.isfinite(y) & (y > 0)
    if good.sum() < 2:
        return numpy.nan
    return float(numpy.polyfit(numpy.log(x[good]), numpy.log(y[good]), 1)[0])


def grid_ends(scores: pandas.DataFrame, axis: str) -> list[str]:
    """Where most seeds picked the end of a grid of lr or wd, by method and ``axis``: it may be too narrow."""
    found = []
    for (name, value), rows in scores.groupby(["learner", axis]):
        for key in ("lr", "wd"):
            grid, picks = sorted(rows[key].dropna().unique()), rows.loc[rows.picked, key]
            for end in {grid[0], grid[-1]} if len(grid) > 1 else ():
                if (picks == end).mean() > 0.5:
                    found.append(f"{name} {axis}={value:g} {key}={end:g}")
    return sorted(found)
