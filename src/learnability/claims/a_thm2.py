"""A-thm2: features of lower layers improve when higher ones are trained (paper A, Theorem 2).

f_l = min_U E||S*_l - U S_l||^2 over orthogonal U. With layers up to l trained, Theorem 2 bounds f_{l'} by
(alpha_{l+1}^2 + eps^2) / alpha_{l'}^2: before layer 3 is released f_2 should fall as alpha_3^2, and once all layers
train it should go to zero with the error.

    drop    f_2 when layer 3 is released / f_2 at the end, at the alpha where the control is run
    slope   of log f_2 at the release of layer 3 on log alpha, over alphas up to ``most_alpha``

Supported: every seed's drop is at least ``drop``, and the interval of the slope lies between ``slope_low`` and
``slope_high``. Contradicted: the interval of the mean drop lies below ``drop``, or the slope's lies wholly outside.
Otherwise inconclusive. The control (K_2 frozen once distilled) shows that the drop is the features' own. The
number is the drop, a geometric mean.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.dense import geometric, judged, picked, ratio, span, too_few
from learnability.claims.stats import bootstrap_mean
from learnability.claims.tables import slope
from learnability.schema.base import Strict
from learnability.theory.paper_a import feature_bound

ID = "A-thm2"
PAPER = "A"
STATEMENT = (
    "layer 2's feature error is about (alpha_3 / alpha_2)^2 while layer 3 is not trained, and falls when it is"
)
AXES = {"alpha"}
UNIT = "f_2 when layer 3 is released / f_2 at the end"
BEFORE = "at_3-triangle_f2"


class Parameters(Strict):
    """What ``claims.A-thm2`` in the experiment file may hold."""

    hero: str = "algorithm1"
    control: str = "frozen"
    drop: Annotated[float, Field(gt=1)] = 100.0
    slope_low: float = 1.5
    slope_high: float = 2.2
    most_alpha: Annotated[float, Field(gt=0)] = 0.4
    min_seeds: Annotated[int, Field(ge=2)] = 4


def own(scores: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of the claim's own experiment."""
    return scores[scores.experiment == scores.experiment.iloc[0]]


def reference_alpha(scores: pandas.DataFrame, given: Parameters) -> float:
    """The alpha at which the control is run; the least one if it is not."""
    control = scores[scores.learner == given.control]
    return float((control if len(control) else scores[scores.learner == given.hero]).alpha.min())


def uncorrected(scores: pandas.DataFrame, given: Parameters) -> pandas.DataFrame:
    """f_2 at the release of layer 3: seeds x alphas up to ``most_alpha``."""
    mine = scores[(scores.learner == given.hero) & scores.picked & (scores.alpha <= given.most_alpha)]
    return mine.pivot_table(index="seed", columns="alpha", values=BEFORE)


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    if not len(scores):
        return too_few(0, given.min_seeds, given.drop)
    ours = own(scores)
    if BEFORE not in ours or not (ours.learner == given.hero).any():
        return too_few(0, given.min_seeds, given.drop)
    alpha = reference_alpha(ours, given)
    rows = picked(ours, given.hero, alpha=alpha)
    asked = ours[(ours.learner == given.hero) & (ours.alpha == alpha)].seed.nunique()
    drops = ratio(rows[BEFORE], rows.test_f2)
    table = uncorrected(ours, given)
    slopes = pandas.Series({seed: slope(row.index, row) for seed, row in table.iterrows()}, dtype=float).dropna()
    details = _details(scores, rows, drops, slopes, table)
    if len(drops) < max(2, given.min_seeds):
        return too_few(len(drops), given.min_seeds, given.drop, details)
    interval = geometric(drops)
    steep = bootstrap_mean(slopes) if len(slopes) > 1 and table.shape[1] > 1 else None
    if interval.high < given.drop:
        word, reason = "contradicted", "features hardly improve"
    elif steep is not None and (steep.high < given.slope_low or steep.low > given.slope_high):
        word, reason = "contradicted", "the uncorrected error does not go as alpha^2"
    elif len(drops) < asked or steep is None or (drops < given.drop).any():
        word, reason = "inconclusive", f"not every seed's drop is {given.drop:g} or more, or one is lost"
    elif steep.low < given.slope_low or steep.high > given.slope_high:
        word, reason = "inconclusive", "the slope's interval does not decide"
    else:
        word, reason = "supported", f"drops {span(drops)} at alpha = {alpha:g}"
    return judged(word, interval, given.drop, [reason, *_notes(ours, rows, given, steep, details)], details)


def _details(scores, rows, drops, slopes, table) -> dict[str, Any]:
    deeper = {}
    for name, other in scores[scores.experiment != scores.experiment.iloc[0]].groupby("experiment"):
        if "at_4-triangle_f2" not in other or not other["at_4-triangle_f2"].notna().any():
            continue
        best = other[other.picked]
        deeper[name] = {f"f{n}": ratio(best[f"at_4-triangle_f{n}"], best[f"test_f{n}"]).tolist() for n in (2, 3)}
    return {
        "drop": drops.tolist(),
        "slope": slopes.tolist(),
        "f2 before": {f"{a:g}": [float(v) for v in table[a].dropna()] for a in table},
        "f2 after": [float(v) for v in rows.test_f2.dropna()],
        "f3 after": [float(v) for v in rows.test_f3.dropna()] if "test_f3" in rows else [],
        "drop when layer 4 is released": deeper,
    }


def _notes(ours, rows, given: Parameters, steep, details) -> list[str]:
    notes = [f"uncorrected f_2 goes as alpha^{steep}"] if steep is not None else []
    notes.append(f"f_2 {span(rows[BEFORE])} before, {span(rows.test_f2)} after, f_3 {span(rows.test_f3)} after")
    promised = numpy.sqrt(rows["at_3-triangle_risk"]) if "at_3-triangle_risk" in rows else None
    if promised is not None and promised.notna().all():
        bounds = [feature_bound(a, e, 1.0) for a, e in zip(rows.alpha, promised, strict=True)]
        notes.append(f"f_2 before is {span(rows[BEFORE] / bounds)} times alpha_3^2 + eps^2")
    control = picked(ours, given.control)
    if len(control):
        notes.append(f"{given.control}: f_2 {span(control.test_f2)} at the end")
    for name, deeper in details["drop when layer 4 is released"].items():
        drops = ", ".join(f"{layer} by {span(values)}" for layer, values in deeper.items() if values)
        notes.append(f"{name}: when layer 4 is released, fall of {drops}")
    return notes
