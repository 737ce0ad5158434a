"""Made-up scores for the figures' tests: one set a claim, and what a small or unlucky run leaves of it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

NETWORKS = ["3resnet", "3layer", "2layer"]
METHODS = [network + how for network in NETWORKS for how in ("", "-last", "-ntk")]
KERNELS = ["gaussian", "arcsin", "tangent"]
GIVEN = {
    "B-fig2a": {"methods": METHODS},
    "B-fig2b": {"methods": METHODS},
    "B-fig2c": {},
    "B-thm1": {"kernels": ["gaussian", "tangent"]},
    "B-thm2": {"kernels": KERNELS},
    "B-cor7.1": {"kernels": KERNELS, "others": ["3layer"]},
    "B-fig1": {},
}


def rows(learner: str, seeds: int = 5, **columns) -> pd.DataFrame:
    """Scores of one method at one point, the axes at values of their own unless given: a picked replica a seed."""
    base = {"experiment": "made", "learner": learner, "m": 200.0, "N": 1000, "d": 30, "k": 8, "alpha": 0.3}
    base |= {"beta": 1.0, "noise": 0.0, "g_size": 8.0, "lr": 0.1, "wd": 0.01, "test_cG": 0.1, "test_error": 1.0}
    frame = pd.DataFrame([base | columns] * seeds).assign(seed=range(seeds), picked=True, diverged=False)
    spread = np.exp(0.05 * np.resize([-1.0, 0.5, 0.1, -0.6, 1.2], seeds))
    measured = [c for c in ("test_error", "population_risk", "test_risk") if c in frame]
    frame[measured] = frame[measured].mul(spread, axis=0)
    return frame.assign(val_error=frame.test_error)


def fig2a() -> pd.DataFrame:
    found = [rows(n, m=m, test_error=0.3 if n == "3resnet" else 2.0) for n in METHODS for m in (50, 100, 200)]
    return pd.concat(found, ignore_index=True)


def fig2b() -> pd.DataFrame:
    """Linearised methods have fewer N and another width; 3resnet crosses 0.72 near 1000."""
    found = [rows(n, N=N, test_error=720 / N) for n in ("3resnet", "3layer") for N in (500, 2000, 8000)]
    found += [rows(n, N=N, m=100.0, test_error=6.0) for n in METHODS if "-" in n for N in (500, 8000)]
    return pd.concat(found, ignore_index=True)


def fig2c() -> pd.DataFrame:
    sizes = (0.1, 0.3, 1.0)
    found = [rows("3resnet", beta=b, test_error=0.72 * (0.2 / b)) for b in sizes]
    found += [rows("3resnet-last", beta=b, test_error=8 * b**2 + 0.8) for b in sizes]
    return pd.concat(found, ignore_index=True)


def thm1() -> pd.DataFrame:
    """Parities are learned; on the smooth target 3resnet misses the line at the least alpha."""
    found = []
    for experiment, g, noise in (("thm1", 4.0, 0.05), ("thm1-smooth", 1.0, 0.03)):
        for alpha in (0.08, 0.3, 0.8):
            for sigma in (0.0, noise):
                point = {"experiment": experiment, "alpha": alpha, "noise": sigma, "g_size": g, "k": 4}
                low = 1e-4 + 0.5 * sigma**2
                found.append(rows("3resnet", **point, test_risk=low, test_error=low))
                for name in ("gaussian", "tangent"):
                    found.append(rows(name, **point, population_risk=g * alpha**2 + sigma**2, m=np.nan))
    return pd.concat(found, ignore_index=True)


@cache
def thm2() -> pd.DataFrame:
    """Kernels at d = 8, 20, 30: half learned with d^3 / 4 samples; networks with 12 d."""
    found = []
    for d in (8, 10, 20, 30):
        for n in (100, 300, 800):
            for i, name in enumerate(KERNELS):
                size = 0.36 * min(1.0, (d**3 / 4) / (2 * n)) * (1 + i / 10) if name != "arcsin" else 0.4
                point = {"d": d, "N": n, "k": 4, "g_size": 4.0, "m": np.nan, "population_risk": size}
                for wd, picked in ((0.01, True), (0.1, False)):
                    worse = {} if picked else {"population_risk": 2 * size}
                    more = {"predicted_risk": size * (1 if picked else 2), "wd": wd}
                    found.append(rows(name, **point | worse | more).assign(picked=picked))
    for name, dims in (("3resnet", (10, 20, 40)), ("3layer", (20,))):
        for d in dims:
            found += [rows(name, d=d, N=n, k=4, test_error=0.0324 * (12.0 * d / n) ** 3) for n in (100, 300, 800)]
    return pd.concat(found, ignore_index=True)


def fig1() -> pd.DataFrame:
    point = {"d": 40, "N": 5000, "k": 1, "alpha": 0.0, "g_size": 1.0}
    found = []
    for m, lr, wd, norm, error in (
        (200, 0.4, 0.0004, 18, 0.07),
        (200, 0.05, 0.01, 2.4, 1.0),
        (1000, 0.4, 0.01, 2.5, 1.1),
    ):
        rate = {"m": m, "lr": lr, "wd": wd, "train_norm_W": norm, "test_error": error}
        rate |= {"train_error": error / 2, "train_final_error": error / 4}
        found.append(rows("sgd" if m == 200 else "sgd-wide", **point, **rate))
    for wanted in (0.12, 0.011):
        least = 13.06 * (1 - wanted**0.5)
        made = {
            "wanted_error": wanted,
            "least_norm_W": least,
            "train_norm_W": 1.1 * least,
            "lr": np.nan,
            "wd": np.nan,
        }
        found.append(
            rows("by-hand", **point, **made, test_error=wanted, train_final_error=wanted, population_risk=wanted)
        )
    return pd.concat(found, ignore_index=True)


SCORES = {"B-fig2a": fig2a, "B-fig2b": fig2b, "B-fig2c": fig2c, "B-fig1": fig1, "B-thm1": thm1}
SCORES |= {"B-thm2": thm2, "B-cor7.1": thm2}


def poorer(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Scores as a small or unlucky run leaves them."""
    hero = scores.learner.iloc[0]
    measured = [
        c for c in ("test_error", "test_cG", "test_risk", "population_risk", "predicted_risk") if c in scores
    ]
    lost, alone = scores.copy(), scores[scores.learner == hero]
    lost.loc[lost.learner == hero, ["picked", "diverged"]] = [False, True]
    lost.loc[lost.learner == hero, measured] = np.nan
    times = [c for c in measured if c != "test_cG"]
    return {
        "two seeds": scores[scores.seed < 2],
        "one seed": scores[scores.seed < 1],
        "no hero": scores[scores.learner != hero],
        "hero alone": alone.drop(columns=[c for c in measured if alone[c].isna().all()]),
        "hero diverged": lost,
        "all diverged": scores.assign(picked=False, diverged=True),
        "never there": scores.assign(**{c: scores[c] * 1e4 for c in times}),
        "there at once": scores.assign(**{c: scores[c] * 1e-6 for c in times}),
        "one point": scores[(scores.d == 20) & (scores.N == 100)]
        if (scores.d == 20).any()
        else scores.query("m == 200"),
        "some seeds lost": scores.drop(scores.index[::4]),
    }
