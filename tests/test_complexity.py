"""Complexities against 40-digit sums and closed forms; paper B's bounds against what they are made of."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
import torch
from mpmath import mp, mpf

from learnability.teachers.activations import KINDS, Activation
from learnability.teachers.concept import Function, Ridge
from learnability.theory import complexity, paper_b
from learnability.theory.complexity import c_eps, c_s, log_c_eps, truncated, truncation_degree

POLYNOMIAL = (0.5, -1.0, 0.25, 0.0, 2.0)
EXACT = {  # phi(u) in any precision
    "polynomial": lambda u: sum(q * u**i for i, q in enumerate(POLYNOMIAL)),
    "exp": lambda u: mpmath.exp(u) - 1,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "sigmoid": lambda u: 1 / (1 + mpmath.exp(-u)),
    "tanh": mpmath.tanh,
}


@pytest.fixture(autouse=True)
def forty_digits():
    with mp.workdps(40):
        yield


def activation(kind: str, scale: float = 1.0) -> Activation:
    return Activation(kind, scale, POLYNOMIAL if kind == "polynomial" else ())


def taylor(kind: str, scale: float, degree: int) -> list[mpf]:
    """c_0, ..., c_degree of phi(scale z) by numerical differentiation."""
    with mp.workdps(80):
        return mpmath.taylor(lambda z: EXACT[kind](mpf(scale) * z), 0, degree)


def by_hand(coefficients: list[mpf], eps: float, c_star: float) -> mpf:
    """C_eps of a polynomial, term by term."""
    root = mpmath.sqrt(mpmath.log(1 / mpf(eps)))
    total = 2 * abs(coefficients[0])
    for i, c in enumerate(coefficients[1:], start=1):
        total += (mpf(c_star) ** i + (root / mpmath.sqrt(i) * c_star) ** i) * abs(c)
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 0.3, 5.5])
def test_series_are_the_derivatives_at_zero(kind, scale):
    expected = [float(c) for c in taylor(kind, scale, 30)]
    np.testing.assert_allclose(activation(kind, scale).series(30), expected, rtol=1e-12, atol=1e-25)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 5.5])
def test_split_of_lemma_b2(kind, scale):
    """phi^+ and phi^- against 700 digits, near 0 too, and their series against phi's."""
    phi = activation(kind, scale)
    z = torch.tensor([0.0, 1e-300, 1e-9, -1e-5, 3e-3, -0.2, 0.7, 1.0], dtype=torch.float64)
    for at, value, plus, minus in zip(z, phi(z), phi.plus(z), phi.minus(z), strict=True):
        with mp.workdps(700):  # 1e-300 squared
            exact = EXACT[kind]
            u, zero = mpf(scale) * mpf(at.item()), exact(mpf(0))
            up, down = exact(u), exact(-u)
            divided = ((up + down) / 2 - zero) / mpf(at.item()) if at else mpf(0)
        assert value.item() == pytest.approx(float(up), rel=1e-13, abs=1e-300)
        assert plus.item() == pytest.approx(float(zero + (up - down) / 2), rel=1e-13, abs=1e-300)
        assert minus.item() == pytest.approx(float(divided), rel=1e-13, abs=1e-300)
    c = phi.series(21)
    order = np.arange(21)
    np.testing.assert_allclose(phi.plus.series(20), np.where((order == 0) | (order % 2 == 1), c[:21], 0))
    np.testing.assert_allclose(phi.minus.series(20), np.where(order % 2 == 1, c[1:], 0), rtol=1e-12)
    assert phi.plus.only_odd and phi.minus.only_odd
    assert phi.only_odd == (not np.any(c[2::2]))


@pytest.mark.parametrize("kind", ["exp", "sin", "cos", "sigmoid", "tanh", "sinh", "exp_even", "cos_even"])
def test_majorants_bound_and_are_log_concave(kind):
    i = np.arange(400)
    for scale in (0.2, 1.0, 7.0):
        phi = Activation(kind, scale)
        bound = phi.log_majorant(i)
        assert np.all(phi.log_series(i)[1] <= bound + 1e-12 * (1 + np.abs(bound)))
        assert np.all(np.diff(bound, 2) <= 1e-9)


@pytest.mark.parametrize("c", [0.4, 1.0, 1.5])
def test_c_s_in_closed_form(c):
    """sum (i+1)|c_i| = (z A)'(1) with A the series of |c_i|: sinh, cosh, tan in place of sin, cos, tanh."""
    expected = {
        "exp": (1 + c) * math.exp(c) - 1,
        "sin": math.sinh(c) + c * math.cosh(c),
        "cos": math.cosh(c) + c * math.sinh(c),
        "tanh": math.tan(c) + c / math.cos(c) ** 2,
        "sigmoid": 0.5 + 0.5 * (math.tan(c / 2) + c / 2 / math.cos(c / 2) ** 2),
        "polynomial": sum((i + 1) * abs(q) * c**i for i, q in enumerate(POLYNOMIAL)),
    }
    for kind, value in expected.items():
        assert c_s(activation(kind, c), c_star=7.0) == pytest.approx(7 * value, rel=1e-11), kind


