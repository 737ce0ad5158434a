"""Intervals over seeds, and what the rule of B-fig2a says to made-up scores."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats as reference

from learnability.claims import b_fig2a, stats
from learnability.claims.stats import bootstrap_mean, clear_mean, tail

METHODS = ["3resnet", "3layer", "2layer", "3resnet-ntk"]
TEACHER = {"d": 30, "k": 8, "alpha": 0.3, "beta": 1.0, "noise": 0.0}  # columns of every row


def test_interval_is_the_same_every_time():
    values = np.random.default_rng(3).normal(size=7)
    first, second = bootstrap_mean(values), bootstrap_mean(list(values))
    assert first == second and first.n == 7
    assert first.low < first.mean < first.high
    assert first.mean == pytest.approx(values.mean())
    assert values.min() <= first.low and first.high <= values.max()
    moved = bootstrap_mean(2 * values + 1)
    assert (moved.low, moved.high) == pytest.approx((2 * first.low + 1, 2 * first.high + 1))


@pytest.mark.parametrize("n", [3, 5, 10, 30, 1000])
def test_tail_by_hand(n):
    """Phi(-sqrt(n/(n-1)) t_{n-1, 0.975}); 2.5% in the limit of large n."""
    expected = reference.norm.cdf(-math.sqrt(n / (n - 1)) * reference.t.ppf(0.975, n - 1))
    assert tail(n) == pytest.approx(expected, rel=1e-8)
    assert tail(n) < 0.025


def test_tail_limits():
    assert tail(5) == pytest.approx(9.541e-4, rel=1e-3)  # t = 2.7764, sqrt(5/4) t = 3.1042
    assert tail(10**6) == pytest.approx(0.025, rel=1e-4)
    assert tail(10**6, level=0.9) == pytest.approx(0.05, rel=1e-4)


def test_interval_is_the_expanded_percentile():
    """Against all 5^5 resamples of five values, cut at the expanded percentile."""
    values = np.array([0.0, 1.0, 2.0, 4.0, 8.0])
    picks = np.stack(np.meshgrid(*[values] * 5), -1).reshape(-1, 5)
    cut = tail(5)
    low, high = np.quantile(picks.mean(axis=1), [cut, 1 - cut])
    found = bootstrap_mean(values)
    assert found.low == pytest.approx(low, abs=0.2) and found.high == pytest.approx(high, abs=0.4)
    plain = np.quantile(picks.mean(axis=1), [0.025, 0.975])
    assert found.low < plain[0] and plain[1] < found.high


def coverage(n: int, repetitions: int, interval) -> float:
    rng = np.random.default_rng(11)
    found = [interval(rng.normal(size=n)) for _ in range(repetitions)]
    return np.mean([i.low <= 0 <= i.high for i in found])


def test_coverage_for_five_seeds(monkeypatch):
    monkeypatch.setattr(stats, "RESAMPLES", 3000)
    expanded = coverage(5, 2000, bootstrap_mean)
    assert 0.90 <= expanded <= 0.99
    monkeypatch.setattr(stats, "tail", lambda n, level=0.95: (1 - level) / 2)
    plain = coverage(5, 2000, bootstrap_mean)
    assert 0.78 <= plain <= 0.88 < expanded


def test_coverage_for_ten_seeds(monkeypatch):
    monkeypatch.setattr(stats, "RESAMPLES", 2000)
    assert 0.93 <= coverage(10, 1000, bootstrap_mean) <= 0.97


@pytest.mark.parametrize("n", [2, 3, 4])
def test_few_values_never_reach_the_level(monkeypatch, n):
    """A bootstrap mean lies between the least and the largest value: at most 1 - 2^(1-n)."""
    monkeypatch.setattr(stats, "RESAMPLES", 1000)
    assert coverage(n, 1000, bootstrap_mean) <= 1 - 2.0 ** (1 - n) + 0.04


@pytest.mark.parametrize("n, comparisons", [(2, 1), (5, 1), (5, 20), (10, 7), (30, 1000)])
def test_clear_interval_is_students(n, comparisons):
    values = 3 + 2 * np.random.default_rng(n).normal(size=n)
    found = clear_mean(list(values), comparisons)
    expected = reference.t.interval(1 - 0.05 / comparisons, n - 1, values.mean(), reference.sem(values))
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9)
    assert found.mean == pytest.approx(values.mean()) and found.n == n


def test_clear_interval_by_hand():
    """Mean 3, s / sqrt(n) = 1 / sqrt(2); t_4 at 0.975 is 2.7764, at 0.99875 6.7583 (level 1 - 0.05 / 20)."""
    one, many = (clear_mean([1, 2, 3, 4, 5], comparisons) for comparisons in (1, 20))
    assert (one.low, one.high) == pytest.approx((3 - 1.9632, 3 + 1.9632), abs=1e-3)
    assert (many.low, many.high) == pytest.approx((3 - 4.779, 3 + 4.779), abs=1e-2) and many.low < 1


def test_coverage_of_twenty_comparisons(monkeypatch):
    """At n = 5 each of twenty misses 0.25% of the time, any of them 4.9%; the bootstrap's each misses 6%."""
    monkeypatch.setattr(stats, "RESAMPLES", 500)
    rng = np.random.default_rng(5)
    found = [clear_mean(values, 20) for values in rng.normal(size=(20_000, 5))]
    missed = np.array([not i.low <= 0 <= i.high for i in found]).reshape(1000, 20)
    assert 0.001 < missed.mean() < 0.004 and 0.025 < missed.any(axis=1).mean() < 0.075
    assert coverage(5, 2000, lambda values: bootstrap_mean(values, 1 - 0.05 / 20)) < 0.96


