"""What the rules of A-thm1, A-thm2 and A-layerwise say to made-up scores."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from claim_scores import together
from dense_scores import VARIANCE, by_seed, lost, scores, verdict
from learnability.claims.stats import bootstrap_mean

pytestmark = pytest.mark.filterwarnings("error")
NAN = math.nan


def with_error(nmse: float, tilde: float | None = None, k3: float = 2.0, **more) -> pd.DataFrame:
    """A hero's scores with these errors / Var(G*); ``k3``: the true k_3, found on all seeds."""

    def measures(point, luck):
        found = {"test_error": VARIANCE * nmse * luck, "test_tilde_error": VARIANCE * (tilde or nmse) * luck}
        found |= {"teacher_k3": k3, "found_k2": 4.0, "found_k3": k3}
        return found | {"theory_log10_N": 40.0 + point["alpha"], "theory_log10_m": 60.0, "theory_log10_gap": -90.0}

    return scores(measures=measures, **more)


# A-thm1


def test_thm1_supported():
    frames = [with_error(1e-6, experiment="dense3"), with_error(1e-7, 1e-5, NAN, experiment="dense2", seeds=6)]
    found = verdict("A-thm1", *frames)
    assert found.verdict == "supported" and found.threshold == 1e-4 and found.seeds == 6
    assert [found.value, found.low, found.high] == pytest.approx(
        [1e-5] * 3
    )  # of F~, the worse, in the worse setting
    assert (
        "at or below its limit (worst: dense2); limits are min(0.0001, 0.1 of" in found.note
        and "dense3 (L = 3): 1e-06, k_l right on 5, 5" in found.note
    )
    assert "dense2 (L = 2): 1e-07, k_l right on 6 of 6" in found.note
    assert "asks for N >= 10^40, m >= 10^60, alpha_{l+1} / alpha_l <= 10^-90 at dense3" in found.note
    assert found.details["dense2"]["depth"] == 2 and found.details["dense3"]["found_k3"] == [2.0] * 5


def test_thm1_is_a_geometric_mean():
    found = verdict(
        "A-thm1", by_seed(with_error(1e-9), "test_error", [VARIANCE * 10.0**-p for p in (9, 8, 7, 6, 5)])
    )
    logs = bootstrap_mean([-9, -8, -7, -6, -5])
    assert found.verdict == "supported" and found.value == pytest.approx(1e-7)
    assert math.log10(found.low) == pytest.approx(logs.low, abs=0.3)
    assert math.log10(found.high) == pytest.approx(logs.high, abs=0.3)


@pytest.mark.parametrize("tilde", [False, True])
def test_thm1_contradicted(tilde):
    poor = with_error(1e-6, 2e-4, experiment="poor") if tilde else with_error(2e-4, experiment="poor")
    found = verdict("A-thm1", with_error(1e-6), poor)
    assert (
        found.verdict == "contradicted" and "not learned: poor" in found.note and found.value == pytest.approx(2e-4)
    )
    noisy = by_seed(
        with_error(1e-6, experiment="poor"), "test_error", [VARIANCE * v for v in (1e-3, 1e-3, 1e-3, 1e-5, 1e-5)]
    )
    assert verdict("A-thm1", with_error(1e-6), noisy).verdict == "inconclusive"


GOOD = with_error(1e-6)


@pytest.mark.parametrize(
    "frames, words",
    [
        ([with_error(1e-6, seeds=3)], "3 seeds finished, 4 needed"),
        ([with_error(1e-6, seeds=1)], "1 seeds finished"),
        ([GOOD, with_error(1e-6, seeds=3, experiment="few")], "3 seeds finished"),
        ([lost(GOOD, GOOD.seed.eq(1))], "1 seeds diverged"),
        ([lost(GOOD, GOOD.seed.lt(2))], "3 seeds finished"),
        ([lost(GOOD, GOOD.seed.ge(0))], "0 seeds finished"),
        ([GOOD, lost(GOOD.assign(experiment="gone"), GOOD.seed.ge(0))], "seeds finished, 4 needed"),
        ([by_seed(GOOD, "test_error", [VARIANCE * 2e-4] + [4e-6] * 4)], "some seeds are above their limit: e"),
        ([GOOD.assign(learner="other")], "0 seeds finished"),
        ([GOOD.iloc[:0]], "0 seeds finished"),
    ],
    ids=[
        "few", "one", "few in a setting", "one lost", "two lost", "all lost", "setting lost", "late", "no hero",
        "empty",
    ],
)  # fmt: skip
def test_thm1_inconclusive(frames, words):
    found = verdict("A-thm1", *frames)
    assert found.verdict == "inconclusive" and words in found.note


