"""Made-up scores and ways for the judges and figures of paper D's descents, with the columns that verbs write."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from learnability.claims.d_lemmas import LEMMAS

JOB = ["experiment", "learner", "point", "replica"]


def instances(learner: str = "huber", seeds: int = 3, experiment: str = "interpolate", **columns) -> pd.DataFrame:
    """Instances at L = 1..4, two widths and two n, all hypotheses met; every slack is 0.3 L but (I2)'s, 0.002."""
    rows = []
    for replica, (depth, d, n, seed) in enumerate(itertools.product((1, 2, 3, 4), (10, 30), (3, 8), range(seeds))):
        row = {"experiment": experiment, "learner": learner, "point": f"L{depth}", "replica": replica, "seed": seed}
        row |= {"L": depth, "d": d, "N": n, "picked": True, "diverged": False, "train_lost": 0.0}
        row |= {"given_smooth": 1.0, "given_alpha_times": 1.0, "given_h_times": 0.5}
        row |= {"start_slack_loss": 0.2, "start_slack_h": 0.3, "start_log10_loss": -12.0 * depth}
        row |= {"start_log10_q": -10.0 - depth, "start_log10_alpha": -3.0, "start_norm": 10.0}
        row |= {f"least_{name}": 0.3 * depth for name in LEMMAS} | {"least_I2": 0.002}
        row |= {"steps_I1": 0.4 * depth, "steps_flow_gap": np.nan, "steps_monotone": 1.0}
        row |= {"steps_log10_fallen": -14.0}
        row |= {"end_fallen": 40.0, "end_exponent": 1.01, "end_proof_exponent": 1.005, "end_log10_t": 30.0}
        row |= {"end_log10_alpha_lip": -12.0}
        rows.append(row | columns)
    return pd.DataFrame(rows)


def larger(learner: str, axis: str, holds_to: float) -> pd.DataFrame:
    """Runs with alpha or h beyond what is allowed, below the bound up to ``holds_to`` times."""
    found = []
    for times in (1.0, 1e4, 1e8):
        slack = 1.0 if times <= holds_to else -np.inf
        one = instances(learner, steps_I1=slack, least_I1=np.nan, end_fallen=np.nan, end_exponent=np.nan)
        found.append(one.assign(**{axis: times}))
    return pd.concat(found, ignore_index=True).assign(replica=lambda frame: range(len(frame)))


def interpolation() -> pd.DataFrame:
    """All that experiment ``interpolate`` has: two methods, four controls, two ways beyond."""
    frames = [
        instances(),
        instances("swish"),
        instances("above", start_slack_loss=-3.0),
        instances("coarse", start_slack_h=-1.0),
        instances("fast", given_alpha_times=1e8),
        instances("relu", given_smooth=0.0),
        larger("larger-alpha", "given_alpha_times", 1e4),
        larger("larger-h", "given_h_times", 1e8),
    ]
    return pd.concat(frames, ignore_index=True)


def starts(
    learner: str = "shallow", depth: int = 1, seeds: int = 5, widths=(8, 32, 128), **columns
) -> pd.DataFrame:
    """Theorem 3.3 by p: both phases as stated; h_NT < h_max from p = 32 on."""
    rows = []
    for replica, (p, seed) in enumerate(itertools.product(widths, range(seeds))):
        row = {"experiment": "random-start", "learner": learner, "point": f"L{depth}-d{p}", "replica": replica}
        row |= {"seed": seed, "L": depth, "d": p, "N": 6, "picked": True, "diverged": False, "train_lost": 0.0}
        row |= {"start_gamma": 0.3, "start_norm_share": 0.8, "start_h": 0.01, "phase1_reached": 1.0}
        row |= {"phase1_log10_t": 19.5 + seed / 100, "phase1_log10_T": 25.0, "phase1_ball": 0.2}
        row |= {"phase1_tau_share": 500.0, "phase1_norm_share": 0.9, "phase2_slack_h": -0.2 if p < 32 else 0.1}
        row |= {"least2_rate": 3.0, "least2_I1": 0.4, "needed_log10_width": 27.0}
        rows.append(row | columns)
    return pd.DataFrame(rows)


def random_starts() -> pd.DataFrame:
    """Two depths."""
    return pd.concat([starts(), starts("deeper", 2, widths=(8, 32))], ignore_index=True)


def way(scores: pd.DataFrame, split: str = "path", marks: int = 6) -> pd.DataFrame:
    """What every instance logged on its way."""
    rows = []
    for _, one in scores.iterrows():
        for mark in range(1, marks + 1):
            s = 40.0 * mark / marks
            seen = {
                "fallen": s,
                "log10_loss": one.get("start_log10_loss", 0.0) - s / np.log(10),
                "log10_t": 12 + s / 2.3,
            }
            seen |= {"norm": 10.0, "moved": 1.0} | {name: 0.3 * (i + 1) for i, name in enumerate(LEMMAS)}
            if mark % 2:
                seen |= {"4.2": np.nan, "4.4": np.nan}
            base = {name: one[name] for name in (*JOB, "seed")} | {"epoch": mark, "split": split}
            rows += [base | {"name": name, "value": value} for name, value in seen.items()]
    return pd.DataFrame(rows, columns=[*JOB, "seed", "epoch", "split", "name", "value"])