def scores(seeds=6, widths=(50, 100, 200), spread=0.01, **changed) -> pd.DataFrame:
    """3resnet far below 0.72 with cG = 0.25, the rest near it with cG = 0.02.

    ``changed`` maps a learner to ``{m: {column: mean}}`` that replaces these at one width.
    Each seed has two replicas, of which the one with the lesser validation error is picked.
    """
    rng, rows = np.random.default_rng(0), []
    for name in METHODS:
        hero = name == "3resnet"
        for m in widths:
            means = {"test_error": 0.2 if hero else 0.8, "test_cG": 0.25 if hero else 0.02}
            means |= changed.get(name.replace("3", "three").replace("-", "_"), {}).get(m, {})
            for seed in range(seeds):
                for picked in (True, False):
                    values = {c: v + spread * rng.normal() for c, v in means.items()}
                    if not picked:  # a replica that would turn the verdict, were it looked at
                        values = {"test_error": 0.01, "test_cG": 0.3 - values["test_cG"]}
                    rows.append(
                        {
                            "learner": name, "point": f"m{m}", "m": m, **TEACHER,
                            "replica": 2 * seed + (not picked), "seed": seed,
                            "lr": 0.1, "wd": 1e-3 if picked else 1e-2,
                            "picked": picked, "diverged": False, **values,
                            "val_error": values["test_error"] if picked else 9.0,
                        }
                    )  # fmt: skip
    return pd.DataFrame(rows)


def judge(frame: pd.DataFrame, **given):
    parameters = b_fig2a.Parameters(**({"methods": METHODS} | given))
    return b_fig2a.judge(frame, parameters)


def test_supported():
    found = judge(scores())
    assert found.verdict == "supported", found.note
    assert found.threshold == pytest.approx(0.72) and found.seeds == 6
    assert found.low <= found.value <= found.high < 0.72
    assert found.value == pytest.approx(0.2, abs=0.02)
    assert {"100", "200"} <= set(found.details) and "50" not in found.details
    assert found.details["100"]["test_cG"]["2layer"][0] == pytest.approx(0.02, abs=0.02)


def test_label_noise_moves_the_line():
    found = judge(scores().assign(noise=0.05))
    assert found.threshold == pytest.approx(8 * (0.09 + 0.0025)) and found.verdict == "supported"
    assert judge(scores().assign(noise=0.2)).verdict == "inconclusive"  # 1.04: the others are below it too


def test_contradicted_by_the_error_of_3resnet():
    found = judge(scores(threeresnet={200: {"test_error": 0.9, "test_cG": 0.1}}))
    assert found.verdict == "contradicted"
    assert "m = 200" in found.note and found.low > found.threshold
    assert found.value == pytest.approx(0.9, abs=0.02)


def test_contradicted_by_another_method():
    found = judge(scores(threelayer={100: {"test_error": 0.3, "test_cG": 0.2}}))
    assert found.verdict == "contradicted"
    assert "3layer" in found.note and "m = 100" in found.note
    assert found.high < found.threshold  # 3resnet itself does well


def test_the_share_allowed_is_the_configs():
    frame = scores(threelayer={m: {"test_cG": 0.1} for m in (100, 200)})  # 0.4 of 3resnet's
    assert judge(frame, ratio=0.6).verdict == "supported"
    assert judge(frame, ratio=0.2).verdict == "contradicted"


def test_widths_below_the_first_do_not_decide():
    frame = scores(threeresnet={50: {"test_error": 2.0, "test_cG": 0.0}})
    assert judge(frame).verdict == "supported"
    assert judge(frame, from_width=50).verdict == "contradicted"


