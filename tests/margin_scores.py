"""Made-up scores for paper D's claims about margins and activations, with the columns that they are judged by."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from claim_scores import together
from learnability.claims.d_def2_1 import CONDITIONS, LIMITS

INF = math.inf
SUPREMA = {  # at h = 1, in the order of CONDITIONS, and a place for those that fail
    "huber": ((0, 0, 1, 1, 0.5), 1.0),
    "swish": ((0, 0, 0.9091, 0.9999, 0.1997), 1.2),
    "relu": ((1, 0, INF, 1, 0), 0.0),
    "gelu": ((0, 0, 0.7979, 1.129, 0.2935), 1.414),
    "softplus": ((0, 0.6931, 0.25, 1, 0.6931), 0.0),
    "swish-unscaled": ((0, 0, 1, 1.0998, 0.2196), 1.199),
    "tanh": ((0, 0, 0.7698, 1, 1), 4.0),
}
ACTIVATIONS = {"methods": ["huber", "swish"], "others": ["relu", "gelu", "softplus", "swish-unscaled", "tanh"]}
DATA = {"data": ["random", "halfspace", "clustered", "colliding"]}


def activation(name: str, hs: tuple[float, ...] = (1e-3, 0.1, 10.0)) -> pd.DataFrame:
    """Definition 2.1 of an activation, a row an h."""
    suprema, place = SUPREMA[name]
    rows = []
    for i, h in enumerate(hs):
        row = {"experiment": "definition", "learner": name, "point": "all", "replica": i, "seed": 0, "given_h": h}
        units = {"zero": h, "lipschitz": 1 / h, "tangent": h}
        for condition, size in zip(CONDITIONS, suprema, strict=True):
            unit, limit = units.get(condition, 1.0), 1e-3 if condition == "differentiable" else LIMITS[condition]
            values = {"worst": min(size, 1e14) * unit, "allowed": limit * unit, "where": place}
            values |= {"sup": size, "sup_at": place, "holds": size <= limit, "proved": size <= LIMITS[condition]}
            values |= {"refuted": size > LIMITS[condition]}
            row |= {f"{what}_{condition}": float(value) for what, value in values.items()}
        rows.append(row)
    return pd.DataFrame(rows).assign(d=1, N=2001, L=np.nan, diverged=False, picked=True)


def activations(**more) -> pd.DataFrame:
    """All seven, Huberized ReLU first."""
    return together(*[activation(name, **more) for name in SUPREMA])


def starts(
    name: str,
    gamma: Callable[[dict[str, float]], float],
    experiment: str,
    seeds: int = 6,
    draws: int = 1,
    spread: float = 0.02,
    **axes: list[int],
) -> pd.DataFrame:
    """Margins of ``draws`` starts a seed at all combinations of ``axes`` (L, N, d); gamma has luck near 1."""
    rng, rows = np.random.default_rng(sum(map(ord, name))), []
    for values in itertools.product(*axes.values(), range(seeds), range(draws)):
        point = dict(zip([*axes, "seed"], values[:-1], strict=True))
        value = gamma(point) * math.exp(spread * rng.normal())
        found = {"margin_gamma": value, "margin_certified": value * (1 - 1e-12), "margin_gap": 1e-12}
        rows.append({"experiment": experiment, "learner": name, "point": "all", **point, **found})
    frame = pd.DataFrame(rows)
    return frame.assign(replica=range(len(frame)), margin_h=0.01, diverged=False, picked=True)


def assumption(power: float = 0.05, **more) -> pd.DataFrame:
    """Four data sets whose gamma goes as p^power n^-1/2 (clustered: 1/2)."""
    sizes = {"L": [1, 2], "N": [16, 64], "d": [16, 64, 128, 256]} | more
    found = []
    for name in DATA["data"]:
        experiment = "margin" if name == "random" else f"margin-{name}"
        shift = 0 if name == "clustered" else -0.5

        def gamma(point: dict[str, float], shift: float = shift) -> float:
            return 0.5 * point["L"] * point["d"] ** power * point["N"] ** shift

        found.append(starts(name, gamma, experiment, **sizes))
    return together(*found)


def clustered(p: float = 0.0, n: float = 0.0, level: float = 0.5, **more) -> pd.DataFrame:
    """Proposition C.1's own data: gamma = level (p / 32)^p (n / 16)^n; the event happens on all starts."""

    def gamma(point: dict[str, float]) -> float:
        return level * (point["d"] / 32) ** p * (point["N"] / 16) ** n

    sizes = {"L": [1], "N": [16, 64, 256], "d": [32, 64, 128]} | more
    frame = starts("clustered", gamma, "clustered", **sizes)
    proof = {"margin_proof": 0.7 * frame.margin_gamma, "margin_proof_bound": 0.16 * frame.margin_gamma}
    return frame.assign(**proof, margin_part_c=1.0, margin_plus=0.25, margin_minus=0.28)


def random_labels(n: float = -0.5, **more) -> pd.DataFrame:
    """The control: gamma = 0.2 (n / 16)^n."""
    sizes = {"L": [1], "N": [16, 64, 256], "d": [32, 64, 128]} | more
    return starts("random", lambda point: 0.2 * (point["N"] / 16) ** n, "clustered-control", **sizes)


def proposition(*changes, **more) -> pd.DataFrame:
    """Both."""
    return together(clustered(*changes, **more), random_labels(**more))


def lost(frame: pd.DataFrame, where: pd.Series) -> pd.DataFrame:
    """The same scores without a result in these rows."""
    frame = frame.copy()
    measured = [c for c in frame if c.startswith(("margin_", "worst_", "holds_"))]
    frame.loc[where, measured] = math.nan
    return frame
