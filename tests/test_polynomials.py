"""Polynomials in several variables: arithmetic by values, moments by quadrature, energies by least squares."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learnability.theory import polynomials
from learnability.theory.polynomials import Polynomial, combine, constant, hermite, legendre, linear, zero_measure

MEASURES = {
    "gaussian": ("gaussian", "gaussian", "gaussian"),
    "uniform": ("uniform", "uniform"),
    "mixed": ("uniform", "gaussian", "zero"),
}
BOUND = 1.7
Terms = list[tuple[tuple[int, ...], float]]


def terms_of(seed: int, d: int, degree: int, count: int = 8) -> Terms:
    """Random monomials, some of them twice."""
    rng = np.random.default_rng(seed)
    found: Terms = []
    for _ in range(count):
        picked = rng.integers(d, size=rng.integers(degree + 1))
        found.append((tuple(int((picked == i).sum()) for i in range(d)), float(rng.normal())))
    return [*found, (found[0][0], 0.5)]


def made(terms: Terms, d: int) -> Polynomial:
    total = constant(0.0, d)
    for exponents, coefficient in terms:
        total = total + Polynomial(np.array([exponents], dtype=np.int16), np.array([coefficient]))
    return total


def values(terms: Terms, x: np.ndarray) -> np.ndarray:
    return sum(c * np.prod([x[:, i] ** n for i, n in enumerate(e)], axis=0) for e, c in terms)


def nodes(measures: tuple[str, ...], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (N, d) and weights of a product measure, exact up to degree 2n - 1 in every variable."""
    sides = []
    for kind in measures:
        if kind == "gaussian":
            x, w = np.polynomial.hermite_e.hermegauss(n)
            sides.append((x, w / math.sqrt(2 * math.pi)))
        elif kind == "uniform":
            x, w = np.polynomial.legendre.leggauss(n)
            sides.append((x * BOUND, w / 2))
        else:
            sides.append((np.zeros(1), np.ones(1)))
    points = np.array(list(itertools.product(*(x for x, _ in sides))))
    return points, np.array([math.prod(w) for w in itertools.product(*(w for _, w in sides))])


def tables_of(measures: tuple[str, ...], most: int) -> list[np.ndarray]:
    every = {"gaussian": hermite(most), "uniform": legendre(most, BOUND), "zero": zero_measure(most)}
    return [every[kind] for kind in measures]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 3), factor=st.floats(-3, 3))
def test_arithmetic_is_that_of_values(seed, d, factor):
    x = np.random.default_rng(seed).uniform(-1.5, 1.5, (20, d))
    one, two = terms_of(seed, d, 4), terms_of(seed + 1, d, 3)
    p, q, a, b = made(one, d), made(two, d), values(one, x), values(two, x)
    for found, expected in (
        (p, a),
        (p + q, a + b),
        (p * q, a * b),
        (p * factor, a * factor),
        (factor * q, b * factor),
        (p * q + p * p * -1.0, a * b - a * a),
        (p + constant(factor, d), a + factor),
    ):
        np.testing.assert_allclose(found(x), expected, rtol=1e-10, atol=1e-10)
    for r in (p, p * q):
        assert len({tuple(e) for e in r.exponents.tolist()}) == len(r.exponents) == len(r.coefficients)
        assert (r.coefficients != 0).all()
    assert (p * q).degree == p.degree + q.degree


def test_terms_that_cancel_are_gone():
    x, y = linear(np.eye(2))
    found = (x + y) * (x + -1.0 * y)
    assert dict(zip(map(tuple, found.exponents.tolist()), found.coefficients.tolist(), strict=True)) == {
        (2, 0): 1.0,
        (0, 2): -1.0,
    }
    none = found + found * -1.0
    assert len(none.exponents) == 0 and none.degree == 0
    assert (none * found)(np.ones((3, 2))).tolist() == [0.0] * 3
    tables = [hermite(4)] * 2
    assert polynomials.mean(none, tables) == polynomials.second_moment(none, tables) == 0.0
    assert polynomials.energy_by_degree(none, tables).tolist() == [0.0]
    assert len(constant(0.0, 3).exponents) == 0


def test_many_variables_are_merged_as_few_are():
    """Beyond 2^62 a vector of exponents no longer fits one whole number."""
    rng = np.random.default_rng(0)
    small = rng.normal(size=(2, 3))
    wide = np.zeros((2, 70))
    wide[:, [0, 31, 69]] = small
    (p, q), (few_p, few_q) = linear(wide), linear(small)
    many, few = p * q + p * p, few_p * few_q + few_p * few_p
    x = rng.normal(size=(10, 70))
    assert len(many.exponents) == len(few.exponents) == 6
    np.testing.assert_allclose(many(x), few(x[:, [0, 31, 69]]), rtol=1e-12)
    tables = hermite(2)
    expected = polynomials.second_moment(few, [tables] * 3)
    assert polynomials.second_moment(many, [tables] * 70) == pytest.approx(expected, rel=1e-12)


def test_linear_forms_and_combinations_are_matrix_products():
    rng = np.random.default_rng(1)
    first, second, x = rng.normal(size=(4, 3)), rng.normal(size=(2, 4)), rng.normal(size=(9, 3))
    first[1] = 0.0
    forms = linear(first)
    np.testing.assert_allclose(np.stack([p(x) for p in forms], 1), x @ first.T, rtol=1e-12, atol=1e-12)
    squares = combine(second, [p * p for p in forms])
    expected = (x @ first.T) ** 2 @ second.T
    np.testing.assert_allclose(np.stack([p(x) for p in squares], 1), expected, rtol=1e-12)
    assert len(forms) == 4 and len(forms[1].exponents) == 0 and len(squares) == 2