def test_c_s_is_infinite_from_the_radius_on():
    assert c_s(Activation("tanh", 1.57)) < math.inf
    assert c_s(Activation("tanh", math.pi / 2)) == c_s(Activation("tanh", 2.0)) == math.inf
    assert c_s(Activation("sigmoid", 3.1)) < math.inf == c_s(Activation("sigmoid", 3.2))
    assert c_s(Activation("exp", 50.0), 1.0) == pytest.approx(51 * math.exp(50), rel=1e-11)


@pytest.mark.parametrize("kind", ["exp", "sin", "cos", "polynomial"])
@pytest.mark.parametrize(("eps", "c_star"), [(0.1, 1.0), (1e-6, 3.0), (1e-200, 10.0), (1.0, 2.0)])
def test_c_eps_against_40_digits(kind, eps, c_star):
    factorial = [0.5 ** mpf(i) / mpmath.factorial(i) for i in range(900)]
    kept = {"exp": lambda i: i > 0, "sin": lambda i: i % 2, "cos": lambda i: i % 2 == 0}
    if kind == "polynomial":
        series = [mpf(q) * mpf(0.5) ** i for i, q in enumerate(POLYNOMIAL)]
    else:
        series = [c if kept[kind](i) else mpf(0) for i, c in enumerate(factorial)]
    expected = mpmath.log(by_hand(series, eps, c_star))
    assert log_c_eps(activation(kind, 0.5), eps, c_star) == pytest.approx(float(expected), rel=1e-11)


def test_c_eps_of_tanh_inside_its_radius_and_beyond():
    series = [mpf(0)] * 252  # c_{2n-1} = 4^n (4^n - 1) B_{2n} / (2n)!
    for n in range(1, 126):
        series[2 * n - 1] = mpf(4) ** n * (mpf(4) ** n - 1) * mpmath.bernoulli(2 * n) / mpmath.factorial(2 * n)
    assert c_eps(Activation("tanh"), 0.01, 1.2) == pytest.approx(float(by_hand(series, 0.01, 1.2)), rel=1e-11)
    for kind, radius in (("tanh", math.pi / 2), ("sigmoid", math.pi)):
        assert c_eps(Activation(kind), 0.1, radius) == c_eps(Activation(kind), 0.1) == math.inf
        assert c_eps(Activation(kind), 0.1, 0.99 * radius) < math.inf


def test_the_papers_constant_needs_logarithms():
    """C* = 10^4: e^{C*} - 1 and sum_i (sqrt(L / i) C*)^i / i!, largest near i = (C*^2 L / e)^(1/3)."""
    eps = 1e-3
    root = mpmath.sqrt(mpmath.log(1 / mpf(eps))) * 10**4
    second = mpf(0)
    for i in range(1, 8000):
        second += (root / mpmath.sqrt(i)) ** i / mpmath.factorial(i)
    expected = mpmath.log(mpmath.expm1(10**4) + second)
    assert log_c_eps(Activation("exp"), eps) == pytest.approx(float(expected), rel=1e-12)
    with pytest.raises(OverflowError, match="log_c_eps"):
        c_eps(Activation("exp"), eps)


def test_order_zero_counts_twice_and_eps_has_a_range():
    assert c_eps(Activation("polynomial", coefficients=(3.0,)), 0.1) == pytest.approx(6.0)
    assert c_eps(Activation("polynomial"), 0.1) == c_s(Activation("polynomial")) == 0
    for eps in (0.0, 1.5):
        with pytest.raises(ValueError, match="eps"):
            log_c_eps(Activation("sin"), eps)


@pytest.mark.parametrize("kind", ["exp", "sin", "cos", "polynomial"])
def test_example_41_entire_functions_grow_slower_than_any_power(kind):
    """C_eps = o(1/eps): its exponent log C_eps / log(1/eps) falls to 0, and C_s does not know eps."""
    logs = np.array([5.0, 20, 80, 320, 640])
    values = np.array([log_c_eps(activation(kind), math.exp(-x), c_star=3.0) for x in logs])
    exponents = values / logs
    assert np.all(np.diff(exponents) < 0) and exponents[-1] < 0.12
    assert np.all(np.diff(values - logs)[1:] < 0)  # eps C_eps falls
    if kind == "polynomial":  # C_eps ~ log(1/eps)^(degree / 2)
        slope = (values[-1] - values[-2]) / math.log(2)
        assert slope == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize(("kind", "rate"), [("tanh", math.pi / 2), ("sigmoid", math.pi)])
