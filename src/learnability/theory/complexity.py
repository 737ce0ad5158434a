"""Complexity of a smooth function (paper B, Section 4), for phi(z) = sum_i c_i z^i.

    C_eps(phi) = sum_i ((C*)^i + (C* sqrt(log(1/eps)) / sqrt(i))^i) |c_i|
    C_s(phi)   = C* sum_i (i + 1) |c_i|

C* is "a sufficiently large constant (e.g., 10^4)", so values have no meaning of their own: what can be
compared is how they grow with 1/eps, d or a scale B (the paper's R = 1 with phi(Bz), footnote 8). At i = 0
both powers are empty products, so c_0 counts 2 |c_0| in C_eps, the limit of (a / sqrt(i))^i at i -> 0.

An infinite series is summed in logarithms to order n, the first 64 * 2^j where the rest is below ``TAIL``
of the sum: weight times ``Activation.log_majorant`` is log-concave, so the rest is at most
t / (1 - r) with t the first majorant left out and r its ratio to the next.

sum_i (C*)^i |c_i| is infinite when C* is at or beyond the radius of convergence: for tanh and sigmoid C_eps
is inf for any C* the theory could mean. Example 4.1 takes their Taylor polynomial of degree
Theta(log 1/eps) instead, which is ``truncated`` here; the polynomial has C_eps <= poly(1/eps) with an
exponent proportional to log C*.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from learnability.teachers.activations import Activation

C_STAR = 1e4
TAIL = 1e-13  # share of an infinite sum that its truncation may leave out
MOST = 1 << 24  # terms


def _log_sum(phi: Activation, log_weight: Callable[[np.ndarray], np.ndarray]) -> float:
    """log sum_i exp(log_weight(i)) |c_i|; the sum must converge."""
    if phi.degree is not None:
        if phi.degree < 0:
            return -math.inf
        i = np.arange(phi.degree + 1)
        return float(np.logaddexp.reduce(log_weight(i) + phi.log_series(i)[1]))
    n = 64
    while n <= MOST:
        i = np.arange(n)
        total = float(np.logaddexp.reduce(log_weight(i) + phi.log_series(i)[1]))
        rest = np.arange(n, n + 2)
        first, second = log_weight(rest) + phi.log_majorant(rest)
        if second < first and first - math.log1p(-math.exp(second - first)) < total + math.log(TAIL):
            return total
        n *= 2
    raise ValueError(f"the series of {phi} needs more than {MOST} terms; C* or scale is too near the radius")


def log_c_eps(phi: Activation, eps: float, c_star: float = C_STAR) -> float:
    """log C_eps(phi), inf where the series diverges."""
    if not 0 < eps <= 1:
        raise ValueError(f"eps must be in (0, 1], got {eps}")
    if phi.degree is None and c_star >= phi.radius:
        return math.inf
    log_a = math.log(c_star) + 0.5 * math.log(-math.log(eps)) if eps < 1 else -math.inf

    def second(i: np.ndarray) -> np.ndarray:
        safe = np.maximum(i, 1)
        return np.where(i > 0, safe * (log_a - 0.5 * np.log(safe)), 0.0)

    powers = _log_sum(phi, lambda i: i * math.log(c_star))
    if eps == 1:  # the second powers are 0 beyond i = 0
        first = abs(float(phi.series(0)[0]))
        return float(np.logaddexp(powers, math.log(first) if first else -math.inf))
    return float(np.logaddexp(powers, _log_sum(phi, second)))


def c_eps(phi: Activation, eps: float, c_star: float = C_STAR) -> float:
    """C_eps(phi), inf where the series diverges; OverflowError where only ``log_c_eps`` fits a float."""
    log = log_c_eps(phi, eps, c_star)
    if math.isfinite(log) and log > math.log(np.finfo(float).max):
        raise OverflowError(f"C_eps = exp({log:.6g}) is finite but no float; use log_c_eps")
    return math.exp(log) if log < math.inf else math.inf


def c_s(phi: Activation, c_star: float = C_STAR) -> float:
    """C_s(phi) = C* sum_i (i+1)|c_i|, inf where the series diverges (scale at or beyond the radius)."""
    if phi.degree is None and phi.radius <= 1:
        return math.inf
    return c_star * math.exp(_log_sum(phi, lambda i: np.log1p(i)))


def truncation_degree(phi: Activation, eps: float, reach: float = 1.0) -> int:
    """Smallest D with sum_{i > D} M_i reach^i <= eps, so |phi - phi_D| <= eps on [-reach, reach].

    D = Theta(log 1/eps) for tanh and sigmoid (Example 4.1), smaller for entire phi. The arguments of
    Concept 1 reach 1/sqrt(2); 1 is the range that C(phi, 1) is about.
    """
    if phi.degree is not None:
        return max(phi.degree, 0)
    if reach >= phi.radius:
        raise ValueError(f"the series of {phi} does not converge at {reach}; lower scale below the radius")
    n = 64
    while n <= MOST:
        i = np.arange(n + 2)
        logs = i * math.log(reach) + phi.log_majorant(i)
        ratio = np.exp(np.diff(logs))  # (n + 1,), not growing
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(ratio < 1, np.exp(logs[:-1]) / (1 - ratio), math.inf)  # sum from i on
        good = np.flatnonzero(rest[1:] <= eps)
        if len(good):
            return int(good[0])
        n *= 2
    raise ValueError(f"no degree below {MOST} approximates {phi} to {eps}")


def truncated(phi: Activation, eps: float, reach: float = 1.0) -> Activation:
    """Example 4.1: the Taylor polynomial of ``truncation_degree``, eps-close to phi on [-reach, reach]."""
    return Activation("polynomial", coefficients=tuple(phi.series(truncation_degree(phi, eps, reach))))


def of_function(function: Any, eps: float, c_star: float = C_STAR) -> dict[str, float]:
    """p, C_s and log C_eps of a Concept 1 or 2 function: the largest over its activations.

    ``function`` has ``p`` (terms an output) and ``activations``, as those of ``teachers/concept.py``.
    """
    return {
        "p": function.p,
        "c_s": max(c_s(phi, c_star) for phi in function.activations),
        "log_c_eps": max(log_c_eps(phi, eps, c_star) for phi in function.activations),
    }