def test_quadratic_forms_are_those_of_values():
    """Forms that are not symmetric, polynomials that share monomials or have none."""
    rng = np.random.default_rng(2)
    form, x = rng.normal(size=(4, 4)), rng.normal(size=(9, 3))
    parts = [terms_of(seed, 3, 3) for seed in range(3)]
    z = [*[made(part, 3) for part in parts], constant(0.0, 3)]
    at = np.stack([*[values(part, x) for part in parts], np.zeros(9)])
    found = polynomials.quadratic(form, z)
    np.testing.assert_allclose(found(x), np.einsum("an,ab,bn->n", at, form, at), rtol=1e-10, atol=1e-10)
    assert len({tuple(e) for e in found.exponents.tolist()}) == len(found.exponents)
    assert len(polynomials.quadratic(np.zeros((4, 4)), z).exponents) == 0


def test_hermite_table_is_numpys():
    table = hermite(32)
    for n in range(33):
        series = np.polynomial.hermite_e.poly2herme([0.0] * n + [1.0])
        expected = np.zeros(33)
        expected[: n + 1] = [c * math.sqrt(math.factorial(j)) for j, c in enumerate(series)]
        np.testing.assert_allclose(table[n], expected, rtol=1e-9)
    assert table[4].tolist()[:5] == pytest.approx([3, 0, 6 * math.sqrt(2), 0, math.sqrt(24)])


@pytest.mark.parametrize("bound", [1.0, math.sqrt(3), 2.5])
def test_legendre_table_is_an_inner_product(bound):
    """table[n, j] = E[x^n h_j(x)], h_j orthonormal under the uniform measure."""
    table, (t, w) = legendre(12, bound), np.polynomial.legendre.leggauss(16)
    h = np.array([math.sqrt(2 * j + 1) * np.polynomial.legendre.Legendre.basis(j)(t) for j in range(13)])
    np.testing.assert_allclose(h * w / 2 @ h.T, np.eye(13), atol=1e-12)
    powers = np.array([(bound * t) ** n for n in range(13)])
    expected = powers * w / 2 @ h.T
    np.testing.assert_allclose(table, expected, rtol=1e-9, atol=1e-12 * bound**12)
    np.testing.assert_allclose(table @ h, powers, rtol=1e-9, atol=1e-10)  # x^n itself


@pytest.mark.parametrize("kind", ["gaussian", "uniform", "zero"])
def test_a_table_gives_every_moment_of_its_measure(kind):
    x, w = nodes((kind,), 13)
    (table,) = tables_of((kind,), 12)
    for n, m in itertools.product(range(13), repeat=2):
        expected = (w * x[:, 0] ** (n + m)).sum()
        assert table[n] @ table[m] == pytest.approx(expected, rel=1e-9, abs=1e-9 * math.sqrt(math.factorial(n + m)))
        assert table[n, 0] == pytest.approx((w * x[:, 0] ** n).sum(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("measures", MEASURES.values(), ids=MEASURES)
@pytest.mark.parametrize("seed", range(5))
def test_moments_are_quadratures(measures, seed):
    d, degree = len(measures), 5
    p = made(terms_of(seed, d, degree, 14), d)
    x, w = nodes(measures, degree + 1)
    tables = tables_of(measures, p.degree)
    assert polynomials.mean(p, tables) == pytest.approx((w * p(x)).sum(), rel=1e-10, abs=1e-12)
    assert polynomials.second_moment(p, tables) == pytest.approx((w * p(x) ** 2).sum(), rel=1e-10)
    longer = tables_of(measures, p.degree + 3)  # tables may hold more than is needed
    assert polynomials.second_moment(p, longer) == pytest.approx(polynomials.second_moment(p, tables), rel=1e-12)


@pytest.mark.parametrize("measures", MEASURES.values(), ids=MEASURES)
def test_energy_above_a_degree_is_what_least_squares_leaves(measures):
    d, degree = len(measures), 5
    p = made([*terms_of(3, d, degree, 14), ((degree,) + (0,) * (d - 1), 0.7)], d)
    x, w = nodes(measures, degree + 1)
    tables = tables_of(measures, degree)
    energy = polynomials.energy_by_degree(p, tables)
    assert p.degree == degree and energy.shape == (degree + 1,)
    assert energy.sum() == pytest.approx(polynomials.second_moment(p, tables), rel=1e-12)
    assert energy[0] == pytest.approx(polynomials.mean(p, tables) ** 2, rel=1e-12)
    root = np.sqrt(w)
    for most in range(degree + 1):
        monomials = [e for e in itertools.product(range(most + 1), repeat=d) if sum(e) <= most]
        design = np.stack([np.prod(x**e, axis=1) for e in np.array(monomials)], 1)
        best = design @ np.linalg.lstsq(design * root[:, None], p(x) * root, rcond=1e-12)[0]
        left = (w * (p(x) - best) ** 2).sum()
        assert energy[most + 1 :].sum() == pytest.approx(left, rel=1e-8, abs=1e-10 * energy.sum())
    assert energy[degree] > 1e-3 * energy.sum()
