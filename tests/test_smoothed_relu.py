"""Definition 2.1 of paper D: grids, interval formulas against high precision, suprema against a numeric search."""

from __future__ import annotations

import math
import subprocess
import sys
import time

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from learnability.theory import smoothed_relu as sr
from learnability.theory.smoothed_relu_intervals import PROOFS, U, _normal, _swish, iv

NAMES = tuple(sr.FAMILIES)
SCALES = [1e-6, 1e-3, 0.1, 1.0, 10.0]
FAILS = {  # the conditions that fail, and the u at which (by hand)
    "huber": {},
    "swish": {},
    "relu": {"differentiable": 0.0, "lipschitz": 0.0},
    "gelu": {"slope": math.sqrt(2)},
    "softplus": {"zero": 0.0, "tangent": 0.0},
    "swish_unscaled": {"slope": 1.19967864},  # u tanh u = 1
    "tanh": {"tangent": None},  # anywhere far out
}
EXACT = {  # phi(u) in mpmath, written apart from the module
    "huber": lambda u: mpmath.mpf(0) if u < 0 else u * u / 2 if u <= 1 else u - 0.5,
    "swish": lambda u: u / (mpmath.mpf(11) / 10 * (1 + mpmath.exp(-2 * u))),
    "relu": lambda u: max(u, mpmath.mpf(0)),
    "gelu": lambda u: u * mpmath.ncdf(u),
    "softplus": lambda u: mpmath.log(1 + mpmath.exp(u)),
    "swish_unscaled": lambda u: u / (1 + mpmath.exp(-2 * u)),
    "tanh": mpmath.tanh,
}
SMOOTH = [name for name in NAMES if name not in ("huber", "relu")]


def quantities(name: str, u: float) -> dict[str, mpmath.mpf]:
    """phi'', phi', phi' u - phi by numeric differentiation at 40 digits."""
    with mpmath.workdps(40):
        f, u = EXACT[name], mpmath.mpf(u)
        slope = mpmath.diff(f, u)
        return {"second": mpmath.diff(f, u, 2), "slope": slope, "tangent": slope * u - f(u)}


@pytest.mark.parametrize("h", SCALES)
@pytest.mark.parametrize("name", NAMES)
def test_grids_pass_and_reject(name, h):
    report = sr.check(name, h)
    assert list(report) == list(sr.CONDITIONS)
    assert sr.failed(report) == [c for c in sr.CONDITIONS if c in FAILS[name]]
    for condition, u in FAILS[name].items():
        assert report[condition].ratio > 1 and not report[condition].holds
        if u is not None:
            assert report[condition].where / h == pytest.approx(u, abs=0.008)
    if name == "tanh":
        assert abs(report["tangent"].where) > h and report["tangent"].ratio == pytest.approx(2)
    if name == "relu":
        assert report["lipschitz"].ratio > 1e8  # arbitrarily large, up to where the search ends
        assert report["differentiable"].worst == pytest.approx(1)
    if name == "softplus":
        assert report["zero"].worst == pytest.approx(h * math.log(2)) and report["zero"].ratio == math.inf


@pytest.mark.parametrize("h", SCALES)
def test_huber_reaches_every_limit(h):
    report = sr.check("huber", h)
    for condition, limit in (("lipschitz", 1 / h), ("slope", 1.0), ("tangent", h / 2)):
        assert report[condition].allowed == limit
        assert report[condition].ratio == pytest.approx(1, abs=1e-11) and report[condition].holds
    assert report["zero"].ratio == 0 == report["zero"].where


def test_grids_measure_what_is_there():
    """Suprema of swish by calculus: |phi'| and |phi' u - phi| peak at u tanh u = 1, |phi''| at 0."""
    report, u = sr.check("swish", 0.25), FAILS["swish_unscaled"]["slope"]
    t = math.tanh(u)
    assert report["slope"].worst == pytest.approx((1 + t + u * (1 - t * t)) / 2.2, rel=1e-6)
    assert report["tangent"].worst == pytest.approx(0.25 * u * u * (1 - t * t) / 2.2, rel=1e-5)
    assert report["lipschitz"].worst == pytest.approx(4 / 1.1, rel=1e-8)


@pytest.mark.parametrize("name", ["huber", "swish"])
def test_any_points_far_out_and_unsorted(name):
    rng = np.random.default_rng(0)
    for h in (1e-4, 3.0):
        points = h * np.concatenate([rng.normal(size=500), 1e6 * rng.normal(size=500), [5.0, 5.0]])
        assert sr.failed(sr.check_on_grid(*sr.at_scale(name, h), h, points)) == []


