"""What the rules of A-gap, A-toy and A-search say to made-up scores."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from claim_scores import together
from dense_scores import VARIANCE, by_seed, lost, scores, verdict
from learnability.claims.a_gap import breaks

pytestmark = pytest.mark.filterwarnings("error")
ALPHAS = [0.1, 0.2, 0.4, 0.8, 1.6]

# A-gap


def gap(at: float, alphas: list[float] | None = None, **more) -> pd.DataFrame:
    """f_2 / k_2 = 0.01 (alpha / at)^2: learned up to alpha = ``at``, straight on log-log axes."""

    def measures(point, luck):
        return {"test_error": VARIANCE * 0.5, "test_f2": 4 * 0.01 * (point["alpha"] / at) ** 2 * luck**2}

    return scores(measures=measures, alpha=alphas or ALPHAS, **more)


def test_gap_supported():
    found = verdict("A-gap", gap(0.5))
    assert found.verdict == "supported" and found.threshold == 1 and found.seeds == 5
    assert [found.value, found.low, found.high] == pytest.approx([0.5] * 3)
    assert found.details["f2 / k2"]["0.1"] == pytest.approx([0.01 / 25] * 5)
    assert "fails before the gap is gone; alpha = 0.4: error 0.5, f_2 / k_2 0.0064; alpha = 0.8" in found.note
    assert verdict("A-gap", gap(0.5), share=0.04).verdict == "inconclusive"  # ends at 1 exactly


def test_gap_is_a_geometric_mean():
    frame, ends = gap(0.5, spread=0.0), [0.2, 0.4, 0.8, 0.4, 0.4]
    frame["test_f2"] *= (0.5 / frame.seed.map(dict(enumerate(ends)))) ** 2
    found = verdict("A-gap", frame)
    assert found.value == pytest.approx(0.4) and found.verdict == "supported"
    assert found.details["largest alpha"] == pytest.approx(ends)


def test_gap_contradicted():
    found = verdict("A-gap", gap(1.3))
    assert found.verdict == "contradicted" and found.value == pytest.approx(1.3) and "lower bound" not in found.note
    found = verdict("A-gap", gap(100.0))
    assert found.verdict == "contradicted" and found.value == pytest.approx(1.6)
    assert "5 seeds hold at alpha = 1.6, the largest: a lower bound" in found.note


G = gap(0.5)


@pytest.mark.parametrize(
    "frame, words",
    [
        (gap(0.5, seeds=3), "3 seeds finished"),
        (gap(0.05), "0 seeds finished"),
        (lost(G, G.seed.eq(1)), "1 seeds have no result"),
        (lost(G, G.seed.lt(2)), "3 seeds finished"),
        (lost(G, G.seed.ge(0)), "0 seeds finished"),
        (by_seed(G, "test_f2", [1.0] + [1e-3] * 4, G.alpha.eq(0.1)), "or fail at every alpha"),
        (gap(1.0, spread=0.3), "the interval does not decide"),
        (G.assign(learner="other"), "0 seeds finished"),
    ],
    ids=["few", "never learned", "one lost", "two lost", "all lost", "one fails", "wide", "no hero"],
)
def test_gap_inconclusive(frame, words):
    found = verdict("A-gap", frame)
    assert found.verdict == "inconclusive" and words in found.note


def test_gap_that_never_fails_below_one_is_open():
    assert verdict("A-gap", gap(100.0, ALPHAS[:4])).verdict == "inconclusive"


def test_gap_a_lost_alpha_leaves_the_seed():
    found = verdict("A-gap", lost(G, G.seed.eq(1) & G.alpha.eq(0.4)))
    assert found.verdict == "supported" and found.seeds == 5 and found.value == pytest.approx(0.5)


def test_gap_reads_only_its_own_experiment():
    assert verdict("A-gap", G, gap(100.0, experiment="other")) == verdict("A-gap", G)


def test_where_a_curve_breaks():
    row = pd.Series({0.1: 1e-4, 0.2: 1e-3, 0.4: 1e-1, 0.8: 1e-3})
    assert breaks(row, 0.01) == pytest.approx(0.2 * math.sqrt(2))  # not after it failed once
    assert breaks(row, 0.2) == 0.8 and math.isnan(breaks(row, 1e-5)) and math.isnan(breaks(row * math.nan, 1.0))


# A-toy

TOY = {"methods": ["layerwise"]}


def toy(
    wrong: float = 1e-5, drop: float = 1e4, alphas: list[float] | None = None, power=1.0, **more
) -> pd.DataFrame:
    """wrong_2 is alpha^power layer-wise, ``wrong`` times that by Algorithm 1, whose f_2 falls by ``drop``."""

    def method(share):
        def measures(point, luck):
            found = {"test_error": 1e-6, "test_f2": 1e-2 / drop, "at_3-triangle_f2": 1e-2}
            return found | {"learner_wrong2": point["alpha"] ** power * share * luck}

        return measures

    sizes = {"alpha": alphas or [0.05, 0.1, 0.2]} | more
    return together(scores(measures=method(wrong), **sizes), scores("layerwise", method(1.0), **sizes))


def judge_toy(*frames: pd.DataFrame, **given):
    found = verdict("A-toy", *frames, **(TOY | given))
    assert found.threshold == 100
    return found


def test_toy_supported():
    found = judge_toy(toy())
    assert found.verdict == "supported" and found.seeds == 5
    assert [found.value, found.low, found.high] == pytest.approx([1e5] * 3)
    assert "goes as alpha^1 [1, 1]" in found.note and "corrected at every alpha and on every seed" in found.note
    assert "e at alpha = 0.1: wrong coefficient layerwise 0.1, algorithm1 1e-06; f_2 falls by 1e+04" in found.note
    assert "alpha^2 [2, 2]" in judge_toy(toy(power=2.0)).note


def test_toy_gives_the_least_mean_over_alphas():
    frame, at = toy(), toy().learner.eq("algorithm1") & toy().alpha.eq(0.2)
    frame = by_seed(frame, "learner_wrong2", [0.2 / 10.0**p for p in (2, 3, 4, 3, 3)], at)
    found = judge_toy(frame)
    assert found.verdict == "supported" and found.value == pytest.approx(1e3) and found.low < 1e3 < found.high


@pytest.mark.parametrize("what", ["wrong", "drop", "wrong at one alpha"])
def test_toy_contradicted(what):
    frame = toy(**{"wrong": {"wrong": 0.1}, "drop": {"drop": 10.0}}.get(what, {}), spread=0.02)
    if what == "wrong at one alpha":
        frame = together(frame, toy(wrong=0.1, alphas=[0.4], spread=0.02))
    found = judge_toy(frame)
    assert found.verdict == "contradicted" and "the wrong monomials stay" in found.note
    assert found.value == pytest.approx(1e5 if what == "drop" else 10, rel=0.1)


Y = toy()


@pytest.mark.parametrize(
    "frame, words",
    [
        (toy(seeds=3), "3 seeds finished"),
        (lost(Y, Y.seed.lt(2) & Y.alpha.eq(0.1) & Y.learner.eq("layerwise")), "3 seeds finished"),
        (lost(Y, Y.seed.lt(2) & Y.alpha.eq(0.1) & Y.learner.eq("algorithm1")), "3 seeds finished"),
        (
            by_seed(Y, "learner_wrong2", [1e-2] + [1e-7] * 4, Y.learner.eq("algorithm1") & Y.alpha.eq(0.1)),
            "not every",
        ),
        (by_seed(Y, "test_f2", [1e-3] + [1e-7] * 4, Y.learner.eq("algorithm1")), "not every seed improves by 100"),
        (Y[Y.learner == "algorithm1"], "0 seeds finished"),
        (Y[Y.learner == "layerwise"], "0 seeds finished"),
        (Y.drop(columns="learner_wrong2"), "0 seeds finished"),
    ],
    ids=["few", "rival lost", "hero lost", "one seed", "one drop", "no rival", "no hero", "not measured"],
)
def test_toy_inconclusive(frame, words):
    found = judge_toy(frame)
    assert found.verdict == "inconclusive" and words in found.note


def test_toy_a_lost_seed_is_not_supported():
    """Five seeds were started, four are left."""
    frame = lost(Y, Y.seed.eq(1) & Y.learner.eq("algorithm1"))
    assert judge_toy(frame).verdict == "inconclusive"


def test_toy_the_other_example_is_reported_only():
    other = toy(wrong=1.0, drop=1.0, alphas=[0.1], experiment="example")
    found = judge_toy(Y, other)
    assert found.verdict == "supported" and found.value == pytest.approx(1e5)
    assert "example at alpha = 0.1: wrong coefficient layerwise 0.1, algorithm1 0.1; f_2 falls by 1" in found.note


def test_toy_the_other_example_may_be_lost():
    other = toy(experiment="example")
    assert judge_toy(Y, lost(other, other.learner.eq("algorithm1"))).verdict == "supported"


# A-search

GRAPHS = 3


def search(first: list[bool], gains: tuple[float, float] = (2.0, 5.0), gaps=(0.05, 0.1, 0.2)) -> pd.DataFrame:
    """A grid of alphas and graphs a seed, the truth (0.1, graph 0) first on validation where ``first`` says so.

    ``gains``: validation error / the truth's of the best wrong alpha with the true graph, and of a wrong graph.
    """
    rows = []
    for seed, good in enumerate(first):
        for graph in range(GRAPHS):
            for gap in gaps:
                right = (gap == 0.1) + 2 * (graph == 0)
                error = {3: 1.0, 2: gains[0], 1: gains[1], 0: 3 * gains[1]}[right] * 1e-6
                error = 1e-7 if not good and right == 2 else error
                row = {"learner_alpha": gap, "learner_graph": graph, "learner_graph_is_true": float(graph == 0)}
                rows.append(row | {"seed": seed, "val_error": error, "picked": False})
    keys = {"experiment": "search", "learner": "grid", "alpha": 0.1, "diverged": False}
    return pd.DataFrame(rows).assign(**keys)


def wilson(good: int, n: int) -> tuple[float, float]:
    """The shares p with |good/n - p| <= 1.96 sqrt(p (1 - p) / n), solved as a quadratic."""
    a, b, c = 1 + 1.96**2 / n, -(2 * good / n + 1.96**2 / n), (good / n) ** 2
    root = math.sqrt(b * b - 4 * a * c)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


@pytest.mark.parametrize(
    "good, word",
    [(10, "supported"), (8, "supported"), (7, "inconclusive"), (5, "contradicted"), (0, "contradicted")],
)
def test_search_is_a_share_of_teachers(good, word):
    found = verdict("A-search", search([i < good for i in range(10)]))
    assert found.verdict == word and found.value == good / 10 and found.threshold == 0.8 and found.seeds == 10
    low, high = wilson(good, 10)
    assert (found.low, found.high) == pytest.approx((max(0.0, low), min(1.0, high)), abs=1e-12)
    assert f"first on {good} of 10 teachers" in found.note


def test_search_tells_how_far_behind_the_others_are():
    found = verdict("A-search", search([True] * 5, gains=(1.5, 7.0)))
    assert found.verdict == "supported" and "best wrong graph has 7 times the validation error" in found.note
    assert "the best wrong alpha 1.5 times; 5 of 5 have the true graph first whatever alpha" in found.note
    assert found.details == {
        "true": [1e-6] * 5,
        "graph": pytest.approx([7e-6] * 5),
        "alpha": pytest.approx([1.5e-6] * 5),
    }


def test_search_equal_errors_are_not_first():
    assert verdict("A-search", search([True] * 5, gains=(1.0, 7.0))).verdict == "contradicted"
    assert verdict("A-search", search([True] * 5, gains=(2.0, 1.0))).verdict == "contradicted"


def test_search_inconclusive():
    whole = search([True] * 5)
    for frame, count in (
        (search([True] * 4), 4),
        (whole.assign(learner="other"), 0),
        (whole.iloc[:0], 0),
        (whole[whole.learner_graph != 0], 0),
        (whole[whole.learner_alpha != 0.1], 0),
        (whole.assign(val_error=math.nan), 0),
    ):
        found = verdict("A-search", frame)
        assert found.verdict == "inconclusive" and f"{count} seeds finished, 5 needed" in found.note


def test_search_a_lost_truth_counts_against_and_a_lost_rival_for():
    whole = search([True] * 10)
    truth = whole.learner_graph.eq(0) & whole.learner_alpha.eq(0.1)
    found = verdict("A-search", whole.assign(val_error=whole.val_error.mask(truth & whole.seed.lt(3))))
    assert found.value == 0.7 and found.verdict == "inconclusive" and found.seeds == 10
    worse = search([False] * 10)
    found = verdict("A-search", worse.assign(val_error=worse.val_error.mask(worse.val_error < 5e-7)))
    assert found.value == 1.0 and found.verdict == "supported"
