"""Made-up scores for the judges of paper B's claims, with the columns that ``verbs/evaluate.py`` writes."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import asdict
from unittest import mock

import numpy as np
import pandas as pd

from learnability import claims
from learnability.claims import Judgement, stats

AXES = {"m": 200, "N": 1000, "d": 30, "k": 8, "alpha": 0.3, "beta": 1.0, "noise": 0.0, "g_size": 8.0}
MEASURES = ["val_error", "test_error", "test_risk", "test_cG", "population_risk"]


def method(
    name: str,
    measures: Callable[[dict[str, float], float], dict[str, float]],
    seeds: int = 6,
    spread: float = 0.02,
    experiment: str = "e",
    **axes: float | list[float],
) -> pd.DataFrame:
    """Scores of one method at every combination of ``axes``.

    ``measures(point, luck)`` gives a replica's numbers, where luck is a factor near 1 of each seed and point.
    Beside each picked replica lies one that is not and whose test error would turn any verdict.
    """
    rng, rows = np.random.default_rng(sum(map(ord, name))), []
    axes = {a: v if isinstance(v, list) else [v] for a, v in (AXES | axes).items()}
    for values in itertools.product(*axes.values()):
        point = dict(zip(axes, values, strict=True))
        for seed in range(seeds):
            found = measures(point, math.exp(spread * rng.normal()))
            keys = {"experiment": experiment, "learner": name, "point": "all", **point, "seed": seed, "lr": 0.5}
            good = {"val_error": found.get("test_error", 1.0), "wd": 1e-3, "diverged": False, "picked": True}
            poor = {"val_error": 99.0, "wd": 1e-2, "diverged": False, "picked": False}
            rows.append(keys | good | found)
            rows.append(keys | found | poor | {"test_error": 1e-9 if found.get("test_error", 1) > 0.3 else 9.0})
    frame = pd.DataFrame(rows)
    return frame.assign(replica=range(len(frame)))


def exact(ratio=4.0, name="gaussian", predicted=1.0, **more) -> pd.DataFrame:
    """A kernel's risk: ``ratio`` times alpha^2 / 4 at the ridge that is not picked, ten times that at the other.

    ``predicted``: the spectrum's prediction / the mean at the ridge that is picked; both may depend on the point.
    """

    def measures(point, luck):
        factor, off = (value(point) if callable(value) else value for value in (ratio, predicted))
        risk = 10 * factor * point["alpha"] ** 2 / 4
        return {"test_error": 1.0, "population_risk": risk * luck, "predicted_risk": risk * off}

    sizes = {"m": math.nan, "k": 4, "g_size": 4.0, "d": [10, 30], "N": [100, 400, 1600]}
    frame = method(name, measures, **(sizes | more))
    frame.loc[~frame.picked, "population_risk"] /= 10
    frame.loc[~frame.picked, "predicted_risk"] *= 3
    return frame


def together(*frames: pd.DataFrame) -> pd.DataFrame:
    """One table, with the columns of all."""
    return pd.concat(frames, ignore_index=True)


def lose(frame: pd.DataFrame, where: pd.Series) -> pd.DataFrame:
    """The same scores with all replicas of these rows diverged."""
    frame = frame.copy()
    frame.loc[where, ["picked", "diverged"]] = [False, True]
    frame.loc[where, [column for column in MEASURES if column in frame]] = math.nan
    return frame


def on_seeds(frame: pd.DataFrame, where: pd.Series, column: str, values: list[float]) -> pd.DataFrame:
    """The same scores with ``values[seed]`` in ``column`` of the picked replicas of these rows."""
    mine = where & frame.picked
    return frame.assign(**{column: frame[column].mask(mine, frame.seed.map(dict(enumerate(values))))})


@mock.patch.object(stats, "RESAMPLES", 4000)  # a fifth of the time
def judged(claim: str, frame: pd.DataFrame, **given) -> Judgement:
    """The judgement, after what holds for all of them: JSON without NaN, interval in order, any order of rows."""
    module = claims.load(claim)
    parameters = module.Parameters(**given)
    found = module.judge(frame, parameters)
    assert json.loads(json.dumps(asdict(found), allow_nan=False))["verdict"] == found.verdict
    rest = frame.iloc[1:].sample(frac=1, random_state=1)  # the first row says which target is judged
    shuffled = module.judge(together(frame.iloc[:1], rest), parameters)
    assert (shuffled.verdict, shuffled.seeds, shuffled.threshold) == (found.verdict, found.seeds, found.threshold)
    for name in ("value", "low", "high"):
        mine, other = getattr(found, name), getattr(shuffled, name)
        assert mine == other if mine is None else math.isclose(mine, other, rel_tol=1e-9)
    if found.value is not None:
        assert found.low - 1e-9 <= found.value <= found.high + 1e-9
    return found
