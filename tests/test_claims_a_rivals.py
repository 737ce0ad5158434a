"""What the rules of A-kernels and A-two-layer say to made-up scores, and all judges to no scores."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from claim_scores import together
from dense_scores import VARIANCE, by_seed, lost, scores, verdict
from learnability.claims import available
from learnability.claims.a_kernels import energy
from learnability.claims.a_two_layer import barred

pytestmark = pytest.mark.filterwarnings("error")
NAN = math.nan

# A-kernels: alpha_3 = 0.2, p = 4, h = 0.04 (4!)^2 / 4^4

H = 0.04 * 576 / 256
KERNELS = ["gaussian", "features"]


def method(name: str, risk, **more) -> pd.DataFrame:
    """Test risks of one method; ``risk`` may depend on the point."""

    def measures(point, luck):
        return {"test_error": (risk(point) if callable(risk) else risk) * luck}

    return scores(name, measures, **({"alpha": 0.2, "N": [50, 100]} | more))


def rivals(net: float = 1e-4, gaussian=2 * H, features=3 * H, **more) -> pd.DataFrame:
    return together(
        method("densenet", net, **({"N": [100, 300]} | more)),
        method("gaussian", gaussian, **more),
        method("features", features, **({"m": [20, 80]} | more)),
    )


def kernels(*frames: pd.DataFrame, **given):
    found = verdict("A-kernels", *frames, **({"kernels": KERNELS} | given))
    assert found.threshold == given.get("ratio", 100.0)
    return found


def test_kernels_supported():
    found = kernels(rivals())
    assert found.verdict == "supported" and found.seeds == 5 and pytest.approx(0.09) == H
    assert [found.value, found.low, found.high] == pytest.approx([2 * H / 1e-4] * 3)
    assert found.details["hidden energy"] == pytest.approx(H) and "N = 100 (binom(10, p) = 210)" in found.note
    assert found.details["risk"]["features N=100 m=20"] == pytest.approx(3 * H)
    assert set(found.details["risk"]) == {f"features N={n} m={m}" for n in (50, 100) for m in (20, 80)} | {
        f"gaussian N={n}" for n in (50, 100)
    } | {f"densenet N={n}" for n in (100, 300)}
    assert "the theorems' own N <= binom(d, p) / 1000 = 0.21 and L <= loglog(d) / 100 are dropped" in found.note
    assert "kernels' risks 2..3 times h = 0.09" in found.note and "densenet at N = 300: 0.0011 h" in found.note
    assert energy(rivals(alpha=0.5), type("P", (), {"depth": 2})) == pytest.approx(1.0)  # alpha_2 = 1, p = 2: 4 / 4


def test_kernels_takes_each_seeds_best_kernel_at_the_largest_common_n():
    frame = rivals()
    at = frame.learner.eq("features") & frame.m.eq(20) & frame.N.eq(100)
    frame = by_seed(frame, "test_error", [1.5 * H, 3 * H, 3 * H, 3 * H, 3 * H], at)
    found = kernels(frame)
    assert found.value == pytest.approx(2 * H / 1e-4 * 0.75 ** (1 / 5)) and found.verdict == "supported"
    assert found.details["ratio"] == pytest.approx([1.5 * H / 1e-4] + [2 * H / 1e-4] * 4)


def test_kernels_contradicted_by_a_risk_below_h():
    """At any N and number of features, of any kernel."""
    for frame in (
        rivals(gaussian=0.5 * H, spread=0.02),
        rivals(features=lambda p: 0.5 * H if (p["N"], p["m"]) == (50, 80) else 3 * H, spread=0.02),
    ):
        found = kernels(frame)
        assert found.verdict == "contradicted" and "settings of kernels lie below h" in found.note


def test_kernels_contradicted_by_a_better_kernel():
    found = kernels(rivals(net=0.5, gaussian=0.2))
    assert (
        found.verdict == "contradicted" and "kernels are better" in found.note and found.value == pytest.approx(0.4)
    )


K = rivals()


@pytest.mark.parametrize(
    "frame, words",
    [
        (rivals(seeds=3), "3 seeds finished"),
        (lost(K, K.seed.eq(1) & K.learner.eq("densenet")), "not by 100 on every seed"),
        (lost(K, K.seed.lt(2) & K.learner.eq("densenet")), "3 seeds finished"),
        (lost(K, K.learner.eq("densenet") & K.N.eq(100)), "0 seeds finished"),
        (rivals(net=0.01), "not by 100 on every seed"),
        (by_seed(K, "test_error", [0.01] + [1e-4] * 4, K.learner.eq("densenet")), "not by 100 on every seed"),
        (by_seed(K, "test_error", [0.3 * H] + [1.2 * H] * 4, K.learner.eq("gaussian")), "not clearly above h"),
        (rivals(N=[50, 300]), "not by 100 on every seed"),  # 300 > 210
        (K[K.learner != "densenet"], "0 seeds finished"),
        (K[K.learner == "densenet"], "0 seeds finished"),
        (together(method("densenet", 1e-4, N=300), method("gaussian", 2 * H)), "0 seeds finished"),
    ],
    ids=[
        "few", "one lost", "two lost", "all lost", "close", "one seed close", "at h", "N above binom", "no hero",
        "no kernel", "no common N",
    ],
)  # fmt: skip
def test_kernels_inconclusive(frame, words):
    found = kernels(frame)
    assert found.verdict == "inconclusive" and words in found.note


def test_kernels_one_of_many_settings_below_h_may_be_luck():
    """Two seeds of five below: Student's interval with six settings reaches h."""
    frame = rivals()
    at = frame.learner.eq("gaussian") & frame.N.eq(50)
    frame = by_seed(frame, "test_error", [0.5 * H, 0.6 * H, 0.98 * H, 0.99 * H, 0.99 * H], at)
    assert kernels(frame).verdict == "inconclusive"
    assert (
        kernels(frame[at | frame.learner.eq("densenet")], method("densenet", 1e-4, N=50)).verdict == "inconclusive"
    )


