"""B-fig2a: with 1000 samples only the three-layer ResNet learns the composite part (paper B, Figure 2(a)).

At every width judged, with 95% intervals over seeds, hyper-parameters picked on validation per seed:

1. 3resnet's test error E||out - y||^2 lies below k alpha^2, the error of learning F alone;
2. no other method's test error lies wholly below k alpha^2;
3. no other method's cG = mean(out . G(F)) / k (0: nothing of the composite part, alpha: all of it) is more than
   ``ratio`` times 3resnet's. A well-tuned 3layer comes near k alpha^2 by fitting F and a little of G(F): error >=
   k (alpha - cG)^2, so cG says how little. Methods whose mean gets below k alpha^2 are named in the note.

All hold at every width: supported. 1 or 3 fails clearly at some width: contradicted, where 'clearly' is the whole
interval on the wrong side, at a level that allows for the number of comparisons (Bonferroni; 'supported' needs no
such allowance, since it asks for all of them at once). Anything else,
too few seeds, or seeds at which all of 3resnet's replicas diverged: inconclusive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas
from pydantic import Field, field_validator, model_validator

from learnability.claims import Judgement, Word
from learnability.claims.stats import bootstrap_mean, clear_mean
from learnability.claims.tables import grid_ends
from learnability.schema.base import Strict, wrong
from learnability.theory.paper_b import composite_threshold

ID = "B-fig2a"
PAPER = "B"
STATEMENT = "With few samples (N = 1000 in the paper) only 3resnet learns the composite part alpha G(F)"
AXES = {"m"}  # what it is judged by; other sweeps belong in other experiments
UNIT = "test E||out-y||^2 of 3resnet, worst judged width"


class Parameters(Strict):
    """What ``claims.B-fig2a`` in the experiment file may hold."""

    hero: str = "3resnet"
    methods: Annotated[list[str], Field(min_length=2)]
    from_width: Annotated[int, Field(gt=0)] = 100
    ratio: Annotated[float, Field(gt=0)] = 1 / 3
    min_seeds: Annotated[int, Field(ge=5)] = 5  # fewer cannot carry a 95% interval: see stats.py

    @field_validator("methods")
    @classmethod
    def _distinct(cls, methods: list[str]) -> list[str]:
        if len(set(methods)) != len(methods):
            raise ValueError("methods must be distinct")
        return methods

    @model_validator(mode="after")
    def _hero_competes(self) -> Parameters:
        if self.hero not in self.methods:
            raise wrong(("hero",), f"must be one of methods; allowed: {', '.join(self.methods)}, got {self.hero}")
        return self


@dataclass
class AtWidth:
    """What is compared at one width: by method, one value per seed that all methods finished."""

    m: int
    error: pandas.DataFrame  # seeds x methods
    cG: pandas.DataFrame
    lost: int  # seeds at which the hero has no result, all its replicas having diverged

    def margin(self, name: str, given: Parameters) -> pandas.Series:
        """ratio * cG(hero) - cG(name), paired by seed: negative where ``name`` learned too much."""
        return given.ratio * self.cG[given.hero] - self.cG[name]


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text. ``scores`` has a row per learner x point x replica."""
    threshold = composite_threshold(*scores.iloc[0][["k", "alpha", "noise"]])
    scores = scores[scores.learner.isin(given.methods) & (scores.m >= given.from_width)]
    widths = [
        int(m)
        for m, rows in scores.groupby("m")
        if set(given.methods) <= set(rows.learner)  # run there; whether they finished counts below
    ]
    if not widths:
        note = f"no width >= {given.from_width} at which all {len(given.methods)} methods were run"
        return Judgement("inconclusive", None, None, None, threshold, 0, note)
    rows = [_at_width(scores[scores.m == m], m, given) for m in widths]
    seeds = min(len(row.error) for row in rows)
    if seeds < 2:
        note = f"{seeds} seeds with all methods finished, {given.min_seeds} needed"
        return Judgement("inconclusive", None, None, None, threshold, seeds, note)
    verdict, reason = _decide(rows, threshold, given)
    if seeds < given.min_seeds:
        verdict, reason = (
            "inconclusive",
            f"{seeds} seeds with all methods finished, {given.min_seeds} needed",
        )
    elif lost := [row.m for row in rows if row.lost]:  # leaving those seeds out would flatter the hero
        verdict, reason = (
            "inconclusive",
            f"{given.hero} diverged altogether on some seeds at m = {lost}",
        )
    error = max((bootstrap_mean(row.error[given.hero]) for row in rows), key=lambda i: i.high)
    note = "; ".join([reason, f"widths {', '.join(map(str, widths))}", *_remarks(rows, scores, threshold, given)])
    details = {str(row.m): _plain(row, given) for row in rows} | {"at_grid_edge": grid_ends(scores, "m")}
    return Judgement(verdict, error.mean, error.low, error.high, threshold, seeds, note, details)


