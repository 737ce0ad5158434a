"""What the rules of D-def2.1, D-asm3.2 and D-propC.1 say to made-up scores."""

from __future__ import annotations

import pandas as pd
import pytest

from claim_scores import judged, together
from learnability.claims import d_asm3_2, d_propc_1
from margin_scores import ACTIVATIONS, DATA, activations, assumption, clustered, lost, random_labels, starts

pytestmark = pytest.mark.filterwarnings("error")


def put(frame: pd.DataFrame, where: pd.Series, **values: float) -> pd.DataFrame:
    """The same scores with these values in these rows."""
    frame = frame.copy()
    for column, value in values.items():
        frame.loc[where, column] = value
    return frame


# D-def2.1

ALL = activations()
HUBER, GELU = ALL.learner.eq("huber"), ALL.learner.eq("gelu")


def definition(frame: pd.DataFrame = ALL):
    found = judged("D-def2.1", frame, **ACTIVATIONS)
    assert found.threshold == 1 and (found.value == found.low == found.high)
    return found


def test_definition_supported():
    found = definition()
    assert found.verdict == "supported" and found.seeds == 1 and found.value == pytest.approx(1.0)
    assert "3 h from 0.001 to 10; nothing is random" in found.note
    assert "swish at h = 1, by intervals: lipschitz 0.9091 of 1, slope 0.9999 of 1, tangent 0.1" in found.note
    assert "gelu fails slope (up to 1.13, limit 1, as at z = 1.414 h)" in found.note
    assert "relu fails differentiable (up to 1, limit 0, as at z = 0 h) and lipschitz (up to inf" in found.note
    assert "softplus fails zero (up to 0.693" in found.note and "tanh fails tangent (up to 1, lim" in found.note
    assert found.details["relu"]["lipschitz"]["sup at h = 1"] is None and found.details["huber"]["zero"]["proved"]


@pytest.mark.parametrize(
    "values, words",
    [
        ({"refuted_slope": 1.0, "proved_slope": 0.0}, "fails: huber slope"),
        ({"refuted_zero": 1.0, "proved_zero": 0.0, "holds_zero": 0.0}, "fails: huber zero"),
        ({"holds_tangent": 0.0, "proved_tangent": 0.0}, "fails: huber tangent"),
    ],
    ids=["proof", "both", "grid"],
)
def test_definition_contradicted(values, words):
    found = definition(put(ALL, HUBER & ALL.given_h.eq(0.1), **values))
    assert found.verdict == "contradicted" and words in found.note


def test_definition_number_is_the_worst_of_all_h():
    found = definition(put(ALL, HUBER & ALL.given_h.eq(0.1), worst_slope=1.5, holds_slope=0.0, proved_slope=0.0))
    assert found.verdict == "contradicted" and found.value == 1.5


@pytest.mark.parametrize(
    "frame, words",
    [
        (put(ALL, HUBER & ALL.given_h.eq(0.1), holds_slope=0.0), "on the grid and is proved to hold: huber slope"),
        (put(ALL, HUBER, proved_slope=0.0), "neither proved nor refuted: huber slope"),
        (put(ALL, GELU & ALL.given_h.eq(0.1), holds_slope=1.0), "no teeth: gelu fails nothing"),
        (put(ALL, GELU, refuted_slope=0.0), "no teeth: gelu fails nothing"),
        (ALL[~HUBER], "not at every h: huber"),
        (ALL[~GELU], "not at every h: gelu"),
        (ALL[~(HUBER & ALL.given_h.eq(0.1))], "not at every h: huber"),
        (lost(ALL, GELU & ALL.given_h.eq(0.1)), "not at every h: gelu"),
        (ALL.assign(picked=~HUBER), "not at every h: huber"),
        (ALL.drop(columns="worst_slope"), "not at every h: huber, swish, relu"),
        (ALL.iloc[:0], "not at every h: huber, swish"),
    ],
    ids=["odd", "unproved", "grid", "proof", "gone", "other gone", "an h", "lost", "diverged", "column", "empty"],
)  # fmt: skip
def test_definition_inconclusive(frame, words):
    found = definition(frame)
    assert found.verdict == "inconclusive" and words in found.note