def test_kernels_must_lie_clearly_above_h():
    """Two seeds of five below h, the mean 4% above."""
    at = K.learner.eq("gaussian") & K.N.eq(100)
    frame = by_seed(K, "test_error", [0.6 * H, 0.6 * H, 1.5 * H, 1.5 * H, 1.5 * H], at)
    assert kernels(frame).verdict == "inconclusive"


def test_kernels_a_size_at_which_the_densenet_is_lost_is_passed_over():
    assert kernels(lost(K, K.learner.eq("densenet") & K.N.eq(300))).verdict == "supported"


# A-two-layer: (10 / 2)^2 = 25 neurons are barred

TWO = {"methods": ["two"]}


def widths(two=1e-3, net: float = 1e-6, m=(5, 20, 80), **more) -> pd.DataFrame:
    """Errors / Var(G*) of two-layer networks by width, and of the DenseNet."""

    def errors(value):
        return lambda point, luck: {"test_error": VARIANCE * (value(point) if callable(value) else value) * luck}

    return together(scores("densenet", errors(net), **more), scores("two", errors(two), **({"m": list(m)} | more)))


def two_layer(*frames: pd.DataFrame, **given):
    found = verdict("A-two-layer", *frames, **(TWO | given))
    assert found.threshold == 10
    return found


def test_two_layer_supported():
    assert [barred(10, 3), barred(16, 4)] == [25, 256]
    found = two_layer(widths(lambda p: 0.1 / p["m"]))
    assert found.verdict == "supported" and found.seeds == 5
    assert [found.value, found.low, found.high] == pytest.approx([0.1 / 80 / 1e-6] * 3)
    assert "at every width up to 80; Lemma I.5 bars widths below 25" in found.note
    assert "e: densenet 1e-06; two layers 0.02 at width 5, 0.005 at width 20, 0.0012 at width 80" in found.note
    assert found.details["e"]["m=5"] == pytest.approx([0.02] * 5)


def test_two_layer_reports_training_errors_beside():
    frame = widths()
    found = two_layer(frame.assign(train_error=VARIANCE * 1e-3 / frame.m))
    assert "e: training errors of two layers 0.0002 at width 5, 5e-05 at width 20, 1.2e-05 at" in found.note
    assert found.value == two_layer(frame).value and "training" not in two_layer(frame).note


