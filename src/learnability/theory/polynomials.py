"""Polynomials in several variables, and their exact moments under product measures.

A polynomial is a table of exponents (T, d) with coefficients (T,). Its moments need no sampling: each x_i^n is
written in the polynomials h_0 = 1, h_1, ... orthonormal under x_i's measure, so that P = sum_I c_I prod_i
h_{I_i}(x_i) and

    E[P] = c_0,     E[P^2] = sum_I c_I^2     (Parseval; for N(0, 1) these are the normalised Hermite polynomials).

E[P^2] would take T^2 products of monomials by Wick's rule; this takes about T d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy
from numpy import ndarray


@dataclass(frozen=True)
class Polynomial:
    """sum_t coefficients[t] prod_i x_i^exponents[t, i]; exponents (T, d) are distinct and in order."""

    exponents: ndarray
    coefficients: ndarray

    @property
    def degree(self) -> int:
        """Largest total degree of a term; 0 for the zero polynomial."""
        return int(self.exponents.sum(1).max(initial=0))

    def __add__(self, other: Polynomial) -> Polynomial:
        both = (numpy.concatenate(p) for p in zip(self._parts(), other._parts(), strict=True))
        return _merged(*both)

    def __mul__(self, other: Polynomial | float) -> Polynomial:
        if not isinstance(other, Polynomial):
            return Polynomial(self.exponents, self.coefficients * other)
        exponents = (self.exponents[:, None] + other.exponents[None]).reshape(-1, self.exponents.shape[1])
        return _merged(exponents, numpy.outer(self.coefficients, other.coefficients).ravel())

    __rmul__ = __mul__

    def __call__(self, x: ndarray) -> ndarray:
        """Values at points (n, d): (n,)."""
        found = numpy.zeros(len(x))
        for exponents, coefficient in zip(self.exponents, self.coefficients, strict=True):
            found += coefficient * numpy.prod(x**exponents, axis=1)
        return found

    def _parts(self) -> tuple[ndarray, ndarray]:
        return self.exponents, self.coefficients

    def orthonormal(self, tables: Sequence[ndarray]) -> Polynomial:
        """The same function in products of h_n: ``tables[i][n, j]`` is the coefficient of h_j in x_i^n."""
        exponents, coefficients = self.exponents, self.coefficients
        for i, table in enumerate(tables):
            powers = exponents[:, i]
            found_e, found_c = [], []
            for j in range(int(powers.max(initial=0)) + 1):
                factor = table[powers, j]
                keep = factor != 0
                part = exponents[keep].copy()
                part[:, i] = j
                found_e.append(part)
                found_c.append(coefficients[keep] * factor[keep])
            exponents, coefficients = _merged(numpy.concatenate(found_e), numpy.concatenate(found_c))._parts()
        return Polynomial(exponents, coefficients)


def _merged(exponents: ndarray, coefficients: ndarray) -> Polynomial:
    """One term for each vector of exponents, in order; terms that cancel are dropped."""
    base = int(exponents.max(initial=0)) + 1
    if base ** exponents.shape[1] < 2**62:  # a vector as one whole number: sorting is many times faster
        keys = exponents.astype(numpy.int64) @ (base ** numpy.arange(exponents.shape[1], dtype=numpy.int64))
        _, first, inverse = numpy.unique(keys, return_index=True, return_inverse=True)
    else:
        _, first, inverse = numpy.unique(exponents, axis=0, return_index=True, return_inverse=True)
    summed = numpy.bincount(inverse.ravel(), weights=coefficients, minlength=len(first))
    keep = summed != 0
    return Polynomial(exponents[first][keep], summed[keep])


def constant(value: float, d: int) -> Polynomial:
    """The constant ``value`` in d variables."""
    return _merged(numpy.zeros((1, d), dtype=numpy.int16), numpy.array([float(value)]))


def linear(weights: ndarray) -> list[Polynomial]:
    """The rows of ``weights`` (k, d) as linear forms <w, x>."""
    d = weights.shape[1]
    return [_merged(numpy.eye(d, dtype=numpy.int16), numpy.asarray(row, dtype=float)) for row in weights]


def combine(weights: ndarray, of: Sequence[Polynomial]) -> list[Polynomial]:
    """weights @ of: (k, n) numbers times n polynomials."""
    found = []
    for row in numpy.asarray(weights, dtype=float):
        parts = [(p.exponents, p.coefficients * w) for w, p in zip(row, of, strict=True)]
        found.append(_merged(*(numpy.concatenate(part) for part in zip(*parts, strict=True))))
    return found


def quadratic(form: ndarray, of: Sequence[Polynomial]) -> Polynomial:
    """z^T form z for n polynomials z and numbers ``form`` (n, n).

    With z = C m over the T monomials m that occur in z, it is m^T (C^T form C) m: one table of T^2 products however
    large n is, and one pass to collect them.
    """
    joined = numpy.concatenate([p.exponents for p in of])
    monomials, places = numpy.unique(joined, axis=0, return_inverse=True)
    table = numpy.zeros((len(of), len(monomials)))
    owners = numpy.repeat(numpy.arange(len(of)), [len(p.exponents) for p in of])
    table[owners, places.ravel()] = numpy.concatenate([p.coefficients for p in of])
    products = table.T @ (numpy.asarray(form, dtype=float) @ table)
    first, second = numpy.triu_indices(len(monomials))
    weights = products[first, second] + numpy.where(first == second, 0.0, products[second, first])
    return _merged(monomials[first] + monomials[second], weights)


def hermite(most: int) -> ndarray:
    """(most+1, most+1): x^n = sum_j table[n, j] h_j, h_j = He_j / sqrt(j!), orthonormal under N(0, 1).

    x^n = sum_m n! / (2^m m! (n - 2m)!) He_{n-2m}.
    """
    table = numpy.zeros((most + 1, most + 1))
    for n in range(most + 1):
        for m in range(n // 2 + 1):
            j = n - 2 * m
            ways = math.factorial(n) / (2**m * math.factorial(m) * math.factorial(j))
            table[n, j] = ways * math.sqrt(math.factorial(j))
    return table


def legendre(most: int, bound: float) -> ndarray:
    """The same for x uniform on [-bound, bound]: h_j(x) = sqrt(2j+1) P_j(x / bound)."""
    table = numpy.zeros((most + 1, most + 1))
    for n in range(most + 1):
        power = numpy.zeros(n + 1)
        power[n] = bound**n
        series = numpy.polynomial.legendre.poly2leg(power)
        table[n, : n + 1] = series / numpy.sqrt(2 * numpy.arange(n + 1) + 1)
    return table


def zero_measure(most: int) -> ndarray:
    """The same for x_i = 0 always: x^n is 0 but for n = 0."""
    table = numpy.zeros((most + 1, most + 1))
    table[0, 0] = 1.0
    return table


def mean(p: Polynomial, tables: Sequence[ndarray]) -> float:
    """E[P]."""
    found = p.orthonormal(tables)
    return float(found.coefficients[found.exponents.sum(1) == 0].sum())


def second_moment(p: Polynomial, tables: Sequence[ndarray]) -> float:
    """E[P^2]."""
    return float((p.orthonormal(tables).coefficients ** 2).sum())


def energy_by_degree(p: Polynomial, tables: Sequence[ndarray]) -> ndarray:
    """E[P_q^2] for q = 0..degree, P_q the part in products of orthonormal polynomials of total degree q.

    Its sum above q is the least mean squared error of any polynomial of degree q.
    """
    found = p.orthonormal(tables)
    return numpy.bincount(found.exponents.sum(1), weights=found.coefficients**2, minlength=p.degree + 1)