# D-asm3.2


def asm(frame: pd.DataFrame, **given):
    found = judged("D-asm3.2", frame, **(DATA | given))
    assert found.threshold == -0.5
    return found


def test_assumption_supported():
    found = asm(assumption())
    assert found.verdict == "supported" and found.seeds == 6 and found.value == pytest.approx(0.05, abs=0.02)
    assert found.low < found.value < found.high and found.low > -1 / 8
    assert "all 288 starts have a margin" in found.note and "in 16 settings" in found.note
    assert "16 of 16 intervals lie above -1/8" in found.note and "p from 64 on" in found.note
    assert "gamma at p = 256: 0.0" in found.note and "certificate 1.0e-12" in found.note
    exact = asm(assumption(spread=0.0))
    one = exact.details["colliding, L = 2, n = 64"]
    assert one["slope"] == pytest.approx([0.05] * 6) and one["starts"] == 18
    assert one["gamma by p"]["64"] == pytest.approx(64**0.05 / 8) and set(one["gamma by p"]) == {"64", "128", "256"}
    assert [exact.value, exact.low, exact.high] == pytest.approx([0.05] * 3)


def test_assumption_reports_what_the_proof_needs():
    found = asm(assumption(-0.3))
    assert found.verdict == "supported" and "0 of 16 intervals lie above -1/8" in found.note


def test_assumption_contradicted_by_a_slope_in_one_setting():
    frame = assumption()
    steep = frame.learner.eq("colliding") & frame.L.eq(2) & frame.N.eq(64)
    frame.loc[steep, "margin_gamma"] *= frame.d[steep].astype(float) ** -0.8
    found = asm(frame)
    assert found.verdict == "contradicted" and found.value == pytest.approx(-0.75, abs=0.03)
    assert "faster than p^-1/2: colliding, L = 2, n = 64;" in found.note


F = assumption()
LAST = F.d.eq(256) & F.learner.eq("colliding") & F.L.eq(1) & F.N.eq(16)
ZERO = {"margin_gamma": 0.0, "margin_certified": 0.0, "margin_gap": 0.0}


def test_assumption_contradicted_by_starts_without_a_margin():
    found = asm(put(F, LAST, **ZERO))
    assert found.verdict == "contradicted" and "no margin on more than 0.1 of the starts: colli" in found.note
    found = asm(put(F, F.d.ge(64), **ZERO))  # nor any slope
    assert found.verdict == "contradicted" and found.value is None and "and 12 more" in found.note


def test_few_starts_without_a_margin_do_not_contradict():
    rows = put(F, LAST & F.seed.eq(0), **ZERO)
    found = asm(rows)
    assert found.verdict == "inconclusive" and "1 of 288 starts have no certified margin" in found.note
    assert d_asm3_2.without(rows, 0.1) == [] and d_asm3_2.without(put(F, LAST, **ZERO), 0.9999) == []
    assert d_asm3_2.without(put(F, F.d.eq(64), **ZERO), 0.1) == []  # at the largest p only


UNEVEN = F.assign(margin_gamma=F.margin_gamma * F.d.astype(float) ** (0.5 * (F.seed - 2.5)))