def test_two_layer_is_of_the_best_width_of_each_seed_in_the_closest_experiment():
    frame = widths()
    frame = by_seed(frame, "test_error", [4e-4, 4e-3, 4e-3, 4e-3, 4e-3], frame.m.eq(20))
    frame = by_seed(frame, "test_error", [4e-3, 4e-4, 4e-3, 4e-3, 4e-3], frame.m.eq(80))
    found = two_layer(frame, widths(0.5, experiment="even"))
    assert found.verdict == "supported" and found.value == pytest.approx(10 ** (3 - 2 / 5))
    assert two_layer(widths(0.5), frame.assign(experiment="even")).value == found.value


def test_two_layer_contradicted_at_a_barred_width_only():
    better = widths(lambda p: 1e-8 if p["m"] == 20 else 1e-3, spread=0.02)
    found = two_layer(widths(experiment="first"), better)
    assert found.verdict == "contradicted" and "of a barred width is better" in found.note
    wide = two_layer(widths(lambda p: 1e-8 if p["m"] == 80 else 1e-3, spread=0.02))
    assert wide.verdict == "inconclusive" and wide.value == pytest.approx(0.01, rel=0.1)


W = widths()


@pytest.mark.parametrize(
    "frame, words",
    [
        (widths(seeds=3), "3 seeds finished"),
        (together(widths(), widths(seeds=2, experiment="even")), "2 seeds finished"),
        (lost(W, W.seed.lt(2) & W.learner.eq("densenet")), "3 seeds finished"),
        (lost(W, W.seed.lt(2) & W.m.eq(20)), "3 seeds finished"),
        (lost(W, W.seed.ge(0)), "0 seeds finished"),
        (widths(2e-6), "not by 10 on every seed"),
        (by_seed(W, "test_error", [4e-6] + [4e-3] * 4, W.m.eq(80)), "not by 10 on every seed"),
        (W[W.learner == "two"], "0 seeds finished"),
        (W[W.learner == "densenet"], "0 seeds finished"),
    ],
    ids=[
        "few",
        "few in one",
        "hero lost",
        "width lost",
        "all lost",
        "close",
        "one seed close",
        "no hero",
        "no rival",
    ],
)
def test_two_layer_inconclusive(frame, words):
    found = two_layer(frame)
    assert found.verdict == "inconclusive" and words in found.note


@pytest.mark.parametrize("who", ["densenet", "two"])
def test_two_layer_a_lost_seed_is_not_supported(who):
    """Five seeds were started, four are left."""
    assert two_layer(lost(W, W.seed.eq(1) & W.learner.eq(who))).verdict == "inconclusive"


# all

NEEDED = {"A-layerwise": {"methods": ["layerwise", "algorithm1"]}, "A-toy": {"methods": ["layerwise"]}}
NEEDED |= {"A-kernels": {"kernels": ["gaussian"]}, "A-two-layer": TWO}
THEORY = sorted(claim for claim in available() if claim.startswith("A-"))


def stranger() -> pd.DataFrame:
    """A learner that no claim names, measured in every way that one reads."""
    measured = ("error", "tilde_error", "f2", "f3")
    columns = {f"test_{name}" for name in measured} | {"at_3-triangle_f2", "at_3-triangle_error"}
    columns |= {"learner_wrong2", "learner_alpha", "learner_graph_is_true", "teacher_k3", "found_k2", "found_k3"}
    return scores("stranger", lambda point, luck: dict.fromkeys(sorted(columns), 1.0))


@pytest.mark.parametrize("claim", THEORY)
def test_without_its_learners_a_claim_is_open(claim):
    found = verdict(claim, stranger(), **NEEDED.get(claim, {}))
    assert found.verdict == "inconclusive" and found.seeds == 0 and found.value is None


@pytest.mark.parametrize("claim", THEORY)
def test_without_scores_a_claim_is_open(claim):
    found = verdict(claim, stranger().iloc[:0], **NEEDED.get(claim, {}))
    assert found.verdict == "inconclusive" and found.seeds == 0 and found.value is None