def test_a_kink_between_points_is_found():
    def value(z):
        return np.maximum(z - 0.37, 0)

    def derivative(z):
        return np.where(z > 0.37, 1.0, 0.0)

    report = sr.check_on_grid(value, derivative, 1.0, np.arange(-3.0, 4.0))
    assert report["differentiable"].where == pytest.approx(0.37, abs=1e-8)
    assert {"differentiable", "lipschitz"} <= set(sr.failed(report)) and report["slope"].holds


def test_a_wrong_derivative_is_told():
    value, derivative = sr.at_scale("huber", 0.5)
    report = sr.check_on_grid(value, lambda z: 0.99 * derivative(z), 0.5, sr.grid(0.5))
    assert sr.failed(report) == ["differentiable", "tangent"]  # the latter as 0.01 z grows
    assert report["differentiable"].worst == pytest.approx(0.01, rel=1e-3)


def test_both_one_sided_quotients_count():
    """relu with phi' = 1 said everywhere, from 0 on: only the left quotient at 0 is off."""
    report = sr.check_on_grid(lambda z: np.maximum(z, 0), np.ones_like, 1.0, np.arange(4.0))
    assert report["differentiable"].worst == pytest.approx(1) and report["differentiable"].where == 0


@pytest.mark.parametrize(("h", "broken"), [(0.999, "lipschitz"), (1.001, "tangent")])
def test_huber_of_another_h_is_not_h_smooth(h, broken):
    report = sr.check_on_grid(*sr.at_scale("huber", h), 1.0, sr.grid(1.0))
    assert sr.failed(report) == [broken] and report[broken].ratio == pytest.approx(1.001, rel=1e-5)


def test_a_steep_phi_is_differentiable_yet_not_lipschitz():
    """100 times too steep, which is not a jump."""
    report = sr.check_on_grid(*sr.at_scale("huber", 0.01), 1.0, sr.grid(1.0))
    assert sr.failed(report) == ["lipschitz"] and report["lipschitz"].ratio == pytest.approx(100, rel=1e-6)


def test_what_is_not_finite_is_refused():
    def value(z):
        return np.where(z < 0, np.nan, z)

    with pytest.raises(ValueError, match=r"not finite at z = -1\.0"):
        sr.check_on_grid(value, np.ones_like, 1.0, np.array([-1.0, 0.0, 1.0]))