def test_thm1_open_settings_do_not_decide():
    frames = [GOOD, with_error(0.1, experiment="hard"), with_error(1e-6, seeds=2, experiment="young")]
    found = verdict("A-thm1", *frames, open=["hard", "young"])
    assert found.verdict == "supported" and found.value == pytest.approx(1e-6) and "hard (L = 3): 0.1" in found.note
    assert verdict("A-thm1", *frames, open=["young"]).verdict == "contradicted"


def test_thm1_takes_the_alpha_that_most_settings_have():
    swept = together(GOOD, with_error(0.5, alpha=[0.3, 0.9]))
    assert verdict("A-thm1", swept, with_error(1e-7, experiment="other")).verdict == "supported"
    assert verdict("A-thm1", swept, with_error(1e-7, experiment="other", alpha=0.9)).verdict == "contradicted"


def test_thm1_counts_ranks_that_are_right():
    wrong = by_seed(GOOD, "found_k3", [2, 2, 1, 3, 2])
    assert "k_l right on 5, 3 of 5" in verdict("A-thm1", wrong).note


# A-thm2


def features(power: float = 2.0, drop: float = 1000.0, **more) -> pd.DataFrame:
    """f_2 before is alpha^power, after it is that / drop; eps^2 is 0 at the release of layer 3."""

    def measures(point, luck):
        before = point["alpha"] ** power * luck
        found = {"test_error": 1e-6, "test_f2": before / drop, "test_f3": 1e-5, "at_3-triangle_f2": before}
        return found | {"at_3-triangle_risk": 0.0}

    return scores(measures=measures, **({"alpha": [0.05, 0.1, 0.2, 0.4, 0.9]} | more))


def frozen(f2: float = 0.01, alpha: float = 0.1) -> pd.DataFrame:
    def measures(point, luck):
        return {
            "test_error": 1e-3,
            "test_f2": f2,
            "test_f3": 1e-2,
            "at_3-triangle_f2": f2,
            "at_3-triangle_risk": 0.0,
        }

    return scores("frozen", measures, alpha=alpha)


def test_thm2_supported():
    found = verdict("A-thm2", features(), frozen())
    assert found.verdict == "supported" and found.seeds == 5 and found.threshold == 100
    assert [found.value, found.low, found.high] == pytest.approx([1000] * 3)
    assert found.details["slope"] == pytest.approx([2.0] * 5) and "drops 1e+03 at alpha = 0.1" in found.note
    assert "uncorrected f_2 goes as alpha^2 [2, 2]" in found.note and "frozen: f_2 0.01 at the end" in found.note
    assert "f_2 0.01 before, 1e-05 after, f_3 1e-05 after" in found.note
    assert "f_2 before is 1 times alpha_3^2 + eps^2" in found.note
    assert "0.9" not in found.details["f2 before"]  # beyond most_alpha


def test_thm2_is_a_geometric_mean_where_the_control_is():
    frame, at = features(), features().alpha.eq(0.2)
    frame = by_seed(frame, "test_f2", [0.04 / 10.0**p for p in (2, 3, 4, 5, 6)], at)
    found = verdict("A-thm2", frame, frozen(alpha=0.2))
    assert found.verdict == "supported" and found.value == pytest.approx(1e4) and "at alpha = 0.2" in found.note
    assert verdict("A-thm2", frame).value == pytest.approx(1e3)  # without a control at the least alpha


def test_thm2_contradicted():
    found = verdict("A-thm2", features(drop=20), frozen())
    assert found.verdict == "contradicted" and "hardly improve" in found.note and found.value == pytest.approx(20)
    for power in (1.0, 3.0):
        found = verdict("A-thm2", features(power), frozen())
        assert found.verdict == "contradicted" and "does not go as alpha^2" in found.note
    assert verdict("A-thm2", features(1.0), frozen(), slope_low=0.9).verdict == "supported"


F, UNEVEN = features(), [1e-5, 4e-3, 3e-3, 2e-3, 3e-3]


@pytest.mark.parametrize(
    "frames, words",
    [
        ([features(seeds=3), frozen()], "3 seeds finished"),
        ([lost(F, F.seed.eq(1) & F.alpha.eq(0.1)), frozen()], "or one is lost"),
        ([lost(F, F.seed.lt(2)), frozen()], "3 seeds finished"),
        ([lost(F, F.seed.ge(0)), frozen()], "0 seeds finished"),
        ([by_seed(F, "test_f2", [2e-4] + [1e-6] * 4), frozen()], "not every seed's drop is 100"),
        ([features(alpha=0.1), frozen()], "not every seed's drop"),
        ([by_seed(F, "at_3-triangle_f2", UNEVEN, F.alpha.eq(0.05)), frozen()], "slope's interval does not decide"),
        ([frozen()], "0 seeds finished"),
        ([F.drop(columns="at_3-triangle_f2"), frozen().drop(columns="at_3-triangle_f2")], "0 seeds finished"),
    ],
    ids=["few", "one lost", "two lost", "all lost", "one seed", "one alpha", "slopes", "no hero", "not measured"],
)  # fmt: skip
def test_thm2_inconclusive(frames, words):
    found = verdict("A-thm2", *frames)
    assert found.verdict == "inconclusive" and words in found.note


