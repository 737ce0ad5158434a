"""The smallest Frobenius norm with which signed2 computes a parity (paper B, Appendix A.1).

Target y = x_1 ... x_p, x uniform in {+-1}^d (the paper: p = 6); network F(W; x) = a^T sigma(W x), half of
a's entries 1/sqrt m and half -1/sqrt m. Norms are in :mod:`learnability.learners.signed2`'s units: ||W||_F here
is the paper's ||W||_F / sqrt d.

Appendix A.1 builds W by hand: train at d = 6, m = 200 (:mod:`learnability.training.minimal_norm`), then pad
with zero columns (:func:`pad`) and duplicate rows (:func:`widen`). The minimum itself has a closed form.

Lower bound, every even p, m and d >= p. For w = (u, v), u in R^p, and even p >= 2, from
|t| = (2/pi) int_0^inf (1 - cos(l t)) / l^2 dl and sigma(t) = (t + |t|) / 2,

    |E[y sigma(w x)]| = (1/pi) |int_0^inf prod_i sin(l u_i) prod_j cos(l v_j) / l^2 dl|
                     <= (1/pi) prod_i (int_0^inf |sin(l u_i)|^p / l^2 dl)^(1/p)                       (Hoelder)
                      = (1/pi) (prod_i |u_i|)^(1/p) int_0^inf sin(l)^p / l^2 dl
                     <= M_p ||w||,   M_p = (1 / (pi sqrt p)) int_0^inf sin(l)^p / l^2 dl          (AM-GM),

with equality at w = c (+-1, ..., +-1, 0, ..., 0). Hence E[y F] <= M_p sum_j ||w_j|| / sqrt m <= M_p ||W||_F, and
E[y F] >= 1 - sqrt(eps) when E|F - y|^2 = eps:

    ||W||_F >= (1 - sqrt eps) / M_p,     M_6 = 3 / (16 sqrt 6),   1 / M_6 = 13.06.

It is attained at m = 2^p by one neuron for each sign pattern s in {+-1}^p, w_s = t s with a_s of the sign of
prod_i s_i: then F = t M_p sqrt(p 2^p) y exactly, with ||W||_F = t sqrt(p 2^p) (:func:`smallest`). Other widths:
:func:`widen`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

DEGREE = 6  # paper B, Appendix A.1
PRINTED = ((9.7, 0.12), (12.5, 0.037), (13.8, 0.011))  # (||W||_F / sqrt d, error at most), ibid.


def cube(degree: int = DEGREE) -> Tensor:
    """All points of {+-1}^p: (2^p, p), float64."""
    codes = torch.arange(1 << degree)[:, None] >> torch.arange(degree)
    return (codes & 1).double().mul_(-2).add_(1)


def signs(width: int) -> Tensor:
    """a as signed2 orders it, (m,): +1/sqrt m in the first half, -1/sqrt m in the second."""
    halves = torch.arange(width).lt(width // 2).double().mul_(2).sub_(1)
    return halves * width**-0.5


def signed_correlation(degree: int = DEGREE) -> float:
    """E[y sigma(w x)] at w = (1, ..., 1) / sqrt p, p even; M_p is its size."""
    if degree < 2 or degree % 2:
        raise ValueError(f"a two-layer network without bias has no odd part beyond degree 1: degree {degree}")
    terms = ((-1) ** j * math.comb(degree, j) * max(degree - 2 * j, 0) for j in range(degree + 1))
    return sum(terms) / (2**degree * math.sqrt(degree))


def norm_bound(error: float, degree: int = DEGREE) -> float:
    """(1 - sqrt eps) / M_p: no W of any width and d has a smaller ||W||_F at population error eps."""
    return max(0.0, 1 - math.sqrt(error)) / abs(signed_correlation(degree))


def decay_for(error: float, degree: int = DEGREE) -> float:
    """Weight decay at which min_W E|F - y|^2 / 2 + wd ||W||_F^2 / 2 has population error eps.

    On the bound, ||W||_F = B has E|F - y|^2 = (1 - M B)^2, least at B = M / (M^2 + wd): so
    wd = M^2 sqrt(eps) / (1 - sqrt eps).
    """
    root = math.sqrt(error)
    return signed_correlation(degree) ** 2 * root / (1 - root)


def smallest(error: float, degree: int = DEGREE) -> Tensor:
    """W^T of smallest norm at population error eps, as (p, 2^p): columns t s, signs as :func:`signs`."""
    points, correlation = cube(degree), signed_correlation(degree)
    positive = points.prod(-1) * math.copysign(1.0, correlation) > 0
    ordered = torch.cat([points[positive], points[~positive]]).T
    return ordered * (norm_bound(error, degree) / math.sqrt(degree * 2**degree))


def pad(w: Tensor, d: int) -> Tensor:
    """W^T (p, m) for inputs of dimension d: d - p further rows of zeros, (d, m). Nothing else changes."""
    return torch.cat([w, w.new_zeros(d - w.shape[0], w.shape[1])])


def widen(w: Tensor, width: int) -> Tensor:
    """W^T (d, m) -> (d, M), M >= m even: the same function with rows of W duplicated and rescaled.

    a shrinks to 1/sqrt M, so neuron j in n_j copies needs each to be (sqrt(M / m) / n_j) w_j, and

        ||W'||_F^2 = (M / m) sum_j ||w_j||^2 / n_j.

    M = c m: n_j = c, copies are w_j / sqrt c, and the norm is the same. Else n_j is floor(M / m) or one more (the
    longest w_j of each sign get that); for w_j of equal length the norm grows, at most by 3 / sqrt 8 = 1.06.
    """
    m = w.shape[1]
    if width < m or width % 2 or m % 2:
        raise ValueError(f"cannot widen from m = {m} to {width}: both even, and not narrower")
    copies = torch.full((m,), width // m)
    left = width // 2 - (width // m) * (m // 2)
    lengths = w.norm(dim=0)
    for half in (slice(0, m // 2), slice(m // 2, m)):
        longest = lengths[half].argsort(descending=True, stable=True)[:left]
        copies[half.start + longest] += 1
    return (w * (math.sqrt(width / m) / copies.double())).repeat_interleave(copies, dim=1)


def population_error(w: Tensor, degree: int = DEGREE) -> float:
    """E|F(W; x) - y|^2 exactly, over the 2^p points, for W^T (d, m) that is zero beyond row p."""
    if bool(w[degree:].any()):
        raise ValueError(f"depends on more than the first {degree} coordinates")
    points = cube(degree)
    out = torch.relu(points @ w[:degree].double()) @ signs(w.shape[1])
    return (out - points.prod(-1)).square().mean().item()
