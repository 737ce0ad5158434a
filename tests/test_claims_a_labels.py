"""What the rules of A-thm3 and A-thm4 say to made-up scores."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from dense_scores import by_seed, lost, scores, verdict
from learnability.claims.a_thm3 import fit

pytestmark = pytest.mark.filterwarnings("error")

# A-thm3


def agnostic(
    slope=1.05, floor: float = 1e-4, sizes=(1000, 4000), noises=(0.0, 0.1, 0.2, 0.4), **more
) -> pd.DataFrame:
    """E(F - Y)^2 = floor + slope OPT, OPT = noise^2; ``slope`` may depend on N."""

    def measures(point, luck):
        steep = slope(point["N"]) if callable(slope) else slope
        return {"test_error": floor + steep * luck * point["noise"] ** 2}

    return scores(measures=measures, N=list(sizes), noise=list(noises), **more)


def test_thm3_supported():
    found = verdict("A-thm3", agnostic(lambda n: 1 + 80 / n))  # 1.08 and 1.02
    assert found.verdict == "supported" and found.threshold == pytest.approx(1.1) and found.seeds == 5
    assert [found.value, found.low, found.high] == pytest.approx([1.02] * 3)
    assert "at N = 4000; slope 1.08 [1.08, 1.08] at N = 1000; eps^2 0.0001 (Var(G*) 4)" in found.note
    assert found.details["slope"]["1000"] == pytest.approx([1.08] * 5)
    assert found.details["eps^2"]["4000"] == pytest.approx([1e-4] * 5)


def test_thm3_is_a_mean_over_seeds():
    frame = agnostic()
    frame["test_error"] = 1e-4 + frame.seed.map(dict(enumerate([1.0, 1.02, 1.04, 1.06, 1.03]))) * frame.noise**2
    found = verdict("A-thm3", frame)
    assert (
        found.value == pytest.approx(1.03)
        and found.verdict == "supported"
        and 1.0 <= found.low < found.high <= 1.06
    )
    assert verdict("A-thm3", frame, gamma=0.03).verdict == "inconclusive"
    assert verdict("A-thm3", frame, gamma=0.001).verdict == "contradicted"


def test_thm3_contradicted():
    found = verdict("A-thm3", agnostic(lambda n: 1.0 if n == 1000 else 1.3))
    assert found.verdict == "contradicted" and found.value == pytest.approx(1.3)
    assert "costs more than 1.1 OPT" in found.note


A = agnostic()


@pytest.mark.parametrize(
    "frame, words",
    [
        (agnostic(seeds=3), "3 seeds finished"),
        (agnostic(noises=(0.0, 0.1)), "5 seeds finished, 4 needed; 2 noise levels"),
        (agnostic(noises=(0.0,)), "0 seeds finished, 4 needed; 1 noise levels"),
        (lost(A, A.seed.eq(1) & A.N.eq(4000)), "1 seeds lost"),
        (lost(A, A.seed.lt(2) & A.N.eq(4000)), "3 seeds finished"),
        (lost(A, A.seed.ge(0)), "0 seeds finished"),
        (agnostic(1.1, spread=0.05), "the interval does not decide"),
        (A.assign(learner="other"), "0 seeds finished"),
        (A.iloc[:0], "0 seeds finished"),
    ],
    ids=["few", "two levels", "one level", "one lost", "two lost", "all lost", "wide", "no hero", "empty"],
)
def test_thm3_inconclusive(frame, words):
    found = verdict("A-thm3", frame)
    assert found.verdict == "inconclusive" and words in found.note


def test_thm3_fit():
    """Residuals weighted by 1 / (OPT + the least OPT): the largest level does not drown the others."""
    assert fit(pd.Series({0.0: 0.5, 1.0: 2.5, 4.0: 8.5})) == pytest.approx((2.0, 0.5))
    assert all(map(math.isnan, fit(pd.Series({0.0: 1.0}))))
    assert all(map(math.isnan, fit(pd.Series({0.0: 1.0, 1.0: math.nan}))))
    steep, floor = fit(pd.Series({0.0: 0.0, 1.0: 1.0, 99.0: 198.0}))  # 1 OPT but for the last, weighed 1/100
    x, w, y = (pd.Series(v) for v in ([0.0, 1.0, 99.0], [1.0, 0.25, 1e-4], [0.0, 1.0, 198.0]))
    centre = (w * x).sum() / w.sum(), (w * y).sum() / w.sum()
    expected = (w * (x - centre[0]) * (y - centre[1])).sum() / (w * (x - centre[0]) ** 2).sum()
    assert (steep, floor) == pytest.approx((expected, centre[1] - expected * centre[0]))


# A-thm4


def classes(rate=1e-3, before: float = 0.1, sizes=(1000, 4000), **more) -> pd.DataFrame:
    """Rates of wrong signs at the end (``rate`` may depend on N) and when layer 3 was released."""

    def measures(point, luck):
        error = (rate(point["N"]) if callable(rate) else rate) * luck
        return {
            "test_error": error,
            "at_3-triangle_error": before,
            "learner_epsilon": 0.01,
            "learner_halvings": 6.0,
        }

    return scores(measures=measures, N=list(sizes), **more)


def test_thm4_supported():
    found = verdict("A-thm4", classes(lambda n: 4 / n))
    assert found.verdict == "supported" and found.threshold == 0.003 and found.seeds == 5
    assert [found.value, found.low, found.high] == pytest.approx([1e-3] * 3)
    assert "layer 2 alone 0.1 [0.1, 0.1]; N = 1000: 0.004; N = 4000: 0.001; goes as N^-1 [-1, -1]" in found.note
    assert "eps_0 at the end 0.01 after 6 halvings, the rate is 0.1 times that" in found.note
    assert found.details["N=1000"] == pytest.approx([0.004] * 5)


def test_thm4_is_a_mean_over_seeds_at_the_largest_n():
    frame = by_seed(classes(0.5), "test_error", [0.001, 0.002, 0.003, 0.002, 0.002], classes().N.eq(4000))
    found = verdict("A-thm4", frame)
    assert (
        found.verdict == "supported"
        and found.value == pytest.approx(0.002)
        and 0.001 <= found.low < found.high <= 0.003
    )
    assert verdict("A-thm4", frame, epsilon=0.002).verdict == "inconclusive"


def test_thm4_contradicted():
    found = verdict("A-thm4", classes(0.02))
    assert (
        found.verdict == "contradicted"
        and found.value == pytest.approx(0.02)
        and "does not get there" in found.note
    )
    assert verdict("A-thm4", classes(0.001, before=5e-4)).verdict == "contradicted"  # layer 2 alone is better


C = classes()


@pytest.mark.parametrize(
    "frame, words",
    [
        (classes(seeds=3), "3 seeds finished"),
        (lost(C, C.seed.eq(1) & C.N.eq(4000)), "1 seeds lost"),
        (lost(C, C.seed.lt(2) & C.N.eq(4000)), "3 seeds finished"),
        (lost(C, C.seed.ge(0)), "0 seeds finished"),
        (by_seed(C, "test_error", [0.03, 1e-3, 1e-3, 1e-3, 1e-3]), "the interval does not decide"),
        (by_seed(C, "at_3-triangle_error", [5e-4, 0.1, 0.1, 0.1, 0.1]), "not on every seed"),
        (C.assign(learner="other"), "0 seeds finished"),
        (C.iloc[:0], "0 seeds finished"),
    ],
    ids=["few", "one lost", "two lost", "all lost", "wide", "layer 2 better once", "no hero", "empty"],
)
def test_thm4_inconclusive(frame, words):
    found = verdict("A-thm4", frame)
    assert found.verdict == "inconclusive" and words in found.note


def test_thm4_a_rate_of_zero_is_a_rate():
    """5000 test points may show no wrong sign."""
    found = verdict("A-thm4", by_seed(C, "test_error", [0.0, 0.0, 1e-3, 1e-3, 1e-3]))
    assert found.verdict == "supported" and found.value == pytest.approx(6e-4)
    assert verdict("A-thm4", by_seed(C, "test_error", [0.0] * 5)).value == 0.0
