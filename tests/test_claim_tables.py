"""Where a curve crosses a level, slopes, and one number per seed and setting."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claim_scores import lose, method, together
from learnability.claims.tables import bounds, by_seed, crossing, grid_ends, largest, risk, slope

pytestmark = pytest.mark.filterwarnings("error")
NAN, INF = math.nan, math.inf

# x, y, level 1 -> where, and what is known of it
CURVES = {
    "half way on log axes": ([100, 400], [2.0, 0.5], 200.0, (200.0, 200.0)),
    "a third of the way": ([1, 1000], [2.0, 0.25], 10.0, (10.0, 10.0)),
    "unordered": ([400, 100], [0.5, 2.0], 200.0, (200.0, 200.0)),
    "never": ([100, 400], [3.0, 2.0], INF, (400.0, INF)),
    "below everywhere": ([100, 400], [0.5, 0.4], 100.0, (0.0, 100.0)),
    "on the level everywhere": ([100, 400], [1.0, 1.0], 100.0, (0.0, 100.0)),
    "reaches it at the last": ([100, 400], [2.0, 1.0], 400.0, (400.0, 400.0)),
    "dips and rises again": ([1, 10, 100, 400], [2.0, 0.5, 2.0, 0.5], 200.0, (200.0, 200.0)),
    "dips and ends above": ([1, 10, 100], [2.0, 0.5, 2.0], INF, (100.0, INF)),
    "a hole": ([100, 200, 400], [2.0, NAN, 0.5], 200.0, (200.0, 200.0)),
    "ends in a hole, above": ([100, 200, 400], [3.0, 2.0, NAN], INF, (200.0, INF)),
    "begins with a hole, below": ([100, 200, 400], [NAN, 0.5, 0.4], 200.0, (0.0, 200.0)),
    "infinite is a hole": ([100, 200, 400], [2.0, INF, 0.5], 200.0, (200.0, 200.0)),
    "all holes": ([100, 200], [NAN, NAN], INF, (0.0, INF)),
    "one point above": ([100], [2.0], INF, (100.0, INF)),
    "one point below": ([100], [0.5], 100.0, (0.0, 100.0)),
}


@pytest.mark.parametrize("x, y, expected, known", CURVES.values(), ids=CURVES)
def test_crossing_by_hand(x, y, expected, known):
    assert crossing(x, y, 1.0) == pytest.approx(expected, rel=1e-12)
    assert bounds(x, y, 1.0) == pytest.approx(known, rel=1e-12)


def test_crossing_against_the_formula():
    """y falls from 0.9 at 500 to 0.6 at 1000: log(0.9/0.72) / log(0.9/0.6) = 0.55034 of the way."""
    assert crossing([500, 1000, 2000], [0.9, 0.6, 0.1], 0.72) == pytest.approx(732.23, rel=1e-4)


def test_an_exact_zero_crosses_between_its_neighbours():
    assert 100 < crossing([100, 400], [2.0, 0.0], 1.0) < 101
    assert crossing([100, 400], [0.0, 0.0], 1.0) == 100


@given(st.floats(110, 900), st.floats(0.2, 5), st.floats(0.01, 10))
def test_crossing_of_a_power_law_is_exact(star, power, level):
    x = np.array([100.0, 200.0, 350.0, 1000.0])
    assert crossing(x, level * (star / x) ** power, level) == pytest.approx(star, rel=1e-9)


@given(st.floats(-4, 4), st.floats(0.01, 100))
def test_slope_of_a_power_law_is_exact(power, size):
    x = [8, 10, 12, 30]
    assert slope(x, [size * v**power for v in x]) == pytest.approx(power, abs=1e-9)


def test_slope_by_hand():
    """Of (0, 0), (1, 2), (2, 1) in logarithms: 1/2."""
    assert slope(np.exp([0, 1, 2]), np.exp([0, 2, 1])) == pytest.approx(0.5)
    assert slope([1, 10, 100, 1000, 5], [1, 10, NAN, INF, 0.0]) == pytest.approx(1.0)
    assert math.isnan(slope([1, 10], [2.0, NAN])) and math.isnan(slope([1, 10], [2.0, 0.0]))
    assert math.isnan(slope([10], [2.0]))


def errors(point, luck):
    return {"test_error": point["N"] * luck, "test_cG": luck}


def test_one_number_a_seed_and_setting():
    frame = method("3resnet", errors, seeds=3, spread=0.1, N=[500, 100])
    table = by_seed(frame.sample(frac=1, random_state=0), "N", "test_error")
    assert list(table.index) == [0, 1, 2] and list(table.columns) == [100, 500]
    for n in (100, 500):
        picked = frame[frame.picked & frame.N.eq(n)].set_index("seed").test_error
        assert table[n].to_dict() == picked.to_dict()


def test_what_diverged_is_a_hole_and_keeps_its_place():
    frame = method("3resnet", errors, seeds=3, N=[100, 500])
    lost = lose(frame, (frame.N == 500) | (frame.seed == 1))
    table = by_seed(lost, "N", "test_error")
    assert list(table.index) == [0, 1, 2] and list(table.columns) == [100, 500]
    assert table[500].isna().all() and table[100].isna().tolist() == [False, True, False]
    assert by_seed(lose(frame, frame.N > 0), "N", "test_error").isna().all(axis=None)
    frame.loc[frame.picked & (frame.seed == 2), "test_error"] = INF
    assert by_seed(frame, "N", "test_error").loc[2].isna().all()


def test_the_largest_width_and_size_of_each_method():
    wide = method("3resnet", errors, seeds=1, m=[100, 200], N=[100, 500])
    narrow = method("3layer", errors, seeds=1, m=100, N=500)
    kernel = method("gaussian", errors, seeds=1, m=NAN, N=[100, 300])
    frame = together(wide, narrow, kernel)
    assert set(largest(frame, "m").groupby("learner").size()) == {4, 2}
    assert largest(frame, "m").groupby("learner").m.max().dropna().to_dict() == {"3resnet": 200, "3layer": 100}
    both = largest(frame, "m", "N").groupby("learner").N.unique().map(list).to_dict()
    assert both == {"3resnet": [500], "3layer": [500], "gaussian": [300]}


def test_risk_is_the_best_known():
    frame = pd.DataFrame(
        {
            "noise": [0.0, 0.0, 0.1, 0.1, 0.1],
            "test_error": [1.0, 2.0, 3.0, 4.0, 5.0],
            "test_risk": [NAN, NAN, 0.3, 0.4, NAN],
            "population_risk": [NAN, 0.02, NAN, 0.04, NAN],
        }
    )
    assert risk(frame).tolist() == pytest.approx([1.0, 0.02, 0.3, 0.04, NAN], nan_ok=True)
    plain = risk(frame[["noise", "test_error"]])  # labels with noise do not measure it
    assert plain.tolist() == pytest.approx([1.0, 2.0, NAN, NAN, NAN], nan_ok=True)


def searched(
    picks: list[float], key: str = "wd", grid: tuple[float, ...] = (1e-3, 1e-2, 1e-1), **more
) -> pd.DataFrame:
    """Replicas of as many seeds as picks: all of ``grid`` for each, one of which is picked."""
    keys = {"learner": "3layer", "m": 100, "lr": 0.5, "wd": NAN} | more
    return pd.DataFrame(
        [keys | {"seed": i, key: v, "picked": v == pick} for i, pick in enumerate(picks) for v in grid]
    )


@pytest.mark.parametrize(
    "frame, expected",
    [
        (searched([1e-3] * 3), ["3layer m=100 wd=0.001"]),
        (searched([1e-1] * 3), ["3layer m=100 wd=0.1"]),
        (searched([1e-2] * 3), []),
        (searched([1e-3, 1e-3, 1e-1, 1e-1]), []),
        (searched([1e-3, 1e-3, 1e-2]), ["3layer m=100 wd=0.001"]),
        (searched([1e-3, 1e-2, 1e-2]), []),
        (searched([1e-3] * 3, grid=(1e-3,)), []),
        (searched([1e-3] * 3, lr=NAN), ["3layer m=100 wd=0.001"]),
        (searched([0.5] * 3, "lr", (0.1, 0.5), wd=1e-3), ["3layer m=100 lr=0.5"]),
        (searched([1e-3] * 3).assign(picked=False), []),
        (
            pd.concat([searched([1e-1] * 3, m=200), searched([1e-3] * 3), searched([1e-2] * 3, m=50)]),
            ["3layer m=100 wd=0.001", "3layer m=200 wd=0.1"],
        ),
        (
            pd.concat([searched([1e-3] * 3), searched([1e-3] * 3, learner="2layer")]),
            ["2layer m=100 wd=0.001", "3layer m=100 wd=0.001"],
        ),
    ],
    ids=[
        "low", "high", "middle", "half", "most", "few", "no grid", "kernel", "rate", "diverged", "widths",
        "methods",
    ],
)  # fmt: skip
def test_grid_ends(frame, expected):
    assert grid_ends(frame, "m") == expected
    assert grid_ends(frame.rename(columns={"m": "N"}), "N") == [end.replace(" m=", " N=") for end in expected]