@pytest.mark.parametrize(
    "frame, words",
    [
        (assumption(seeds=4), "4 seeds finished, 5 needed"),
        (F[~(F.d.eq(64) & F.L.eq(1) & F.seed.lt(2))], "4 seeds finished"),
        (F[F.learner != "halfspace"], "no result on: halfspace"),
        (lost(F, F.learner.eq("clustered")), "no result on: clustered"),
        (lost(F, LAST & F.seed.eq(3)), "1 starts have no result"),
        (F.assign(picked=~(LAST & F.seed.eq(3))), "1 starts have no result"),
        (F[~(LAST & F.seed.eq(3))], "1 starts have no result"),
        (put(F, LAST & F.seed.eq(3), margin_certified=0.0), "1 of 288 starts have no certified margin"),
        (put(F, LAST & F.seed.eq(3), margin_gap=1e-5), "known up to 1.0e-05 only"),
        (F[F.d <= 64], "one p only, from 64 on: no slope"),
        (F[F.d < 64], "0 seeds finished"),
        (UNEVEN, "the slope's interval does not decide: clustered, L = 1, n = 16 | "),
        (F.drop(columns="margin_certified"), "0 seeds finished"),
        (F.iloc[:0], "0 seeds finished"),
    ],
    ids=[
        "few", "few somewhere", "no set", "set lost", "one lost", "diverged", "one gone", "not certified", "gap",
        "one p", "no p", "uneven", "column", "empty",
    ],
)  # fmt: skip
def test_assumption_inconclusive(frame, words):
    found = asm(frame)
    assert found.verdict == "inconclusive" and words in found.note


def test_assumption_knows_nothing_of_small_widths():
    plain = asm(F)
    assert asm(put(F, F.d.eq(16), **ZERO)) == plain
    assert asm(put(F, F.d.eq(16), **ZERO), least_p=16).verdict == "inconclusive"


def test_assumption_takes_all_starts_of_a_seed():
    found = asm(assumption(draws=3))
    assert found.verdict == "supported" and found.seeds == 6 and "all 864 starts" in found.note
    frame = assumption(draws=3)
    assert "1 starts have no result" in asm(frame.drop(frame.index[frame.d.eq(256)][4])).note


# D-propC.1


def prop(*frames: pd.DataFrame, **given):
    found = judged("D-propC.1", together(*frames), **given)
    assert found.threshold == 1 / 32
    return found


G, CONTROL = clustered(), random_labels()


def test_proposition_supported():
    found = prop(G, CONTROL)
    assert found.verdict == "supported" and found.seeds == 6 and found.value == pytest.approx(0.49, abs=0.02)
    assert found.low <= found.value <= found.high and "c = 1/32 on all 54 starts" in found.note
    assert "the event (c) failed on 0 of 54 starts" in found.note and "|S_+|/p 0.25, |S_-|/p 0.28" in found.note
    assert "at p = 128: gamma 0.4" in found.note and "(as p grows: 0.0945), c = 0.0312" in found.note
    exact = prop(clustered(0.03, -0.02, spread=0.0), random_labels(spread=0.0))
    assert exact.details["slope in p"] == pytest.approx([0.03] * 6)
    assert exact.details["slope in n"] == pytest.approx([-0.02] * 6)
    assert exact.details["random labels, slope in n"] == pytest.approx([-0.5] * 6)
    assert "slope in p 0.03 [0.03, 0.03], in n -0.02" in exact.note and "random labels in n -0.5" in exact.note
    assert exact.value == pytest.approx(0.5 * 16**-0.02) and exact.details["W*"]["p = 32, n = 16"][0] == 0.35


@pytest.mark.parametrize(
    "frame, words",
    [
        (put(G, G.index == 7, margin_gamma=0.03), "below c = 1/32 on 1 starts"),
        (put(G, G.index == 7, margin_proof_bound=0.4), "W* stays below what the proof says"),
        (clustered(p=-0.3), "gamma falls with p"),
        (clustered(n=-0.3), "gamma falls with n"),
        (clustered(-0.3, -0.3), "gamma falls with p and n"),
    ],
    ids=["below", "proof", "p", "n", "both"],
)
def test_proposition_contradicted(frame, words):
    found = prop(frame, CONTROL)
    assert found.verdict == "contradicted" and words in found.note


