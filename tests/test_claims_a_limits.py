"""A-thm1's limits: an error that all layers but the last can reach is not learning; exact errors come first."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from claim_scores import together
from dense_scores import VARIANCE, by_seed, scores, verdict
from learnability.claims.a_thm1 import Parameters, limits
from learnability.claims.dense import normalised

pytestmark = pytest.mark.filterwarnings("error")


def with_share(nmse: float, share: float, experiment: str = "dense4", **theory: float) -> pd.DataFrame:
    """A hero's scores with this error / Var(G*), on teachers with this share of Var(G*) above degree 2^(L-1)."""

    def measures(point, luck):
        found = {"test_error": VARIANCE * nmse * luck, "test_tilde_error": VARIANCE * nmse * luck}
        found |= {"teacher_k3": 2.0, "found_k2": 4.0, "found_k3": 2.0, "teacher_top_share": share}
        return found | {f"theory_log10_{name}": value for name, value in theory.items()}

    return scores(measures=measures, experiment=experiment)


@pytest.mark.parametrize("missed", [1.0, 0.5, 0.11])
def test_an_error_of_all_layers_but_the_last_is_not_learning(missed):
    """The best polynomial of degree 2^(L-1) has the share itself for an error: 5e-5, below ``error`` = 1e-4."""
    found = verdict("A-thm1", with_share(missed * 5e-5, 5e-5), with_share(1e-6, math.nan, "dense3"))
    assert found.verdict == "contradicted" and "not learned: dense4" in found.note
    assert found.threshold == pytest.approx(5e-6) and found.value == pytest.approx(missed * 5e-5)
    assert verdict("A-thm1", with_share(missed * 5e-5, math.nan)).verdict == "supported"  # not known


def test_a_tenth_of_the_share_is():
    found = verdict("A-thm1", with_share(4e-6, 5e-5), with_share(2e-5, 0.5, "dense3"))
    assert found.verdict == "supported" and "(worst: dense4)" in found.note
    assert found.threshold == pytest.approx(5e-6) and found.value == pytest.approx(4e-6)
    assert "limits are min(0.0001, 0.1 of Var(G*)'s share above degree 2^(L-1))" in found.note
    assert "dense4 (L = 3): 4e-06 (limits 5e-06), k_l" in found.note and "dense3 (L = 3): 2e-05, k_l" in found.note
    assert found.details["dense4"]["limit"] == pytest.approx([5e-6] * 5)
    assert verdict("A-thm1", with_share(4e-6, 5e-5), top=0.01).verdict == "contradicted"


def test_each_seed_has_its_limit():
    frame = by_seed(with_share(4e-6, 5e-5), "teacher_top_share", [1e-5, 5e-5, 5e-5, 5e-5, 5e-5])
    found = verdict("A-thm1", frame)
    assert found.verdict == "inconclusive" and "some seeds are above their limit: dense4" in found.note
    rows = pd.DataFrame({"teacher_top_share": [0.5, 1e-5, np.nan]})
    assert limits(rows, Parameters()).tolist() == pytest.approx([1e-4, 1e-6, 1e-4])
    assert limits(rows.drop(columns="teacher_top_share"), Parameters()).tolist() == [1e-4] * 3


def test_an_exact_error_comes_before_one_on_a_test_set():
    frame = with_share(1e-6, 0.1)
    frame["population_error"] = by_seed(frame.assign(x=math.nan), "x", [VARIANCE * 3e-5] * 4 + [math.nan]).x
    found = normalised(frame)[frame.picked]
    assert found.nmse.tolist() == pytest.approx([3e-5] * 4 + [1e-6])
    assert found.tilde_nmse.tolist() == pytest.approx([1e-6] * 5)
    assert verdict("A-thm1", frame.assign(population_error=VARIANCE * 1e-3)).verdict == "contradicted"


def test_an_error_of_zero_is_learned():
    assert verdict("A-thm1", with_share(0.0, 1e-5)).verdict == "supported"


def test_what_definition_b3_asks_for_is_of_one_setting_each():
    shallow = with_share(1e-6, 0.5, "dense2", N=35.0, m=12.0, gap=math.nan)
    deep = with_share(1e-6, 0.5, "dense3", N=90.0, m=30.0, gap=-50.0)
    deeper = with_share(1e-6, 0.5, "dense4", N=200.0, m=80.0, gap=-900.0)
    said = verdict("A-thm1", together(deeper, deep, shallow)).note
    assert "Definition B.3 with hidden constants 1 asks for N >= 10^35, m >= 10^12 at dense2; for N" in said
    assert "; for N >= 10^90, m >= 10^30, alpha_{l+1} / alpha_l <= 10^-50 at dense3" in said
    assert "Definition B.3" not in verdict("A-thm1", with_share(1e-6, 0.5)).note