def test_example_41_truncation(kind, rate):
    """Degree Theta(log 1/eps), eps-close on [-1, 1], and C_eps <= poly(1/eps)."""
    phi, z = Activation(kind), torch.linspace(-1, 1, 201, dtype=torch.float64)
    exponents = []
    for eps in (1e-2, 1e-4, 1e-8, 1e-12):
        degree, polynomial = truncation_degree(phi, eps), truncated(phi, eps)
        assert polynomial.degree in (degree, degree - 1)
        assert (polynomial(z) - phi(z)).abs().max() <= eps + 1e-15
        half = Activation("polynomial", coefficients=tuple(phi.series(degree // 2)))
        assert (half(z) - phi(z)).abs().max() > eps
        assert degree == pytest.approx(math.log(1 / eps) / math.log(rate), abs=5)
        for c_star in (10.0, complexity.C_STAR):
            exponent = log_c_eps(polynomial, eps, c_star) / math.log(1 / eps)
            exponents.append(exponent / math.log(c_star))
            expected = mpmath.log(by_hand([mpf(q) for q in polynomial.coefficients], eps, c_star))
            assert log_c_eps(polynomial, eps, c_star) == pytest.approx(float(expected), rel=1e-11)
    assert max(exponents) < 2 / math.log(rate)
    with pytest.raises(ValueError, match="radius"):
        truncation_degree(Activation(kind, 4.0), 0.1)


def test_appendix_e4_family_is_a_product_and_has_these_complexities():
    d, k = 12, 4
    family = paper_b.parity_family(d, k, c_star=5.0)
    signs = torch.tensor(list(itertools.product((1.0, -1.0), repeat=k))).double()  # (-1)^s: (2^k, k)
    weights = family.a_g * signs.prod(1).expand(k, -1)  # (k, 2^k)
    phi_g = Activation("polynomial", math.sqrt(2), (0.0,) * k + (1.0,))
    g = Function((Ridge(phi_g, weights, (signs / math.sqrt(2 * k)).expand(k, -1, -1)),))
    phi_f = Activation("polynomial", math.sqrt(2 * d / k), (0.0, 1.0))
    w = (torch.eye(d)[:k, None] / math.sqrt(2)).double()
    f = Function((Ridge(phi_f, torch.ones(k, 1).double(), w),))
    for block in (*f.blocks, *g.blocks):
        assert torch.allclose(block.w.norm(dim=-1), torch.tensor(0.5).double().sqrt())
        assert block.a.abs().max() <= 1
    x = (torch.randint(0, 2, (50, d), generator=torch.Generator().manual_seed(0)).double() * 2 - 1) / math.sqrt(d)
    h = f(x)
    assert torch.allclose(h.norm(dim=1), torch.ones(50).double())
    product = (math.sqrt(d) * x[:, :k]).prod(1, keepdim=True).expand(-1, k) / math.sqrt(k)
    assert torch.allclose(g(h), product, atol=1e-12)
    assert (f.p, g.p) == (family.p_f, family.p_g)
    assert c_s(phi_f, 5.0) == pytest.approx(family.c_s_f) and c_s(phi_g, 5.0) == pytest.approx(family.c_s_g)
    assert [paper_b.parity_family(d, k, 1.0).a_g == 1 for k in (10, 11)] == [False, True]


def test_corollary_71_is_theorem_1_for_that_family():
    """T(d, alpha) / (d / alpha^8) and delta / alpha^4 depend on neither d nor alpha."""
    ratios = []
    for d, alpha in itertools.product((50, 800), (1e-3, 1e-2)):
        c = paper_b.parity_family(d, 4, c_star=1.0)
        assert alpha < paper_b.alpha_max(4, c.p_g, c.c_s_g, constant=100)
        delta = paper_b.delta_min(alpha, 4, c.p_g, c.c_s_g, constant=1e-8)
        t = paper_b.samples(4, c.p_f, c.c_s_f, delta)
        ratios.append((t / paper_b.resnet_samples(d, alpha), delta / paper_b.resnet_risk(alpha)))
    assert np.allclose(ratios, ratios[0])
    assert paper_b.delta_min(0.1, 2, 3, 4.0, b_f=2.0, opt=0.5, constant=2) == pytest.approx(0.5 + 2 * 2.4**4 * 9)
    assert paper_b.samples(2, 3, 4.0, delta=7.0) == 24**2 and paper_b.eta_w(7.0, 0.1) == 0.1


def test_theorem_2_against_corollary_71():
    """The paper's example: alpha = d^-0.01, k = 4: d^1.08 samples against d^2 without logarithms."""
    d = 10.0**6
    assert math.log(paper_b.resnet_samples(d, d**-0.01)) / math.log(d) == pytest.approx(1.08)
    kernel = paper_b.kernel_samples(d, 4)
    assert math.log(kernel * math.log(d) ** 4) / math.log(d) == pytest.approx(2)
    assert paper_b.kernel_alpha_min(16, 4) == pytest.approx(1 / 16) and paper_b.kernel_risk(0.4) == pytest.approx(
        0.04
    )


def test_table_1_holds_from_its_width_on_and_not_before():
    size = {"k": 2, "alpha": 0.01, "p_f": 2, "c_s_f": 3.0, "p_g": 2, "c_s_g": 1.5}
    first = paper_b.table1(m=1e6, **size)
    assert (first.tau_w, first.tau_v) == pytest.approx((12, 0.06))
    assert (first.sigma_w, first.sigma_v) == pytest.approx((1e6**-0.125, 0.06**-2))
    width = paper_b.table1_width(first.tau_w, first.tau_v, 2)
    power = 0.5  # polylog(m) = sqrt(log m)
    assert paper_b.violations(paper_b.table1(m=1.001 * width, **size), power) == []
    below = paper_b.violations(paper_b.table1(m=0.999 * width, **size), power)
    assert below == ["tau_v in [sigma_v (k/m)^3/8, sigma_v/polylog(m)]"]
    narrow = paper_b.violations(paper_b.table1(m=300, **size), power)
    assert any(name.startswith("tau_w") for name in narrow) and any("m^0.37" in name for name in narrow)
    assert "tau_v <= 1/polylog(m)" in paper_b.violations(paper_b.table1(m=1e12, **size | {"alpha": 0.2}), power)


def test_learning_rates_of_the_proof():
    """tau_w^2 / eta_w = tau_v^2 / eta_v, hence eta_v tau_w^2 = eta_w tau_v^2; the printed rate lacks alpha^2."""
    size = {"p_f": 2, "c_s_f": 30.0, "p_g": 3, "c_s_g": 5.0}
    t = paper_b.table1(m=1e9, k=4, alpha=0.01, **size)
    proof, printed = paper_b.eta_v(0.05, 0.01, **size), paper_b.eta_v_printed(0.05, **size)
    assert t.tau_w**2 / 0.05 == pytest.approx(t.tau_v**2 / proof)
    assert proof * t.tau_w**2 < 0.1 < printed * t.tau_w**2


def test_rademacher_bounds_against_all_signs():
    """m = 2 neurons, d = 2, N = 8: the supremum over sum_j ||W_j|| <= b on a grid of directions, all 2^8 signs."""
    n, b = 8, 3.0
    angles = np.linspace(0, 2 * np.pi, 720, endpoint=False)
    directions = np.stack([np.cos(angles), np.sin(angles)])
    points = np.random.default_rng(0).normal(size=(n, 2))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    relu = np.maximum(points @ directions, 0)  # (n, angles)
    sums = np.array(list(itertools.product((-1, 1), repeat=n))) @ relu / n  # (2^n, angles)
    exact = (b / math.sqrt(2) * np.maximum(sums.max(1), -sums.min(1)).clip(0)).mean()  # a = (1, -1) / sqrt(2)
    bound = paper_b.rademacher_rows([1.0, 2.0], n)
    assert bound == pytest.approx(2 / math.sqrt(2) * b / math.sqrt(n))
    assert bound / 8 < exact <= bound
    w = np.random.default_rng(1).normal(size=(6, 3))
    rows = paper_b.rademacher_rows(np.linalg.norm(w, axis=1), 100)
    assert rows < paper_b.rademacher_frobenius(float(np.linalg.norm(w)), 100)
    assert paper_b.rademacher_rows([2.0] * 9, 100) == pytest.approx(paper_b.rademacher_frobenius(6.0, 100))


def test_generalisation_gap_constants():
    """L and M are the loss's own, by differences on a grid; Appendix A.1's N = 5000, d = 40 is far from enough."""
    clip, label = 1.5, 2.0
    f = np.linspace(-4, 4, 4001)
    loss = (f.clip(-clip, clip)[:, None] - np.linspace(-label, label, 9)) ** 2
    steepest = np.abs(np.diff(loss, axis=0)).max() / (f[1] - f[0])
    concentration = paper_b.generalisation_gap(0.0, 200, clip, label, failure=0.1)
    assert concentration == pytest.approx(loss.max() * math.sqrt(math.log(20) / 400))
    slope = paper_b.generalisation_gap(1.0, 200, clip, label, failure=0.1) - concentration
    assert slope / 2 == pytest.approx(steepest, rel=2e-3)
    rademacher = paper_b.rademacher_frobenius(9.7 * math.sqrt(40), 5000)
    assert paper_b.generalisation_gap(rademacher, 5000) > 4  # the clipped loss is never above 4