def _at_width(scores: pandas.DataFrame, m: int, given: Parameters) -> AtWidth:
    """Each seed's picked replica of every method; seeds at which one has none are left out."""
    picks = scores[scores.picked]
    tables = {
        column: picks.pivot(index="seed", columns="learner", values=column).reindex(columns=given.methods)
        for column in ("test_error", "test_cG")
    }
    done = tables["test_cG"].dropna().index
    lost = scores.seed.nunique() - int(tables["test_cG"][given.hero].notna().sum())
    return AtWidth(m, tables["test_error"].loc[done], tables["test_cG"].loc[done], lost)


def _decide(rows: list[AtWidth], threshold: float, given: Parameters) -> tuple[Word, str]:
    """The verdict over all widths and the sentence that gives its reason."""
    others = [name for name in given.methods if name != given.hero]
    comparisons = len(rows) * len(given.methods)
    unclear = []
    for row in rows:
        errors, hero = row.error[given.hero], bootstrap_mean(row.cG[given.hero])
        error = bootstrap_mean(errors)
        if clear_mean(errors, comparisons).low > threshold:
            return (
                "contradicted",
                f"{given.hero} at m = {row.m} has test error {error}, above {threshold:.3g}",
            )
        if error.high >= threshold or hero.low <= 0:
            unclear.append(f"m = {row.m}: {given.hero} has test error {error} and cG {hero}")
        for name in others:
            cg, margin = bootstrap_mean(row.cG[name]), row.margin(name, given)
            if clear_mean(margin, comparisons).high < 0:
                why = f"{name} at m = {row.m} has cG {cg}, over {given.ratio:.2g} of {given.hero}'s {hero}"
                return "contradicted", why
            if bootstrap_mean(row.error[name]).high < threshold:
                unclear.append(f"m = {row.m}: {name} has test error {bootstrap_mean(row.error[name])} too")
            if bootstrap_mean(margin).low < 0:
                unclear.append(f"m = {row.m}: {name} has cG {cg}, {given.hero} {hero}")
    if unclear:
        return "inconclusive", f"intervals do not decide: {'; '.join(unclear[:3])}"
    share, name, m = max(
        (row.cG[name].mean() / row.cG[given.hero].mean(), name, row.m) for row in rows for name in others
    )
    return "supported", (
        f"most of {given.hero}'s cG that another method reaches is {share:.2f} of it "
        f"({name}, m = {m}; allowed {given.ratio:.2f})"
    )


def _remarks(rows: list[AtWidth], scores: pandas.DataFrame, threshold: float, given: Parameters) -> list[str]:
    """What a reader should know beside the verdict."""
    remarks = []
    below = sorted({n for r in rows for n in given.methods if n != given.hero and r.error[n].mean() < threshold})
    if below:
        remarks.append(f"mean test error below the threshold somewhere too: {', '.join(below)}")
    ends = sorted({edge.split()[0] for edge in grid_ends(scores, "m")})  # they may be undertuned
    if ends:
        remarks.append(f"most seeds picked the end of a grid somewhere: {', '.join(ends)}")
    lost = scores[scores.diverged].groupby("learner").size()
    if len(lost):
        remarks.append("diverged replicas: " + ", ".join(f"{n} of {name}" for name, n in lost.items()))
    return remarks


def _plain(row: AtWidth, given: Parameters) -> dict[str, Any]:
    """A width's figures as JSON: [mean, low, high] by method."""

    def three(values: pandas.Series) -> list[float]:
        interval = bootstrap_mean(values)
        return [interval.mean, interval.low, interval.high]

    return {
        "test_error": {name: three(row.error[name]) for name in given.methods},
        "test_cG": {name: three(row.cG[name]) for name in given.methods},
        "margin": {n: three(row.margin(n, given)) for n in given.methods if n != given.hero},
    }