def test_thm2_other_experiments_are_reported_only():
    def measures(point, luck):
        before = {"at_4-triangle_f2": 1e-3, "at_4-triangle_f3": 1e-2, "at_3-triangle_f2": 1.0}
        return {"test_error": 1e-6, "test_f2": 1e-3, "test_f3": 1e-4} | before

    found = verdict("A-thm2", F, frozen(), scores(measures=measures, experiment="dense4"))
    assert found.verdict == "supported" and found.value == pytest.approx(1000)
    assert found.details["drop when layer 4 is released"]["dense4"]["f3"] == pytest.approx([100] * 5)
    assert "dense4: when layer 4 is released, fall of f2 by 1, f3 by 1e+02" in found.note


# A-layerwise

METHODS = {"methods": ["layerwise", "algorithm1"], "hero": "together"}


def three(layerwise: float = 1e-2, algorithm1: float = 2e-6, together_: float = 1e-6, **more) -> pd.DataFrame:
    """Errors / Var(G*) of the three ways to train."""
    errors = {"together": together_, "layerwise": layerwise, "algorithm1": algorithm1}
    return together(
        *[
            scores(name, lambda point, luck, e=e: {"test_error": VARIANCE * e * luck}, **more)
            for name, e in errors.items()
        ]
    )


def layerwise(*frames: pd.DataFrame, **given):
    found = verdict("A-layerwise", *frames, **(METHODS | given))
    assert found.threshold == 100
    return found


def test_layerwise_supported():
    found = layerwise(three())
    assert found.verdict == "supported" and found.seeds == 5
    assert [found.value, found.low, found.high] == pytest.approx([1e4] * 3)
    assert "layer-wise is behind by 1e+04; pre-training / together: 2 [2, 2]" in found.note
    assert found.details["layerwise"] == pytest.approx([0.01] * 5)


def test_layerwise_pairs_seeds():
    """Quotients 10^2, ..., 10^6 on seeds whose errors go up and down together."""
    frame = by_seed(three(), "test_error", [4e-4] * 5, three().learner.eq("layerwise"))
    heroes = [4 * 10.0**-p for p in (6, 7, 8, 9, 10)]
    frame = by_seed(frame, "test_error", heroes, frame.learner.isin(["together", "algorithm1"]))
    found = layerwise(frame)
    assert found.verdict == "supported" and found.value == pytest.approx(1e4)
    assert found.low < 1e4 < found.high and found.details["together"] == pytest.approx([h / 4 for h in heroes])


def test_layerwise_contradicted():
    found = layerwise(three(layerwise=2e-5))
    assert found.verdict == "contradicted" and "comes near" in found.note and found.value == pytest.approx(20)
    found = layerwise(three(algorithm1=3e-5))
    assert found.verdict == "contradicted" and "pre-training falls behind, too" in found.note
    assert layerwise(three(algorithm1=3e-5), near=40.0).verdict == "supported"


T = three()


@pytest.mark.parametrize(
    "frame, words",
    [
        (three(seeds=3), "3 seeds finished"),
        (lost(T, T.seed.eq(1) & T.learner.eq("layerwise")), "not on every seed"),
        (lost(T, T.seed.eq(1) & T.learner.eq("together")), "not on every seed"),
        (lost(T, T.seed.lt(2) & T.learner.eq("algorithm1")), "3 seeds finished"),
        (lost(T, T.seed.ge(0)), "0 seeds finished"),
        (by_seed(T, "test_error", [4e-5, 4e-2, 4e-2, 4e-2, 4e-2], T.learner.eq("layerwise")), "not on every seed"),
        (by_seed(T, "test_error", [1e-3, 4e-6, 4e-6, 4e-6, 4e-6], T.learner.eq("algorithm1")), "not on every seed"),
        (T[T.learner != "layerwise"], "0 seeds finished"),
        (T[T.learner != "together"], "0 seeds finished"),
        (T[T.learner != "algorithm1"], "0 seeds finished"),
    ],
    ids=[
        "few", "layerwise lost", "hero lost", "two lost", "all lost", "one seed near", "pre-training wide",
        "no layerwise", "no hero", "no algorithm1",
    ],
)  # fmt: skip
def test_layerwise_inconclusive(frame, words):
    found = layerwise(frame)
    assert found.verdict == "inconclusive" and words in found.note


def test_layerwise_other_rows_change_nothing():
    plain = layerwise(three())
    other = three(1e-6, 1.0, experiment="other")
    elsewhere = scores("layerwise", lambda point, luck: {"test_error": 1e-9}, alpha=0.3)
    assert layerwise(three(), other, elsewhere) == plain