def test_starts_without_the_event_are_left_out():
    out = G.index.isin([7, 20])
    poor = put(G, out, margin_part_c=0.0, margin_gamma=1e-3, margin_certified=1e-3, margin_proof=-1.0)
    found = prop(poor, CONTROL)
    assert found.verdict == "supported" and "failed on 2 of 54 starts" in found.note and found.value > 0.4
    found = prop(put(G, G.index % 5 == 0, margin_part_c=0.0), CONTROL)
    assert found.verdict == "inconclusive" and "fails on more than 0.1 of the starts" in found.note
    assert prop(put(G, G.index % 5 == 0, margin_part_c=0.0), CONTROL, delta=0.3).verdict == "supported"
    found = prop(put(G, G.seed < 2, margin_part_c=0.0), CONTROL)
    assert found.verdict == "inconclusive" and "4 seeds finished, 5 needed" in found.note


STRAY = random_labels(spread=0.0)
STRAY["margin_gamma"] *= (STRAY.N / 16.0) ** (0.4 * (STRAY.seed - 2.5))


@pytest.mark.parametrize(
    "frames, words",
    [
        ([clustered(seeds=4), random_labels(seeds=4)], "4 seeds finished, 5 needed"),
        ([G, random_labels(seeds=4)], "4 seeds finished"),
        ([G], "0 seeds finished"),
        ([G.assign(learner="other"), CONTROL], "0 seeds finished"),
        ([G.iloc[:0], CONTROL.iloc[:0]], "0 seeds finished"),
        ([G.drop(columns="margin_part_c"), CONTROL], "0 seeds finished"),
        ([lost(G, G.seed.ge(0)), CONTROL], "0 seeds finished"),
        ([G[G.d.eq(64)], CONTROL], "two p and two n on every seed"),
        ([G, CONTROL[CONTROL.N.eq(64)]], "two p and two n on every seed"),
        ([lost(G, G.index == 7), CONTROL], "1 starts have no result"),
        ([G.drop(index=7), CONTROL], "1 starts have no result"),
        ([G, lost(CONTROL, CONTROL.index == 7)], "1 starts have no result"),
        ([G.assign(picked=G.index != 7), CONTROL], "1 starts have no result"),
        ([put(G, G.index == 7, margin_certified=0.03), CONTROL], "not certified to be 1/32"),
        ([G, random_labels(n=0.0)], "random labels do not tell"),
        ([G, STRAY], "random labels do not tell"),
        ([clustered(p=0.2), CONTROL], "not known to be flat within 0.1 in p"),
        ([clustered(spread=0.6), CONTROL], "not known to be flat within 0.1 in p and n"),
    ],
    ids=[
        "few", "few of control", "no control", "no hero", "empty", "column", "all lost", "one p", "one n", "lost",
        "gone", "control lost", "diverged", "not certified", "flat control", "wide control", "grows", "wide",
    ],
)  # fmt: skip
def test_proposition_inconclusive(frames, words):
    found = prop(*frames)
    assert found.verdict == "inconclusive" and words in found.note


def test_proposition_is_about_two_layers():
    deeper = starts("clustered", lambda point: 1e-3, "clustered", L=[2], N=[16, 64], d=[32, 64])
    assert prop(G, CONTROL, deeper) == prop(G, CONTROL)


def test_proposition_says_where_its_own_bound_is_below_c():
    found = prop(put(G, G.d.eq(32) & G.seed.eq(1), margin_proof_bound=-0.01), CONTROL)
    assert found.verdict == "supported" and "below c on 3 starts, p up to 32" in found.note


def test_slopes_of_a_plane():
    frame = clustered(-0.2, 0.1, spread=0.0, draws=2)
    found = d_propc_1.slopes(frame)
    assert found.p == pytest.approx([-0.2] * 6) and found.n == pytest.approx([0.1] * 6)
    assert len(d_propc_1.slopes(frame[frame.d == 32]).p) == 0 and len(d_propc_1.slopes(frame.iloc[:0]).n) == 0
