"""Paper A's constants by plain arithmetic, its printed inequalities, and the energy that Theorem I.1 hides."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from learnability.teachers.densenet import Teacher
from learnability.theory.paper_a import (
    DefinitionB3,
    SpecialCase,
    feature_bound,
    hidden_energy,
    log_factorial,
    weight_decay,
)

# L = 4; J_4 = {1, 2, 3}, so that barred numbers are maxima of two; B_3 = 1 as its sum is less
TINY = DefinitionB3(
    d=5,
    widths=(2, 3, 1),
    graph=((0, 1), (0, 2), (1, 2, 3)),
    alphas=(1.0, 0.5, 0.125),
    sums=(2.5, 0.3, 1.5),
    kappa=1.25,
    epsilon=0.5,
    c0=1e-6,
    poly=0.0,
    delta=0.1,
)
KBAR, BBAR = {2: 1.0, 3: 2.0, 4: 3.0}, {2: 1.0, 3: 2.5, 4: 2.5}


def plain(layer: int) -> dict[str, float]:
    """Definition B.3 in floating-point numbers, not logarithms, for TINY."""
    q, kappa, c0 = 2**layer, 1.25, 1e-6

    def tau(n: int) -> float:
        return (BBAR[n] * KBAR[n] * 4 * kappa) ** 4

    def big_d(n: int) -> float:
        q = 2**n
        return (tau(n) * kappa**q * float(q) ** q * math.factorial(q) * float(math.factorial(6 * q))) ** (c0 * n)

    ups = 1.0
    for j in range(layer, 5):
        ups *= big_d(j) ** (20 * 2 ** (6 * (j - layer)))
    alpha, d = TINY.alphas[layer - 2], big_d(layer)
    return {
        "kappa_tilde": (KBAR[layer] * 4 * kappa) ** 4,
        "tau": tau(layer),
        "truncation": (q * math.log(5 * 4 / 0.5)) ** q,
        "big_d": d,
        "upsilon": ups,
        "threshold_nabla": 0.25 * (alpha / (d**3 * math.sqrt(ups))) ** 2,
        "next_triangle": (alpha / (d**9 * ups)) ** 2,
        "lambda3": alpha**2 / (d * ups),
        "lambda4": alpha**2 / (d**7 * ups**2),
        "lambda5": alpha**2 / (d**13 * ups**3),
        "lambda6": 0.5**2 / (KBAR[layer] * 4 * kappa) ** 8,
    }


def test_factorials():
    for n in (0, 1, 5, 24, 96):
        assert log_factorial(n) == pytest.approx(math.log10(math.factorial(n)), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("layer", [2, 3, 4])
def test_definition_b3_is_its_plain_arithmetic(layer):
    expected = plain(layer)
    assert TINY.depth == 4 and TINY.kbar(layer) == KBAR[layer] and TINY.bbar(layer) == BBAR[layer]
    for name in ("kappa_tilde", "tau", "truncation", "big_d", "upsilon", "threshold_nabla"):
        assert 10 ** getattr(TINY, name)(layer) == pytest.approx(expected[name], rel=1e-9), name
    for number, value in zip((3, 4, 5, 6), TINY.lambdas(layer), strict=True):
        assert 10**value == pytest.approx(expected[f"lambda{number}"], rel=1e-9), number
    if layer > 2:
        below = plain(layer - 1)
        assert 10 ** TINY.threshold_triangle(layer) == pytest.approx(below["next_triangle"], rel=1e-9)
        barred = max(plain(j)["truncation"] for j in TINY.graph[layer - 2] if j >= 2)
        assert 10 ** TINY.truncation_bar(layer) == pytest.approx(barred, rel=1e-9)
        gap = 1 / (expected["upsilon"] ** 6 * barred)
        assert 10 ** TINY.gap(layer - 1) == pytest.approx(gap, rel=1e-9)
    assert TINY.truncation_bar(2) == 0.0


def test_the_hidden_constants_are_powers():
    """c_0 multiplies every logarithm of D_l, poly is the power of tau_l in B'_l, of kappa~ B' in m and tau in N."""
    more = replace(TINY, c0=0.3, poly=2.0)
    for layer in (2, 3, 4):
        assert more.big_d(layer) == pytest.approx(3e5 * TINY.big_d(layer))
        assert more.truncation(layer) == pytest.approx(TINY.truncation(layer) + 2 * TINY.tau(layer))
    most = [max(f(n) for n in (2, 3, 4)) for f in (more.kappa_tilde, more.truncation, more.tau)]
    assert most[0] == more.kappa_tilde(4) and most[1] == more.truncation(4) and most[2] == more.tau(4)
    assert more.width() == pytest.approx(2 * (most[0] + most[1]) + 2 * math.log10(2))
    assert TINY.width() == pytest.approx(math.log10(4))  # poly(.) = 1, eps = 1/2


def test_samples_are_the_larger_of_two_terms():
    """d^2 log(d/delta) and (m d log d / eps^4) poly(tau) (2^L c_4 log(tau d/(delta eps)))^(c_4 + 1), c_4 = 2^L."""
    first = 5**2 * math.log(5 / 0.1)
    tau = (2.5 * 3 * 4 * 1.25) ** 4
    second = (4 * 5 * math.log(5) / 0.5**4) * (16 * 16 * math.log(tau * 5 / (0.1 * 0.5))) ** 17
    assert TINY.samples() <= math.log10(first + second) <= TINY.samples() + math.log10(2)
    assert 10 ** TINY.samples() == pytest.approx(second, rel=1e-9)
    assert replace(TINY, poly=1.5).samples() == pytest.approx(
        math.log10(second) + 1.5 * (math.log10(tau) + replace(TINY, poly=1.5).truncation(4) + TINY.kappa_tilde(4))
    )
    many = replace(TINY, d=10**120)  # d^2 takes over
    assert many.samples() == pytest.approx(240 + math.log10(math.log(10**121)), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    widths=st.lists(st.integers(1, 50), min_size=1, max_size=4),
    sums=st.lists(st.floats(0.1, 1e3), min_size=4, max_size=4),
    d=st.integers(2, 10**6),
    kappa=st.floats(1, 100),
    epsilon=st.floats(1e-6, 0.9),
    c0=st.floats(2, 10),
)
def test_what_the_paper_says_of_its_constants(widths, sums, d, kappa, epsilon, c0):
    count = len(widths)
    graph = [(0, 1), *[(0, n - 1) for n in range(3, count + 2)]]
    b3 = DefinitionB3(d, widths, graph, [0.1**n for n in range(count)], sums[:count], kappa, epsilon, c0)
    for layer in range(2, count + 2):
        above = [b3.upsilon(n) for n in range(layer + 1, count + 2)]
        assert b3.upsilon(layer) >= 20 * b3.big_d(layer) + 6 * sum(above)  # 'Note it satisfies'
        expected = 20 * b3.big_d(layer) + (64 * above[0] if above else 0)
        assert b3.upsilon(layer) == pytest.approx(expected, rel=1e-12)
        assert b3.big_d(layer) > 0 and b3.tau(layer) >= b3.kappa_tilde(layer)
        l3, l4, l5, l6 = b3.lambdas(layer)
        step = 6 * b3.big_d(layer) + b3.upsilon(layer)
        assert l3 - l4 == pytest.approx(step, rel=1e-9) and l4 - l5 == pytest.approx(step, rel=1e-9)
        decay = weight_decay(epsilon, b3.kbar(layer), b3.depth, kappa)  # Algorithm 1, line 7, with eps_0 = eps
        assert l6 == pytest.approx(math.log10(decay), rel=1e-9)
        if layer <= count:
            # l-nabla begins above where it ends: D_l^3 sqrt(Y_l) against D_l^9 Y_l
            assert b3.threshold_nabla(layer) - b3.threshold_triangle(layer + 1) == pytest.approx(
                12 * b3.big_d(layer) + b3.upsilon(layer) - math.log10(4), rel=1e-9
            )
            assert b3.gap(layer) == pytest.approx(-6 * b3.upsilon(layer + 1) - b3.truncation(layer))


def test_the_special_case_by_hand():
    """(4.1) with d = 16 and C = 2: 16^(1/(3 2^l)) and the like are powers of 2."""
    case = SpecialCase(16, (3.0, 1.0, 0.5, 0.25), 2.0)  # alpha_1, ..., alpha_4
    with pytest.raises(ValueError, match="alpha_1"):
        case.threshold_triangle(2)
    assert case.threshold_triangle(3) == pytest.approx(2 ** (-1 / 3))
    assert case.threshold_triangle(4) == pytest.approx(0.25 * 2 ** (-1 / 6))
    assert case.threshold_nabla(2) == pytest.approx(2 ** (-1 / 6))
    assert case.threshold_nabla(3) == pytest.approx(0.25 * 2 ** (-1 / 12))
    assert case.threshold_nabla(4) == pytest.approx(0.0625 * 2 ** (-1 / 24))
    assert case.lambdas(2) == pytest.approx((2 ** (-1 / 6), 2 ** (-1 / 3), 2 ** (-1 / 2)))
    assert case.lambdas(3) == pytest.approx((0.25 * 2 ** (-1 / 12), 0.25 * 2 ** (-1 / 6), 0.25 * 2 ** (-1 / 4)))
    cubed = SpecialCase(10**6, (1.0, 1.0, 0.1), 3.0)
    assert cubed.threshold_triangle(3) == pytest.approx(10 ** (-6 / 27))
    assert cubed.lambdas(3)[2] == pytest.approx(0.01 * 10 ** (-6 / 54))


def test_weight_decay_and_the_bound_on_features_by_hand():
    assert weight_decay(0.5, 2.0, 3, 1.0) == pytest.approx(0.25 / 6**8)
    assert weight_decay(0.25, 2.0, 3, 1.0) == pytest.approx(weight_decay(0.5, 2.0, 3, 1.0) / 4)  # line 18
    assert feature_bound(0.3, 0.4, 0.5) == pytest.approx(1.0)
    assert feature_bound(0.0, 0.1, 1.0) == pytest.approx(0.01)  # alpha_{L+1} = 0


@pytest.mark.parametrize("depth", [2, 3])
def test_hidden_energy_is_that_of_a_parity(depth):
    """G*(|x| tau) as a function of signs tau: the coefficient of prod_{supp W*_{2,0}} tau_i, squared, over |x|."""
    d, n, p = 5, 40_000, 2 ** (depth - 1)
    t = Teacher(d=d, alpha=0.6, family="supports", depth=depth, scale=0.8, seed=3)
    size = torch.randn(n, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64).abs()
    support = tuple(t.weights[2, 0][0].nonzero().flatten().tolist())
    subsets = list(itertools.combinations(range(d), p))
    found = {s: np.zeros(n) for s in subsets}
    for signs in itertools.product((-1.0, 1.0), repeat=d):
        values = t(size * torch.tensor(signs))[:, 0].numpy() / 2**d
        for s in subsets:
            found[s] += values * math.prod(signs[i] for i in s)
    expected = hidden_energy(t.alphas[-1], depth)
    square = found[support] ** 2
    error = square.std() / math.sqrt(n)
    assert error < 0.1 * expected and abs(square.mean() - expected) < 4.5 * error
    top = math.factorial(p) * p ** (-p / 2) * size[:, list(support)].prod(1).numpy() * t.alphas[-1]
    np.testing.assert_allclose(found[support], top, rtol=1e-8, atol=1e-8)
    for s in subsets:
        assert s == support or np.abs(found[s]).max() < 1e-8  # no other product of p signs
