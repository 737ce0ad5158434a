"""Made-up scores for the judges of paper A's theory claims, with the columns that ``verbs/evaluate.py`` writes."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from claim_scores import judged, method, together

VARIANCE = 4.0  # of G*: errors are held against it
HERO = "algorithm1"
MEASURED = ("val_", "test_", "at_", "learner_", "found_")


def scores(
    name: str = HERO,
    measures: Callable[[dict[str, float], float], dict[str, float]] | None = None,
    seeds: int = 5,
    **more,
) -> pd.DataFrame:
    """Scores of one method; ``measures(point, luck)`` gives a replica's numbers, luck is 1 unless ``spread`` is."""

    def every(point: dict[str, float], luck: float) -> dict[str, float]:
        found = measures(point, luck) if measures else {"test_error": VARIANCE * 1e-6 * luck}
        return {"teacher_variance": VARIANCE, "teacher_k2": 4.0, **found}

    sizes = {"d": 10, "k": 1, "alpha": 0.1, "m": math.nan, "spread": 0.0}
    return method(name, every, seeds, **(sizes | more))


def lost(frame: pd.DataFrame, where: pd.Series) -> pd.DataFrame:
    """The same scores with all replicas of these rows diverged: nothing measured, nothing picked."""
    frame = frame.copy()
    frame.loc[where, [c for c in frame if c.startswith(MEASURED)]] = math.nan
    frame.loc[where, ["picked", "diverged"]] = [False, True]
    return frame


def by_seed(frame: pd.DataFrame, column: str, values: list[float], where: pd.Series | None = None) -> pd.DataFrame:
    """The same scores with ``values[seed]`` in ``column`` of the picked replicas (of the rows ``where``)."""
    mine = frame.picked if where is None else frame.picked & where
    return frame.assign(**{column: frame[column].mask(mine, frame.seed.map(dict(enumerate(values))))})


def verdict(claim: str, *frames: pd.DataFrame, **given):
    """The judgement of these scores together."""
    return judged(claim, together(*frames), **given)
