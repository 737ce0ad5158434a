"""D-thm3.1: small loss gives J_t <= J_1 / (Q (t-1) + 1) at every step (paper D, Theorem 3.1, (3a)-(3c)).

An *instance* is one network on one data set. Its slack is the least, over all that was seen of its way, of
log10((J_1 / J_t - 1) / (Q (t-1))), Q = Q~(alpha): by exact steps from t = 1 on, then along the gradient flow until
the loss has fallen by e^fallen, far beyond t = 1/Q. An instance counts if it meets every hypothesis (measured:
``claims/descent.py``) and was followed that far.

Supported: at least ``min_instances`` count, all that were asked for do, and the slack of each is above ``accuracy``
(what the flow's time may be off by). Contradicted: an instance that counts has a slack below -``accuracy``.
Otherwise inconclusive. The same rule is put to runs outside the hypotheses (``others``), which may not come out
supported, and to Q a million times too large (``q_control``), which must come out contradicted; and among the runs
with ever larger alpha (``beyond``) some must break the bound. If not, the check has no teeth and the claim is
inconclusive. The number is the least ratio 10^slack: geometric mean and
interval over the seeds of the setting where it is least. How much larger alpha and h may be (``beyond``) is told.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement, Word
from learnability.claims.dense import judged, span, too_few
from learnability.claims.descent import SETTING, by_depth, finished, hypotheses, over_seeds, unmet
from learnability.schema.base import Strict

ID = "D-thm3.1"
PAPER = "D"
STATEMENT = "if J_1 < n^-(1+24L), h < h_max and alpha <= alpha_max(h), then J_t <= J_1 / (Q~ (t-1) + 1) for all t"
AXES = {"L", "d", "N"}
UNIT = "least (J_1 / J_t - 1) / (Q~ (t-1))"


class Parameters(Strict):
    """What ``claims.D-thm3.1`` in the experiment file may hold."""

    hero: str = "huber"  # whose ways are drawn
    methods: Annotated[list[str], Field(min_length=1)]
    others: list[str] = Field(default_factory=list)
    beyond: list[str] = Field(default_factory=list)
    fallen: Annotated[float, Field(gt=0)] = 40.0
    accuracy: Annotated[float, Field(gt=0)] = 0.01  # log10: the flow's time is good to 0.2% (tests/test_flow.py)
    min_instances: Annotated[int, Field(ge=1)] = 24
    min_seeds: Annotated[int, Field(ge=2)] = 3
    q_control: Annotated[float, Field(gt=1)] = 1e6


def slack(rows: pandas.DataFrame) -> pandas.Series:
    """The least of log10((J_1 / J_t - 1) / (Q (t-1))) by steps and by flow."""
    return numpy.fmin(rows.least_I1, rows.steps_I1)


def decide(
    rows: pandas.DataFrame, given: Parameters, q_times: float = 1.0, least: int | None = None
) -> tuple[Word, str]:
    """The verdict on some instances, ``least`` of them (``min_instances``), and why; ``q_times`` multiplies Q."""
    if not len(rows):
        return "inconclusive", "nothing was run"
    there = rows[finished(rows, given.fallen)]
    counted = there[hypotheses(there).all(axis=1)]
    slacks = slack(counted) - numpy.log10(q_times)
    if (slacks < -given.accuracy).any():
        return "contradicted", f"{(slacks < -given.accuracy).sum()} of {len(counted)} instances are above the bound"
    if len(counted) < len(there):
        return "inconclusive", "hypotheses not met: " + ", ".join(unmet(there))
    if len(there) < len(rows):
        return (
            "inconclusive",
            f"{len(rows) - len(there)} of {len(rows)} instances are lost or were not followed far enough",
        )
    if len(counted) < (needed := given.min_instances if least is None else least):
        return "inconclusive", f"{len(counted)} instances, {needed} needed"
    if (slacks <= given.accuracy).any():
        return "inconclusive", "an instance is closer to the bound than its time is known"
    return "supported", f"all {len(counted)} instances below the bound"


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    rows = scores[scores.learner.isin(given.methods)] if len(scores) else scores
    if not len(rows) or "least_I1" not in rows:
        return too_few(0, given.min_seeds, 1.0)
    word, reason = decide(rows, given)
    controls = {name: decide(scores[scores.learner == name], given, least=1) for name in given.others}
    large = f"Q times {given.q_control:g}"
    controls[large] = decide(rows, given, given.q_control)
    blunt = [name for name, (found, _) in controls.items() if found == "supported" and name != large]
    blunt += [large] if controls[large][0] != "contradicted" else []
    further = scores[scores.learner.isin(given.beyond)]
    blunt += [] if not given.beyond or (further.steps_I1 < 0).any() else ["no run with larger alpha"]
    if word == "supported" and blunt:
        word, reason = "inconclusive", f"the check has no teeth: {', '.join(blunt)} is not told apart"
    known = rows[numpy.isfinite(slack(rows))].assign(slack=lambda r: slack(r))
    if not len(known):
        return too_few(0, given.min_seeds, 1.0)
    least = known.groupby(SETTING).slack.mean().idxmin()
    worst = known.set_index(SETTING).sort_index().loc[[least]]
    if worst.seed.nunique() < given.min_seeds and word == "supported":
        return too_few(worst.seed.nunique(), given.min_seeds, 1.0)
    details = _details(scores, known, controls, given)
    notes = [reason, *_notes(known, details, given)]
    values = 10 ** worst.sort_values("seed").slack
    return judged(word, over_seeds(values), 1.0, notes, details)


def _details(
    scores: pandas.DataFrame, known: pandas.DataFrame, controls: dict, given: Parameters
) -> dict[str, Any]:
    return {
        "instances": len(known),
        "least ratio by L": by_depth(known, "slack"),
        "exponent by L": {f"{n:.0f}": _digits(r.end_exponent) for n, r in known.groupby("L")},
        "proof's exponent by L": {f"{n:.0f}": _digits(r.end_proof_exponent) for n, r in known.groupby("L")},
        "log10 t by L": {f"{n:.0f}": span(r.end_log10_t) for n, r in known.groupby("L")},
        "log10 Q by L": {f"{n:.0f}": span(r.start_log10_q) for n, r in known.groupby("L")},
        "log10 alpha Lip": float(known.end_log10_alpha_lip.max()),
        "controls": {name: list(found) for name, found in controls.items()},
        "largest factor that holds": {name: beyond(scores[scores.learner == name]) for name in given.beyond},
        "largest factor tried": {name: _tried(scores[scores.learner == name]) for name in given.beyond},
        "steps against flow": _agreement(scores),
    }


def _axis(rows: pandas.DataFrame) -> str:
    """What was made larger."""
    return "given_alpha_times" if rows.given_alpha_times.nunique() > 1 else "given_h_times"


def _tried(rows: pandas.DataFrame) -> float:
    return float(rows[_axis(rows)].max()) if len(rows) else 0.0


def _digits(values: pandas.Series) -> str:
    return f"{values.min():.3f}..{values.max():.3f}"


def _agreement(scores: pandas.DataFrame) -> str:
    """|t by flow / t by steps - 1| where steps are large enough to get anywhere, and log J fell by 1.3 at most."""
    if "steps_flow_gap" not in scores:
        return "none"
    return span(scores.steps_flow_gap[scores.steps_log10_fallen < 0.1])


def beyond(rows: pandas.DataFrame) -> dict[str, float]:
    """L -> the largest multiple of alpha_max (or of h_max) up to which every seed stays below the bound."""
    found = {}
    for depth, mine in rows.groupby("L"):
        axis = _axis(mine)
        path = mine.least_I1 if "least_I1" in mine and mine.least_I1.notna().any() else mine.steps_I1
        worst = numpy.fmin(path, mine.steps_I1).groupby(mine[axis]).min().sort_index()
        holds = (worst > 0).cummin()
        found[f"{depth:.0f}"] = float(holds[holds].index.max()) if holds.any() else 0.0
    return found


def _notes(known: pandas.DataFrame, details: dict[str, Any], given: Parameters) -> list[str]:
    ratios = ", ".join(f"{value:.3g} at L = {depth}" for depth, value in details["least ratio by L"].items())
    notes = [f"least ratio {ratios}"]
    for name, factors in details["largest factor that holds"].items():
        if factors:
            tried = details["largest factor tried"][name]
            said = [f"{'>= ' if v >= tried else ''}{v:.0e} (L = {k})" for k, v in factors.items()]
            notes.append(f"{name} holds up to {', '.join(said)} times")
    said = ", ".join(f"{name} {found[0]}" for name, found in details["controls"].items())
    exponents = ", ".join(f"{v} (L = {k})" for k, v in details["exponent by L"].items())
    notes.append(f"controls: {said}")
    notes.append(f"J_t falls as t^-{exponents}; t up to 1e{known.end_log10_t.max():.0f}")
    off = details["log10 alpha Lip"]
    notes.append(
        f"steps and flow differ by less than 1e{numpy.ceil(off + numpy.log10(1.5)):.0f} of each step's fall"
    )
    if details["steps against flow"] != "none":
        notes.append(
            f"with steps large enough to get anywhere, their times differ by {details['steps against flow']}"
        )
    return notes
