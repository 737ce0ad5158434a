"""B-fig2a: with 1000 samples only the three-layer ResNet learns the composite part (paper B, Figure 2(a)).

At every width judged, with 95% intervals over seeds, hyper-parameters picked on validation per seed:

1. 3resnet's test error E||out - y||^2 lies below k alpha^2, the error of learning F alone;
2. no other method's cG = mean(out . G(F)) / k (0: nothing of the composite part, alpha: all of it) is more than
   ``ratio`` times 3resnet's. A well-tuned 3layer comes near k alpha^2 by fitting F alone; cG tells the difference.

Both hold at every width: supported. One fails clearly at some width (whole interval on the wrong side):
contradicted. Anything else, or too few seeds, or a method missing: inconclusive.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.stats import Interval, bootstrap_mean
from learnability.schema import Strict
from learnability.theory.paper_b import composite_threshold

ID = "B-fig2a"
PAPER = "B"
STATEMENT = "At N = 1000 only 3resnet learns the composite part alpha G(F), at every width (Figure 2(a))"
UNIT = "test E||out-y||^2 of 3resnet, worst judged width"


class Parameters(Strict):
    """What ``claims.B-fig2a`` in the experiment file may hold."""

    hero: str = "3resnet"
    methods: Annotated[list[str], Field(min_length=2)]
    from_width: Annotated[int, Field(gt=0)] = 100
    ratio: Annotated[float, Field(gt=0)] = 1 / 3
    min_seeds: Annotated[int, Field(ge=2)] = 5


def judge(scores: pandas.DataFrame, given: Parameters, teacher: dict[str, Any]) -> Judgement:
    """See the module's text. ``scores`` has a row per learner x point x replica."""
    threshold = composite_threshold(teacher["k"], teacher["alpha"])
    picks = scores[scores.picked]
    others = [name for name in given.methods if name != given.hero]
    widths = [
        m
        for m in sorted(picks.m.unique())
        if m >= given.from_width and set(given.methods) <= set(picks[picks.m == m].learner)
    ]
    if not widths:
        note = f"no width >= {given.from_width} at which all {len(given.methods)} methods gave a result"
        return Judgement("inconclusive", None, None, None, threshold, 0, note)
    rows = [_at_width(picks[picks.m == m], m, given, others) for m in widths]
    seeds = min(row["error"].n for row in rows)
    if seeds < given.min_seeds:
        note = f"{seeds} seeds, {given.min_seeds} needed"
        return Judgement("inconclusive", None, None, None, threshold, seeds, note)
    verdict, reason = _decide(rows, threshold, given)
    worst = max(rows, key=lambda row: row["error"].high)
    note = f"{reason}; widths {', '.join(str(m) for m in widths)}; {_diverged(scores, given)}"
    error = worst["error"]
    details = {str(row["m"]): _plain(row) for row in rows} | {"at_grid_edge": _edges(scores, given)}
    return Judgement(
        verdict, error.mean, error.low, error.high, threshold, seeds, note, details
    )


def _at_width(picks: pandas.DataFrame, m: int, given: Parameters, others: list[str]) -> dict[str, Any]:
    """The hero's error and each other method's margin ratio * cG(hero) - cG(other), paired by seed."""
    by_seed = picks.pivot(index="seed", columns="learner", values="test_cG")[given.methods].dropna()
    errors = picks.pivot(index="seed", columns="learner", values="test_error")[given.methods]
    errors = errors.loc[by_seed.index]
    if len(by_seed) < 2:
        nothing = Interval(math.nan, -math.inf, math.inf, len(by_seed))
        return {"m": m, "error": nothing, "cG": nothing, "margins": {}, "cGs": {}, "errors": {}}
    hero = by_seed[given.hero]
    return {
        "m": m,
        "error": bootstrap_mean(errors[given.hero]),
        "cG": bootstrap_mean(hero),
        "margins": {name: bootstrap_mean(given.ratio * hero - by_seed[name]) for name in others},
        "cGs": {name: bootstrap_mean(by_seed[name]) for name in others},
        "errors": {name: bootstrap_mean(errors[name]) for name in others},
    }


def _decide(rows: list[dict[str, Any]], threshold: float, given: Parameters) -> tuple[str, str]:
    """The verdict over all widths and the sentence that gives its reason."""
    for row in rows:
        if row["error"].low > threshold:
            why = f"{given.hero} at m = {row['m']} has test error {row['error']} above {threshold:.3g}"
            return "contradicted", why
        for name, margin in row["margins"].items():
            if margin.high < 0:
                why = (
                    f"{name} at m = {row['m']} has cG {row['cGs'][name]}, more than {given.ratio:.2g} of "
                    f"{given.hero}'s {row['cG']}"
                )
                return "contradicted", why
    unclear = [f"m = {r['m']}: {given.hero} error {r['error']}" for r in rows if r["error"].high >= threshold]
    unclear += [
        f"m = {row['m']}: cG of {name} {row['cGs'][name]} against {row['cG']}"
        for row in rows
        for name, margin in row["margins"].items()
        if margin.low < 0
    ]
    if unclear:
        return "inconclusive", f"intervals do not decide: {'; '.join(unclear[:3])}"
    row, name = max(
        ((row, name) for row in rows for name in row["cGs"]),
        key=lambda at: at[0]["cGs"][at[1]].mean / at[0]["cG"].mean,
    )
    share = row["cGs"][name].mean / row["cG"].mean
    return "supported", (
        f"largest share of {given.hero}'s cG reached by another method is {share:.2f} "
        f"({name}, m = {row['m']}; allowed {given.ratio:.2f})"
    )


def _diverged(scores: pandas.DataFrame, given: Parameters) -> str:
    """How many replicas of the sweep diverged, by method."""
    lost = scores[scores.diverged & scores.learner.isin(given.methods)].groupby("learner").size()
    if lost.empty:
        return "no replica diverged"
    return "diverged and left out: " + ", ".join(f"{n} of {name}" for name, n in lost.items())


def _edges(scores: pandas.DataFrame, given: Parameters) -> list[str]:
    """Where most seeds picked a weight decay at an end of its grid: the search may be too narrow."""
    found = []
    for (name, m), rows in scores[scores.learner.isin(given.methods)].groupby(["learner", "m"]):
        grid, picks = sorted(rows.wd.unique()), rows[rows.picked].wd
        for end in {grid[0], grid[-1]}:
            if (picks == end).mean() > 0.5:
                found.append(f"{name} m={m} wd={end:g}")
    return found


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A width's figures as JSON: mean, low, high by method."""

    def three(interval: Interval) -> list[float]:
        return [interval.mean, interval.low, interval.high]

    return {
        "hero_error": three(row["error"]),
        "hero_cG": three(row["cG"]),
        "error": {name: three(i) for name, i in row["errors"].items()},
        "cG": {name: three(i) for name, i in row["cGs"].items()},
        "margin": {name: three(i) for name, i in row["margins"].items()},
    }
