"""D-thm3.3: from a random start in two phases (paper D, Theorem 3.3).

Every seed draws data and a start, with h = h_NT (5). Phase 1 has alpha_NT = c_alpha / (p L^5): the number of steps
to J < n^-(1+24L) is held against T, then the descent goes on to T, and phase 2 follows from there with alpha_max,
its loss held against the theorem's rate (constant 50 of the proof) and against Theorem 3.1's bound. Steps are those
of the gradient flow, its time over alpha. gamma (Assumption 3.2) is exact.

At every depth, at the largest p. Supported: every seed reaches the threshold within T and stays below the rate,
gamma lies in (0, 1], the descent was followed to T, and Theorem 3.1 applies to phase 2 (h_NT < h_max there).
Contradicted: with gamma in (0, 1] so many seeds fail a conclusion that a share of 4 delta, which the theorem
allows, would do it in one case of 20 at most (binomial). Otherwise inconclusive. 'p large enough' is a polynomial
that the paper does not give; what its proof asks for with the config's constants, and which of its conditions fail
as p shrinks, is reported. The number is T / (steps to the threshold).
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy
import pandas
from pydantic import Field
from scipy.special import bdtrc

from learnability.claims import Judgement
from learnability.claims.dense import judged, span, too_few
from learnability.claims.descent import over_seeds
from learnability.schema.base import Strict

ID = "D-thm3.3"
PAPER = "D"
STATEMENT = "from a random start, alpha_NT brings J below n^-(1+24L) within T steps, then alpha_max at rate 1/t"
AXES = {"L", "d"}
UNIT = "T / steps to J < n^-(1+24L)"
NEAR = 0.01  # log10: what of T may be missing
CONDITIONS = {  # what the proof uses: name -> (column, log10 or plain, text); a ratio of allowed to measured
    "h": "h_max / h_NT at T+1",
    "norm": "sqrt(6pL) / |V^(T+1)|",
    "ball": "tau / distance moved",
    "tau": "limit on tau / tau",
}


class Parameters(Strict):
    """What ``claims.D-thm3.3`` in the experiment file may hold."""

    hero: str = "shallow"  # whose ways are drawn
    methods: Annotated[list[str], Field(min_length=1)]
    delta: Annotated[float, Field(gt=0, lt=0.25)] = 0.1
    min_seeds: Annotated[int, Field(ge=2)] = 5


def outcomes(rows: pandas.DataFrame) -> pandas.DataFrame:
    """What Theorem 3.3 concludes, and what its proof uses, for every seed and p: ratios, at least 1 where true."""

    def column(name: str) -> pandas.Series:
        return rows[name] if name in rows else pandas.Series(numpy.nan, index=rows.index)

    reached = column("phase1_reached") == 1
    return pandas.DataFrame(
        {
            "time": (10 ** (column("phase1_log10_T") - column("phase1_log10_t"))).where(reached, 0.0),
            "rate": (10 ** column("least2_rate")).where(reached, 0.0),
            "bound": (10 ** column("least2_I1")).where(reached, 0.0),
            "h": (10 ** column("phase2_slack_h")).where(reached, 0.0),
            "norm": 1 / column("phase1_norm_share"),
            "ball": 1 / column("phase1_ball"),
            "tau": 1 / column("phase1_tau_share"),
        }
    )


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    rows = scores[scores.learner.isin(given.methods)].reset_index(drop=True) if len(scores) else scores
    if not len(rows) or "phase1_reached" not in rows:
        return too_few(0, given.min_seeds, 1.0)
    found = outcomes(rows)
    widest = rows.d == rows.groupby("L").d.transform("max")
    details = _details(rows, found)
    top, ends = found[widest], rows[widest]
    seeds = int(ends.groupby("L").seed.nunique().min())
    assumed = ends.start_gamma.between(0, 1, inclusive="right")
    failed = (top[["time", "rate"]] < 1).any(axis=1)
    share = failed[assumed].groupby(ends.L[assumed]).agg(["sum", "size", "mean"])
    chance = bdtrc(share["sum"] - 1, share["size"], 4 * given.delta)  # of as many failures or more
    if seeds < given.min_seeds:
        return too_few(seeds, given.min_seeds, 1.0, details)
    if (chance <= 0.05).any():
        reason = f"fails on {span(share['mean'])} of the seeds at the largest p, 4 delta = {4 * given.delta:g}"
        word = "contradicted"
    elif failed.any() or not assumed.all():
        word, reason = "inconclusive", "some seeds fail, or have no margin"
    elif "phase1_log10_short" in ends and (ends.phase1_log10_short > NEAR).any():
        word, reason = "inconclusive", "a descent was not followed to T"
    elif (top.h < 1).any():
        word, reason = "inconclusive", "Theorem 3.1 does not apply to phase 2: h_NT >= h_max"
    else:
        word, reason = "supported", "both phases as stated on every seed at the largest p"
    times = top.time.loc[ends.sort_values("seed", kind="stable").index]
    means = numpy.log10(times.where(times > 0)).groupby(ends.L).mean()  # NaN where no seed got there
    least = means.idxmin() if means.notna().all() else means.index[means.isna()][0]
    chosen = times[(times > 0) & (ends.L.reindex(times.index) == least)]
    return judged(word, over_seeds(chosen), 1.0, [reason, *_notes(rows, details)], details)


def _details(rows: pandas.DataFrame, found: pandas.DataFrame) -> dict[str, Any]:
    table = {}
    for (depth, p), mine in found.groupby([rows.L, rows.d]):
        here = rows.loc[mine.index]
        table[f"L = {depth:.0f}, p = {p:.0f}"] = {
            "log10 steps to the threshold": span(here.phase1_log10_t),
            "log10 T": span(here.phase1_log10_T),
            "gamma": span(here.start_gamma),
            "conclusions hold": int((mine[["time", "rate"]] >= 1).all(axis=1).sum()),
            "seeds": len(mine),
            "Theorem 3.1's bound / loss in phase 2": span(mine.bound),
            "log10 p that the proof asks for": span(here.needed_log10_width),
            **{text: span(mine[name]) for name, text in CONDITIONS.items()},
        }
    return {
        "by p": table,
        "holds from p": {name: _from(rows, found[name] >= 1) for name in (*CONDITIONS, "time", "rate")},
    }


def _from(rows: pandas.DataFrame, holds: pandas.Series) -> dict[str, float | None]:
    """L -> the least p from which on every seed has it; None if the largest p has not."""
    found: dict[str, float | None] = {}
    for depth, mine in holds.groupby(rows.L):
        by_p = mine.groupby(rows.d[mine.index]).all().sort_index(ascending=False).cummin()
        found[f"{depth:.0f}"] = float(by_p[by_p].index.min()) if by_p.any() else None
    return found


def _notes(rows: pandas.DataFrame, details: dict[str, Any]) -> list[str]:
    notes = []
    for depth, mine in rows.groupby("L"):
        n, key = mine.N.iloc[0], f"{depth:.0f}"
        steps = mine.phase1_log10_t
        told = f"L = {key}: 1e{steps.min():.1f}..1e{steps.max():.1f} steps to the threshold"
        told += (
            f" (n^(2+24L) = 1e{(2 + 24 * depth) * numpy.log10(n):.1f}, T = 1e{mine.phase1_log10_T.median():.1f})"
        )
        told += f", gamma {span(mine.start_gamma)}, the proof asks for p >= 1e{mine.needed_log10_width.min():.0f}"
        if "start_log10_alpha_lip" in mine:
            lips = [span(10 ** mine[f"{when}_log10_alpha_lip"]) for when in ("start", "phase1")]
            told += f"; alpha_NT times the Hessian's norm {lips[0]} at the start, {lips[1]} at T"
        starts = {name: found[key] for name, found in details["holds from p"].items()}
        words = {name: "at no p" if p is None else f"from p = {p:.0f}" for name, p in starts.items()}
        told += f"; conclusions hold {words['time']}, h_NT < h_max {words['h']}, |V| <= sqrt(6pL) {words['norm']}"
        told += f", moved less than tau {words['ball']}, tau within its limit {words['tau']}"
        notes.append(told)
    return notes
