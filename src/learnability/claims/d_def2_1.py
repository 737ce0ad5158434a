"""D-def2.1: Huberized ReLU and scaled Swish are h-smoothly approximately ReLU (paper D, Definition 2.1).

The five conditions (differentiable; phi(0) = 0; phi' is 1/h-Lipschitz; |phi'| <= 1; |phi'(z) z - phi(z)| <= h/2)
are looked at in two ways: on a grid of z at every h, where each has its worst value and the place of it, and by
interval arithmetic at h = 1, which proves or refutes each on all of R and so, as phi_h(z) = h phi(z/h), for all h.

Supported: each of ``methods`` holds every condition on the grid at every h, and is proved to. Contradicted: one is
refuted, or fails on the grid where nothing is proved. Inconclusive: a condition fails on the grid and is proved,
or is neither proved nor refuted; one of ``others``, activations that are not of this kind, fails no condition in
both ways (the check has no teeth then); an activation has no result at some h.

The number is the largest worst / allowed of ``methods`` over all h and conditions, at most 1. phi(0) = 0 allows
nothing and has no such ratio. Nothing is random: the interval is the number itself, and seeds are 1.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement, Word
from learnability.claims.dense import judged
from learnability.claims.stats import Interval
from learnability.schema.base import Strict
from learnability.theory.smoothed_relu import CONDITIONS

ID = "D-def2.1"
PAPER = "D"
STATEMENT = "Huberized ReLU and scaled Swish are h-smoothly approximately ReLU"
AXES: set[str] = set()
UNIT = "largest worst / allowed of a condition of Definition 2.1"
LIMITS = dict(zip(CONDITIONS, (0.0, 0.0, 1.0, 1.0, 0.5), strict=True))  # at h = 1
MEASURED = ("worst", "allowed", "where", "holds", "proved", "refuted", "sup", "sup_at")


class Parameters(Strict):
    """What ``claims.D-def2.1`` in the experiment file may hold."""

    methods: Annotated[list[str], Field(min_length=1)]
    others: Annotated[list[str], Field(min_length=1)]


def by_condition(scores: pandas.DataFrame) -> pandas.DataFrame:
    """One row per activation, h and condition that was measured: ``MEASURED``, and ratio = worst / allowed.

    The last three of them are flags and places at h = 1; ratio is NaN where nothing is allowed.
    """
    found = []
    for condition in CONDITIONS:
        columns = {f"{what}_{condition}": what for what in MEASURED}
        if {"given_h", *columns} <= set(scores):
            rows = scores.loc[scores.picked.astype(bool), ["learner", "given_h", *columns]]
            found.append(rows.rename(columns={"given_h": "h"} | columns).assign(condition=condition))
    if not found:
        return pandas.DataFrame(columns=["learner", "h", "condition", "ratio", *MEASURED])
    table = pandas.concat(found, ignore_index=True).dropna()
    flags = {name: table[name] == 1 for name in ("holds", "proved", "refuted")}
    return table.assign(ratio=table.worst / table.allowed.where(table.allowed > 0), **flags)


def failures(table: pandas.DataFrame, name: str) -> pandas.DataFrame:
    """Conditions that an activation fails both ways, on the grid at every h and by proof: a row each, by name."""
    mine = table[table.learner == name].assign(both=lambda rows: ~rows.holds & rows.refuted)
    always = mine.groupby("condition").both.all()
    rows = mine[mine.condition.isin(always.index[always])].sort_values("h", kind="stable")
    return (
        rows.drop_duplicates("condition").set_index("condition").reindex([c for c in CONDITIONS if always.get(c)])
    )


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    table, names = by_condition(scores), [*given.methods, *given.others]
    sizes = sorted(table.h.unique())
    whole = table.drop_duplicates(["learner", "h", "condition"]).groupby("learner").size()
    gone = [name for name in names if whole.get(name, 0) < max(1, len(sizes)) * len(CONDITIONS)]
    if gone:
        note = f"no result, or not at every h: {', '.join(gone)}"
        return Judgement("inconclusive", None, None, None, 1.0, int(len(table) > 0), note, _details(table, names))
    ours = table[table.learner.isin(given.methods)]
    value = float(ours.ratio.max())
    word, reason = _decide(ours, [name for name in given.others if failures(table, name).empty])
    notes = [
        reason,
        f"{len(sizes)} h from {sizes[0]:g} to {sizes[-1]:g}; nothing is random: one number, no interval",
    ]
    for name in given.methods:
        sups = ours[ours.learner == name].groupby("condition").sup.max()
        said = ", ".join(f"{c} {sups[c]:.4g} of {LIMITS[c]:g}" for c in CONDITIONS[2:])
        notes.append(f"{name} at h = 1, by intervals: {said}")
    notes += [f"{name} fails {_said(failures(table, name))}" for name in given.others]
    return judged(word, Interval(value, value, value, 1), 1.0, notes, _details(table, names))


def _decide(ours: pandas.DataFrame, toothless: list[str]) -> tuple[Word, str]:
    def named(rows: pandas.DataFrame) -> str:
        return ", ".join((rows.learner + " " + rows.condition).drop_duplicates())

    broken = ours[ours.refuted | (~ours.holds & ~ours.proved)]
    if len(broken):
        return "contradicted", f"fails: {named(broken)}"
    if not ours.holds.all():
        return "inconclusive", f"fails on the grid and is proved to hold: {named(ours[~ours.holds])}"
    if not ours.proved.all():
        return "inconclusive", f"neither proved nor refuted: {named(ours[~ours.proved])}"
    if toothless:
        return "inconclusive", f"the check has no teeth: {', '.join(toothless)} fails nothing in both ways"
    return "supported", "all conditions hold on the grid at every h and are proved on all of R"


def _said(rows: pandas.DataFrame) -> str:
    """Each condition with its size and a place where it fails, at h = 1."""
    said = [
        f"{c} (up to {row.sup:.3g}, limit {LIMITS[c]:g}, as at z = {round(row.sup_at, 3):g} h)"
        for c, row in rows.iterrows()
    ]
    return " and ".join(said) or "nothing"


def _details(table: pandas.DataFrame, names: list[str]) -> dict[str, Any]:
    """By activation and condition: the grid's worst ratio and its place, the intervals' bound; null is infinite."""

    def plain(value: float) -> float | None:
        return float(value) if numpy.isfinite(value) else None

    found: dict[str, Any] = {}
    for (name, condition), rows in table[table.learner.isin(names)].groupby(["learner", "condition"]):
        worst = rows.sort_values(["ratio", "worst", "h"], kind="stable", na_position="first").iloc[-1]
        found.setdefault(name, {})[condition] = {
            "worst / allowed": plain(worst.ratio),
            "at z / h": plain(worst["where"]),
            "sup at h = 1": plain(worst["sup"]),
            "holds": bool(rows.holds.all()),
            "proved": bool(rows.proved.all()),
            "refuted": bool(rows.refuted.all()),
        }
    return found
