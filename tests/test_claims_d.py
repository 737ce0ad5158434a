"""What the rules of D-thm3.1, D-lemmas and D-thm3.3 say to made-up scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from claim_scores import judged
from descent_scores import instances, interpolation, larger, random_starts, starts

pytestmark = pytest.mark.filterwarnings("error")
METHODS = ["huber", "swish"]
OTHERS = ["above", "coarse", "fast", "relu"]
ALL = {"methods": METHODS, "others": OTHERS, "beyond": ["larger-alpha", "larger-h"]}


def change(frame: pd.DataFrame, rows, **columns) -> pd.DataFrame:
    frame = frame.copy()
    for name, value in columns.items():
        frame.loc[frame.index[rows], name] = value
    return frame


# D-thm3.1


def test_bound_supported():
    found = judged("D-thm3.1", interpolation(), **ALL)
    assert found.verdict == "supported" and found.threshold == 1 and found.seeds == 3
    assert found.value == pytest.approx(10**0.3) and found.low == found.high == pytest.approx(10**0.3)
    assert found.details["instances"] == 96
    ratios = found.details["least ratio by L"]
    assert [ratios[str(n)] for n in (1, 2, 3, 4)] == pytest.approx([10 ** (0.3 * n) for n in (1, 2, 3, 4)])
    assert {name: word for name, (word, _) in found.details["controls"].items()} == {
        "above": "inconclusive",
        "coarse": "inconclusive",
        "fast": "inconclusive",
        "relu": "inconclusive",
        "Q times 1e+06": "contradicted",
    }
    assert found.details["largest factor that holds"]["larger-alpha"]["1"] == 1e4
    assert found.details["largest factor that holds"]["larger-h"]["4"] == 1e8
    assert "larger-alpha holds up to 1e+04 (L = 1)" in found.note and "larger-h holds up to >= 1e+08" in found.note
    assert "t up to 1e30" in found.note


@pytest.mark.parametrize("column", ["least_I1", "steps_I1"])
def test_one_instance_above_the_bound_contradicts(column):
    found = judged("D-thm3.1", change(interpolation(), [5], **{column: -0.02}), **ALL)
    assert found.verdict == "contradicted" and "1 of 96 instances" in found.note


def test_a_loss_that_rose_contradicts():
    assert judged("D-thm3.1", change(interpolation(), [5], steps_I1=-np.inf), **ALL).verdict == "contradicted"


@pytest.mark.parametrize(
    "columns, word",
    [
        ({"given_smooth": 0.0}, "the activation is not smooth"),
        ({"N": 2}, "n < 3"),
        ({"start_slack_loss": 0.0}, "J_1 >= n^-(1+24L)"),
        ({"start_slack_h": 0.0}, "h >= h_max"),
        ({"given_alpha_times": 1.01}, "alpha > alpha_max"),
        ({"train_lost": 1.0}, "lost or were not followed"),
        ({"end_fallen": 30.0}, "lost or were not followed"),
        ({"least_I1": 0.005}, "closer to the bound"),
    ],
)
def test_what_leaves_the_bound_open(columns, word):
    """And an instance that fails a hypothesis cannot contradict either."""
    found = judged("D-thm3.1", change(interpolation(), [7], **columns), **ALL)
    assert found.verdict == "inconclusive" and word in found.note
    if "least_I1" not in columns:
        found = judged("D-thm3.1", change(interpolation(), [7], **columns | {"least_I1": -5.0}), **ALL)
        assert found.verdict == "inconclusive"


def test_too_few_instances_or_seeds_leave_it_open():
    few = interpolation().query("L == 1 and d == 10 and N == 3")
    assert "6 instances, 24 needed" in judged("D-thm3.1", few, **ALL).note
    one = pd.concat([instances(seeds=1), instances("swish", seeds=1)])
    assert judged("D-thm3.1", one, methods=METHODS).verdict == "inconclusive"
    for empty in (interpolation()[:0], instances("someone")):
        assert judged("D-thm3.1", empty, methods=METHODS).verdict == "inconclusive"


def test_a_check_without_teeth_supports_nothing():
    """A control that is not told apart, or a bound a million times too low that still 'holds'."""
    frame = interpolation()
    blunt = pd.concat([frame[frame.learner != "above"], instances("above")])
    found = judged("D-thm3.1", blunt, **ALL)
    assert found.verdict == "inconclusive" and "no teeth: above" in found.note
    never = frame.assign(steps_I1=frame.steps_I1.clip(lower=0.4))
    found = judged("D-thm3.1", never, **ALL)
    assert found.verdict == "inconclusive" and "no teeth: no run with larger alpha" in found.note
    trivial = frame.assign(least_I1=frame.least_I1 + 7, steps_I1=frame.steps_I1 + 7)
    found = judged("D-thm3.1", trivial, **ALL)
    assert found.verdict == "inconclusive" and "no teeth: Q times 1e+06" in found.note


def test_controls_that_fail_nothing_but_the_bound_are_judged_by_the_same_rule():
    frame = interpolation()
    worse = pd.concat([frame[frame.learner != "above"], instances("above", least_I1=-1.0)])
    assert judged("D-thm3.1", worse, **ALL).details["controls"]["above"][0] == "contradicted"


def test_how_far_beyond_is_up_to_the_first_failure():
    frame = larger("larger-alpha", "given_alpha_times", 1.0)
    frame.loc[frame.given_alpha_times == 1e8, "steps_I1"] = 1.0  # after a failure
    both = pd.concat([instances(), instances("swish"), frame])
    found = judged("D-thm3.1", both, methods=METHODS, beyond=["larger-alpha"])
    assert found.details["largest factor that holds"]["larger-alpha"] == {str(n): 1.0 for n in (1, 2, 3, 4)}


# D-lemmas


def test_lemmas_supported():
    found = judged("D-lemmas", interpolation(), methods=METHODS)
    assert found.verdict == "supported" and found.seeds == 3
    assert found.value == found.low == found.high == pytest.approx(10**0.3)
    assert "all 96 instances" in found.note and "I2 1.005..1.005" in found.note
    assert found.details["least log10 slack by L"]["3"]["4.2"] == pytest.approx(0.9)


@pytest.mark.parametrize("name", ["4.2", "4.3", "4.4", "4.5", "I1", "I2", "I3"])
def test_every_inequality_can_fail(name):
    found = judged("D-lemmas", change(interpolation(), [3], **{f"least_{name}": -0.011}), methods=METHODS)
    assert found.verdict == "contradicted" and name in found.note


def test_rounding_is_no_failure_and_no_success():
    close = change(interpolation(), [3], least_I2=-1e-12)
    assert judged("D-lemmas", close, methods=METHODS).verdict == "inconclusive"
    close = change(interpolation(), [3], least_I1=-0.005)
    assert judged("D-lemmas", close, methods=METHODS).verdict == "inconclusive"
    assert judged("D-lemmas", change(interpolation(), [3], least_I2=0.0), methods=METHODS).verdict == "supported"


@pytest.mark.parametrize(
    "columns", [{"start_slack_h": -0.1}, {"end_fallen": 3.0}, {"train_lost": 1.0}, {"least_4.2": np.nan}]
)
def test_what_leaves_the_lemmas_open(columns):
    assert judged("D-lemmas", change(interpolation(), [3], **columns), methods=METHODS).verdict == "inconclusive"
    for empty in (interpolation()[:0], instances(seeds=1)[:1]):
        assert judged("D-lemmas", empty, methods=METHODS).verdict == "inconclusive"


# D-thm3.3

BOTH = {"methods": ["shallow", "deeper"]}


def test_two_phases_supported():
    found = judged("D-thm3.3", random_starts(), **BOTH)
    assert found.verdict == "supported" and found.value == pytest.approx(10**5.48)
    assert found.details["holds from p"]["h"] == {"1": 32.0, "2": 32.0}
    assert found.details["holds from p"]["tau"] == {"1": None, "2": None}
    assert found.details["holds from p"]["time"] == {"1": 8.0, "2": 8.0}
    assert "n^(2+24L) = 1e20.2, T = 1e25.0" in found.note and "tau within its limit at no p" in found.note


@pytest.mark.parametrize(
    "columns", [{"phase1_log10_t": 25.5}, {"phase1_reached": 0.0, "phase1_log10_t": np.nan}, {"least2_rate": -0.1}]
)
def test_two_phases_contradicted_beyond_the_share_that_the_theorem_allows(columns):
    frame = random_starts()
    widest = frame.index[(frame.L == 1) & (frame.d == 128)]
    assert judged("D-thm3.3", change(frame, widest, **columns), **BOTH).verdict == "contradicted"
    assert judged("D-thm3.3", change(frame, widest[:4], **columns), **BOTH).verdict == "inconclusive"  # 0.4^4: 9%
    narrow = frame.index[(frame.L == 1) & (frame.d == 8)]
    found = judged("D-thm3.3", change(frame, narrow, **columns), **BOTH)
    assert (found.verdict == "supported" and "conclusions hold from p = 32" in found.note) or "rate" in str(columns)


def test_what_leaves_two_phases_open():
    found = judged("D-thm3.3", pd.concat([starts(phase2_slack_h=-0.01)]), methods=["shallow"])
    assert found.verdict == "inconclusive" and "h_NT >= h_max" in found.note
    assert judged("D-thm3.3", starts(start_gamma=0.0), methods=["shallow"]).verdict == "inconclusive"
    found = judged("D-thm3.3", starts(phase1_log10_short=0.1), methods=["shallow"])
    assert found.verdict == "inconclusive" and "not followed to T" in found.note
    assert "3 seeds finished, 5 needed" in judged("D-thm3.3", starts(seeds=3), methods=["shallow"]).note
    assert judged("D-thm3.3", starts()[:0], methods=["shallow"]).verdict == "inconclusive"


def test_nobody_got_there():
    frame = starts(phase1_reached=0.0, phase1_log10_t=np.nan)
    frame = frame.drop(columns=["least2_rate", "least2_I1", "phase2_slack_h"])
    found = judged("D-thm3.3", frame, methods=["shallow"])
    assert found.verdict == "contradicted" and found.value == 0
