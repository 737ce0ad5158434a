"""A-layerwise: training layer by layer stays stuck (paper A, footnote 6; the theory side of Figure 6).

On the same samples: ``together`` trains all layers from the start (the hero), ``layerwise`` one layer at a time
with those below fixed, ``algorithm1`` releases one layer after the other and fixes none (layer-wise pre-training).

Supported: every seed's error of ``layerwise`` is at least ``ratio`` times the hero's, and the interval of the mean
of pre-training's error over the hero's lies at or below ``near``. Contradicted: the interval of the mean of
layer-wise / hero lies below ``ratio``, or that of pre-training / hero above ``near``. Otherwise inconclusive. Means
are geometric.
"""

from __future__ import annotations

from typing import Annotated

import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.dense import geometric, judged, normalised, picked, ratio, span, too_few
from learnability.schema.base import Strict

ID = "A-layerwise"
PAPER = "A"
STATEMENT = "training layer by layer stays stuck, where layer-wise pre-training does as well as all layers together"
AXES = {"alpha"}
UNIT = "test error layer-wise / all layers together"


class Parameters(Strict):
    """What ``claims.A-layerwise`` in the experiment file may hold."""

    hero: str = "together"
    methods: Annotated[list[str], Field(min_length=1)]
    ratio: Annotated[float, Field(gt=1)] = 100.0
    near: Annotated[float, Field(gt=1)] = 10.0
    min_seeds: Annotated[int, Field(ge=2)] = 4


def errors(scores: pandas.DataFrame, given: Parameters) -> dict[str, pandas.Series]:
    """Method -> normalised test error by seed, at the hero's alpha, in the claim's own experiment."""
    ours = normalised(scores[scores.experiment == scores.experiment.iloc[0]])
    hero = ours[ours.learner == given.hero]
    if hero.empty:
        return {}
    alpha = hero.alpha.iloc[0]
    found = {name: picked(ours, name, alpha=alpha).nmse.dropna() for name in (given.hero, *given.methods)}
    return {name: values for name, values in found.items() if len(values)}


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text."""
    if not len(scores):
        return too_few(0, given.min_seeds, given.ratio)
    found = errors(scores, given)
    details = {name: values.tolist() for name, values in found.items()}
    needed = (given.hero, "layerwise", "algorithm1")
    least = min((len(found.get(name, [])) for name in needed), default=0)
    if least < max(2, given.min_seeds):
        return too_few(least, given.min_seeds, given.ratio, details)
    stuck = ratio(found["layerwise"], found[given.hero])
    near = geometric(ratio(found["algorithm1"], found[given.hero]))
    interval = geometric(stuck)
    lost = scores[scores.learner.isin(needed)].groupby("learner").seed.nunique().max() - least
    if interval.high < given.ratio:
        word, reason = "contradicted", "layer-wise training comes near"
    elif near.low > given.near:
        word, reason = "contradicted", "pre-training falls behind, too"
    elif lost or (stuck < given.ratio).any() or near.high > given.near:
        word, reason = "inconclusive", "not on every seed"
    else:
        word, reason = "supported", f"layer-wise is behind by {span(stuck)}"
    notes = [reason, f"pre-training / together: {near}"]
    notes += [f"{name}: {span(values)}" for name, values in found.items()]
    return judged(word, interval, given.ratio, notes, details)
