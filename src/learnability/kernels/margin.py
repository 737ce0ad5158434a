"""The exact margin of Assumption 3.2 (paper D), from the Gram matrix of gradients at the random start.

    margin = max_{|w| <= 1} min_s y_s <g_s, w>,   g_s = grad f_V(x_s);   gamma = margin / sqrt(p) at width p

Where it is positive the best w has norm 1, as the assumption has it; where no w has all y_s <g_s, w> > 0 it is 0
(w = 0). With Q_sq = y_s y_q <g_s, g_q> and a in the simplex (a_s >= 0, sum_s a_s = 1), the minimum over s is one
over a and minimax gives

    margin = min_a max_{|w| <= 1} <sum_s a_s y_s g_s, w> = min_a |sum_s a_s y_s g_s| = min_a sqrt(a^T Q a)    (*)

the distance of the origin from the convex hull of the points y_s g_s. Every a bounds it on both sides: from above
by |a|_Q = sqrt(a^T Q a), and from below by what w = sum_s a_s y_s g_s / |a|_Q attains, min_s (Q a)_s / |a|_Q. The
two agree exactly at the minimiser, so their distance tells how good a solution is without trust in the solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy
import torch
from scipy.optimize import nnls
from torch import Tensor

GOOD = 1e-6  # relative duality gap at which no other penalty is tried
PENALTIES = (1e-2, 1.0, 1e-4)  # M in units of the root mean square of |g_s|
STEPS = 30  # of nnls, per sample; points that almost collide need more than its own 3


@dataclass(frozen=True)
class Margin:
    """The margin between its two bounds, for one set of samples.

    ``value`` and ``certified`` are 0 and ``gap`` is 0 if the value is below ``resolution``, where a Gram matrix of
    this precision cannot tell a margin from 0 (see ``hard_margin``).
    """

    value: float  # sqrt(a^T Q a), not below the margin
    certified: float  # min_s (Q a)_s / value, attained by a w, so not above the margin; at least 0, by w = 0
    gap: float  # (value - certified) / value
    resolution: float
    weights: Tensor  # a, (n,), float64


def hard_margin(gram: Tensor, y: Tensor) -> Margin:
    """margin = sqrt(min_a a^T Q a), Q = (y y^T) * gram: gram (n, n) of <g_s, g_q>, y (n,) or (n, 1) of +-1.

    With Q = R^T R, the simplex is dealt with by a penalty that is exact: for every M > 0 the minimiser of

        |R b|^2 + M^2 (1^T b - 1)^2   over b >= 0                                               (**)

    is a multiple of the minimiser a of (*). Write b = c a with a in the simplex, c >= 0, and q(a) = |R a|^2. Then
    (**) is c^2 q + M^2 (c - 1)^2, over c least at c = M^2 / (M^2 + q) > 0, where it is M^2 q / (M^2 + q). This
    grows with q, so the best a in (**) is the one with the least q(a). (**) is a least-squares problem with the
    rows of R and M 1^T, and Lawson and Hanson's active set (nnls) ends at its solution after finitely many steps.

    R comes from Q = U diag(l) U^T as diag(sqrt l) U^T. l is taken to be known up to n eps l_max (eps of gram's
    type, which should be the one it was computed in), or up to -l_min if that is more, as no Gram matrix has a
    negative eigenvalue. An error E of Q moves a^T Q a by |a^T E a| <= |E|_op, as |a| <= 1, so margin^2 is known up
    to that much, and resolution is its root. Rounding leaves a gap of the order of (resolution / value)^2, measured
    below 1e-6 wherever the value is 1000 times the resolution or more.
    """
    q = _signed(gram, y)  # (n, n)
    n = len(q)
    values, vectors = numpy.linalg.eigh(q)
    unsure = max(n * torch.finfo(gram.dtype).eps * values[-1], -values[0], 0.0)
    if unsure > 0.01 * values[-1] > 0 or values[-1] < 0:
        raise ValueError(f"not a Gram matrix: eigenvalues from {values[0]:.3g} to {values[-1]:.3g}")
    kept = values > unsure
    root = numpy.sqrt(values[kept])[:, None] * vectors[:, kept].T  # R: (rank, n)
    size = float(numpy.sqrt(q.diagonal().clip(min=0).mean()))
    best = _bounds(q, root, numpy.full(n, 1 / n), unsure)  # what is left if every attempt fails
    for penalty in PENALTIES:  # all the same but for rounding
        a = _on_the_ray(root, penalty * size)
        if a is not None:
            best = min(best, _bounds(q, root, a, unsure), key=lambda found: found.gap)
        if best.gap < GOOD:
            break
    return best


def hard_margins(grams: Sequence[Tensor] | Tensor, ys: Sequence[Tensor] | Tensor) -> list[Margin]:
    """``hard_margin`` of each of a stack: grams (S, n, n), y (S, n) or (S, n, 1) -> S margins."""
    return [hard_margin(gram, y) for gram, y in zip(grams, ys, strict=True)]


def _signed(gram: Tensor, y: Tensor) -> numpy.ndarray:
    """Q = (y y^T) * K, symmetric: (n, n)."""
    k, signs = gram.detach().double().cpu().numpy(), y.detach().double().cpu().numpy().reshape(-1)
    if not len(signs) or k.shape != (len(signs), len(signs)):
        raise ValueError(f"{len(signs)} labels need a Gram matrix of as many rows and columns, got {k.shape}")
    if not numpy.isfinite(k).all():
        raise ValueError("the Gram matrix has entries that are not finite")
    if not (numpy.abs(signs) == 1).all():
        raise ValueError("labels must be +1 or -1")
    return (k + k.T) / 2 * numpy.outer(signs, signs)


def _on_the_ray(root: numpy.ndarray, penalty: float) -> numpy.ndarray | None:
    """The minimiser of (**) scaled into the simplex, or None if nnls gives up: R (rank, n) -> (n,)."""
    n = root.shape[1]
    rows = numpy.vstack([root, numpy.full((1, n), penalty)])
    right = numpy.append(numpy.zeros(len(root)), penalty)
    try:
        b, _ = nnls(rows, right, maxiter=STEPS * n)
    except RuntimeError:  # out of steps
        return None
    return b / b.sum() if b.sum() > 0 else None


def _bounds(q: numpy.ndarray, root: numpy.ndarray, a: numpy.ndarray, unsure: float) -> Margin:
    """Both bounds at weights a of the simplex; 0 where |R a|^2 is within what is unsure about Q."""
    upper, resolution = float(numpy.linalg.norm(root @ a)), float(numpy.sqrt(unsure))
    if upper <= resolution:
        return Margin(0.0, 0.0, 0.0, resolution, torch.from_numpy(a))
    lower = min(max(float((q @ a).min()) / upper, 0.0), upper)  # above by rounding only
    return Margin(upper, lower, (upper - lower) / upper, resolution, torch.from_numpy(a))