@pytest.mark.parametrize("name", NAMES)
def test_families_are_their_formulas(name):
    value, derivative = sr.at_scale(name, 0.5)
    for u in (-30.0, -2.3, -0.7, 0.2, 0.9, 1.6, 25.0):
        exact = quantities(name, u)["slope"]
        assert value(np.array([u / 2]))[0] == pytest.approx(float(EXACT[name](mpmath.mpf(u))) / 2, abs=1e-14)
        assert derivative(np.array([u / 2]))[0] == pytest.approx(float(exact), abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_certificates_decide(name):
    report = sr.certify(name)
    assert list(report) == list(sr.CONDITIONS) and sr.failed(report) == list(FAILS[name])
    for condition, bound in report.items():
        assert bound.lower <= bound.upper and bound.holds != bound.fails
        assert bound.fails == (condition in FAILS[name])
        u = FAILS[name].get(condition)
        if u is not None:
            assert bound.where == pytest.approx(u, abs=1e-3)


def test_huber_is_proved_with_no_slack():
    report = sr.certify("huber")
    assert [(b.lower, b.upper) for b in report.values()] == [(0, 0), (0, 0), (1, 1), (1, 1), (0.5, 0.5)]


@pytest.mark.parametrize("name", SMOOTH)
def test_suprema_are_where_a_numeric_search_finds_them(name):
    report = sr.certify(name)
    for condition, key in (("lipschitz", "second"), ("slope", "slope"), ("tangent", "tangent")):

        def size(u, key=key):
            return abs(float(quantities(name, u)[key]))

        u = np.linspace(-6, 6, 61)
        start = u[np.argmax([size(x) for x in u])]
        peak = minimize_scalar(lambda x: -size(x), bounds=(start - 0.2, start + 0.2), options={"xatol": 1e-7})
        bound = report[condition]
        assert bound.lower - 1e-9 <= max(-peak.fun, size(start)) <= bound.upper + 1e-12
        if (name, condition) not in (("softplus", "slope"), ("tanh", "tangent")):  # suprema at infinity
            assert bound.upper - bound.lower <= 1e-6
        assert size(bound.where) >= bound.lower - 1e-15


@pytest.mark.parametrize("name", SMOOTH)
def test_interval_formulas_hold_the_functions(name):
    """On random boxes of the core, wide and narrow, and by the tail bounds outside of it."""
    rng, proof = np.random.default_rng(1), PROOFS[name]
    for width in (1.0, 1e-2, 1e-5):
        for _ in range(6):
            a = rng.uniform(-U, U - width)
            u = rng.uniform(a, a + width)
            found = quantities(name, u)
            for key in ("second", "slope", "tangent"):
                box, point = (getattr(proof, key)(iv.mpf(x)) for x in ([a, a + width], u))
                assert float(box.a) <= found[key] <= float(box.b)
                assert float(point.a) <= found[key] <= float(point.b)
                assert float(point.delta) < 1e-14
    for u in (U, -U, 4.5, -4.5, 7.0, -7.0, 20.0, -20.0):
        found = quantities(name, u)
        for key, tail in zip(("second", "slope", "tangent"), proof.tails, strict=True):
            assert abs(found[key]) <= float(tail.b)
    assert abs(EXACT[name](mpmath.mpf(0)) - float(proof.zero.mid)) < 1e-15


@pytest.mark.parametrize("name", SMOOTH)
def test_mean_value_forms_bound_whole_boxes(name):
    rng, keys = np.random.default_rng(2), {"lipschitz": "second", "slope": "slope", "tangent": "tangent"}
    for condition, pair in sr._searched(PROOFS[name]).items():
        for width in (1.0, 0.1, 1e-3):
            for a in rng.uniform(-U, U - width, size=6):
                most, middle, least = sr._enclose(*pair, a, a + width)
                assert least <= abs(quantities(name, middle)[keys[condition]])
                for u in (a, a + width / 3, a + width):
                    assert abs(quantities(name, u)[keys[condition]]) <= most + 1e-15  # u itself is rounded


def test_scale_of_swish_is_ten_elevenths():
    scale = PROOFS["swish"].second(iv.mpf(0))
    with mpmath.workdps(40):
        assert float(scale.a) <= mpmath.mpf(10) / 11 <= float(scale.b) and float(scale.delta) < 2e-16


def test_third_derivative_of_tanh():
    for u in (-1.3, 0.0, 0.4, 2.0):
        found = PROOFS["tanh"].third(iv.mpf(u))
        assert float(found.mid) == pytest.approx(float(mpmath.diff(mpmath.tanh, u, 3)), abs=1e-12)


def test_normal_distribution_is_enclosed():
    with mpmath.workdps(40):
        for a in (-4.0, -1.0, -1e-3, 0.0, 0.1, 1.4140625, 3.7, 4.0):
            found = _normal(a)
            assert float(found.a) <= mpmath.ncdf(a) <= float(found.b) and float(found.delta) < 1e-14


def test_joins_are_those_of_the_functions():
    for name in ("huber", "relu"):
        value, derivative = sr.FAMILIES[name]
        for u, sides in PROOFS[name].joins.items():
            for sign, (phi, slope) in zip((-1, 1), sides, strict=True):
                near = np.array([u + sign * 1e-9])
                assert value(near)[0] == pytest.approx(phi, abs=1e-8)
                assert derivative(near)[0] == pytest.approx(slope, abs=1e-8)
    assert not [name for name in SMOOTH if PROOFS[name].joins]


def test_the_scale_of_swish_decides_and_too_wide_a_bound_does_not(monkeypatch):
    """sup |phi'| of swish_unscaled is 1.09983943: 1.0998 is too small a divisor, 1.0999 enough."""
    for divisor, tolerance, holds, fails in (
        (1.0998, 1e-6, False, True),
        (1.0999, 1e-6, True, False),
        (1.0999, 1e-2, False, False),  # an enclosure that holds the limit decides nothing
    ):
        monkeypatch.setitem(PROOFS, "swish", _swish(1 / iv.mpf(divisor)))
        bound = sr.certify("swish", tolerance)["slope"]
        assert (bound.holds, bound.fails) == (holds, fails)


def test_certificates_are_quick_and_need_no_torch():
    start = time.process_time()
    for name in NAMES:
        sr.certify(name)
    assert time.process_time() - start < 2
    modules = "learnability.theory.smoothed_relu, learnability.theory.paper_d"
    code = f"import sys; import {modules}; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