def test_margins_are_paired_by_seed():
    """Seeds that are hard for all methods cancel: unpaired, these intervals would overlap."""
    frame = scores(spread=0.0)
    hard = frame.seed.map(dict(enumerate([-0.2, -0.1, 0.0, 0.1, 0.15, 0.05])))
    share = frame.learner.map(lambda name: 1.0 if name == "3resnet" else 0.3)
    frame["test_cG"] = frame["test_cG"].where(~frame.picked, (0.25 + hard) * share)
    assert judge(frame.sample(frac=1, random_state=1)).verdict == "supported"
    shuffled = frame.copy()
    swap = frame.learner.eq("3layer")
    shuffled.loc[swap, "seed"] = 5 - shuffled.loc[swap, "seed"]
    assert judge(shuffled).verdict == "inconclusive"


@pytest.mark.parametrize(
    "frame, words",
    [
        (scores(seeds=4), "4 seeds with all methods finished, 5 needed"),
        (scores(seeds=1), "1 seeds"),
        (scores()[lambda f: f.learner != "2layer"], "all 4 methods"),
        (scores(widths=(20, 50)), "no width"),
        (scores(spread=0.5), "do not decide"),
        (scores(threeresnet={100: {"test_error": 0.72}}), "do not decide"),
    ],
    ids=["few seeds", "one seed", "method missing", "narrow", "wide intervals", "on the line"],
)
def test_inconclusive(frame, words):
    found = judge(frame)
    assert found.verdict == "inconclusive" and words in found.note
    assert found.threshold == pytest.approx(0.72)


def test_a_seed_without_a_result_is_left_out_for_all():
    frame = scores(seeds=6)
    lost = frame.learner.eq("2layer") & frame.seed.eq(3)
    frame.loc[lost, ["picked", "diverged"]] = [False, True]
    frame.loc[lost, ["test_error", "test_cG", "val_error"]] = math.nan
    found = judge(frame)
    assert found.verdict == "supported" and found.seeds == 5
    assert "2layer" in found.note and "diverged" in found.note
    assert judge(frame, min_seeds=6).verdict == "inconclusive"


def test_a_width_at_which_the_hero_diverged_counts_against_it():
    frame = scores(seeds=6)
    for seeds in ([3], range(6)):
        lost = frame.learner.eq("3resnet") & frame.m.eq(200) & frame.seed.isin(seeds)
        frame.loc[lost, ["picked", "diverged"]] = [False, True]
        frame.loc[lost, ["test_error", "test_cG", "val_error"]] = math.nan
        assert judge(frame).verdict == "inconclusive"


def by_seed(frame: pd.DataFrame, name: str, column: str, values: list[float]) -> pd.DataFrame:
    """At m = 100 this method's picked replicas have ``values[seed]``."""
    mine = frame.learner.eq(name) & frame.m.eq(100) & frame.picked
    return frame.assign(**{column: frame[column].mask(mine, frame.seed.map(dict(enumerate(values))))})


def test_a_rival_below_the_line_leaves_it_open():
    """Its cG is within what is allowed: no objection, but 3resnet is not the only one."""
    found = judge(scores(threelayer={100: {"test_error": 0.6}}))
    assert found.verdict == "inconclusive" and "m = 100: 3layer has test error 0.6" in found.note
    assert "below the threshold somewhere too: 3layer" in found.note and "m = 200: 3layer" not in found.note
    assert judge(scores(threelayer={50: {"test_error": 0.6}})).verdict == "supported"  # not judged there


def test_other_methods_whose_mean_is_below_the_line_are_named():
    found = judge(by_seed(scores(), "3layer", "test_error", [0.6, 0.8, 0.6, 0.8, 0.6, 0.8]))
    mean, low, high = found.details["100"]["test_error"]["3layer"]
    assert mean == pytest.approx(0.7) and low < 0.7 < 0.72 < high
    assert found.verdict == "supported" and "below the threshold somewhere too: 3layer" in found.note


@pytest.mark.parametrize(
    "name, column, values, more",
    [
        ("3resnet", "test_error", [0.73, 0.73, 0.73, 0.73, 1.2], [0.73, 0.73, 0.73, 0.73, 0.74]),
        ("3layer", "test_cG", [0.09, 0.09, 0.09, 0.09, 0.3], [0.09, 0.09, 0.09, 0.09, 0.091]),
    ],
    ids=["hero", "rival"],
)
def test_five_seeds_on_the_wrong_side_may_be_luck(name, column, values, more):
    """Of eight comparisons: no bootstrap's interval leaves the range of the data, which is all above the line."""
    wide = judge(by_seed(scores(seeds=5, spread=0.0), name, column, values))
    assert wide.verdict == "inconclusive" and f"m = 100: {name} has" in wide.note
    assert judge(by_seed(scores(seeds=5, spread=0.0), name, column, more)).verdict == "contradicted"


def test_nothing_learned_by_anyone_is_not_support():
    flat = {m: {"test_cG": 0.0} for m in (100, 200)}
    assert judge(scores(threeresnet=flat, threelayer=flat, spread=0.0)).verdict != "supported"


def test_grid_edges_are_reported():
    found = judge(scores())
    assert "3layer m=100 wd=0.001" in found.details["at_grid_edge"]
