"""Ridge regression, exactly, over a whole path of ridges from one factorisation.

Minimise over theta      (1/2N) ||Phi theta - y||^2 + (w/2) ||theta||^2                    (*)

which is where SGD with weight decay w converges, and paper B's (3.1) with lambda = w. The minimiser is

    primal  theta = (Phi^T Phi + N w)^-1 Phi^T y        P x P, P features
    dual    theta = Phi^T (Phi Phi^T + N w)^-1 y        n x n, n rows of Phi

and the smaller of the two is solved. Three ways to one factorisation that serves every w:

``ridge_dense``   Phi given as a matrix, many right-hand sides: eigendecomposition of the smaller Gram matrix.
``ridge_gram``    the kernel matrix K = Phi Phi^T given, many right-hand sides: its eigendecomposition.
``ridge_krylov``  Phi given as two products, one right-hand side: Lanczos started from it (a tangent kernel
                  with shared parameters at N = 1000, k = 8 has n = 8000 rows and up to millions of columns, too
                  many for an eigendecomposition). Its distance from the minimiser is known at each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


def ridge_dense(features: Tensor, y: Tensor, wds: Sequence[float]) -> Tensor:
    """Minimisers of (*) for every w: features (N, P), y (N, k) -> theta (len(wds), P, k)."""
    n, p = features.shape
    phi, y = features.double(), y.double()
    dual = n < p
    gram = phi @ phi.T if dual else phi.T @ phi
    values, vectors = torch.linalg.eigh(gram)  # gram = Q diag(values) Q^T
    values = values.clamp(min=0)  # rounding may leave -1e-12
    right = vectors.T @ (y if dual else phi.T @ y)  # Q^T rhs
    solved = [vectors @ (right / (values + n * w)[:, None]) for w in wds]
    return torch.stack([phi.T @ s if dual else s for s in solved])


def ridge_gram(gram: Tensor, y: Tensor, wds: Sequence[float], n_samples: int | None = None) -> Tensor:
    """c = (K + N w)^-1 y for every w: gram (n, n), y (n, k) -> (len(wds), n, k).

    The predictor is f(x) = sum_j K(x, x_j) c_j, paper B's (3.1) with beta = c and lambda = w. N is n unless given.
    """
    n = len(gram) if n_samples is None else n_samples
    values, vectors = torch.linalg.eigh(gram.double())  # K = Q diag(values) Q^T
    values = values.clamp(min=0)  # rounding may leave -1e-12
    right = vectors.T @ y.double()  # (n, k)
    shifts = torch.tensor([n * w for w in wds], dtype=torch.float64)
    return vectors @ (right / (values[:, None] + shifts[:, None, None]))


@dataclass
class KrylovPath:
    """Minimisers over the path, and the relative residual of the system solved for each.

    Primal: ||gradient of (*)|| / ||its value at 0||. Dual: ||(K + N w) c - y|| / ||y||, which bounds the error of
    the predictions on the training set. Taken from the Lanczos recurrence, so true down to rounding (1e-13).
    """

    theta: Tensor  # (len(wds), P)
    residual: Tensor  # (len(wds),)
    steps: int


def ridge_krylov(
    times: Callable[[Tensor], Tensor],
    times_t: Callable[[Tensor], Tensor],
    y: Tensor,
    n_params: int,
    n_samples: int,
    wds: Sequence[float],
    tolerance: float = 1e-6,
    most_steps: int = 2000,
) -> KrylovPath:
    """Minimisers of (*) for every w, with Phi known through v -> Phi v and u -> Phi^T u.

    Lanczos on K = Phi Phi^T from y (dual) or on Phi^T Phi from Phi^T y (primal), fully
    reorthogonalised: K Q = Q T + beta q e^T with T tridiagonal. Adding N w shifts T and leaves Q, so each w costs
    one small solve (T + N w) z = e_1, and the residual of the big system, relative to ||rhs||, is |beta z_last|.
    y: (n,) with n = N k rows; ``n_samples`` is N. Stops when all residuals are below ``tolerance``.
    """
    dual = len(y) < n_params
    operator = (lambda v: times(times_t(v))) if dual else (lambda v: times_t(times(v)))
    rhs = y if dual else times_t(y)
    size = rhs.norm()
    if size == 0:
        zero = y.new_zeros(len(wds), n_params)
        return KrylovPath(zero, torch.zeros(len(wds), dtype=torch.float64), 0)
    shifts = torch.tensor([n_samples * w for w in wds], dtype=torch.float64)
    most_steps = min(most_steps, len(rhs))
    basis = rhs.new_empty(most_steps, len(rhs))
    basis[0] = rhs / size
    alphas, betas = [], []  # beta <= 1e-12 alpha_0: the Krylov space is exhausted, T is exact to rounding
    z = torch.zeros(len(wds), 1, dtype=torch.float64)
    residual = torch.ones(len(wds), dtype=torch.float64)
    for step in range(most_steps):
        v = operator(basis[step])
        alphas.append(torch.dot(v, basis[step]).item())
        for _ in range(2):  # twice is enough (Kahan): orthogonal to rounding
            known = basis[: step + 1]
            v = v - (known @ v) @ known
        betas.append(v.norm().item())
        if step % 10 == 9 or step == most_steps - 1 or betas[-1] <= 1e-12 * alphas[0]:
            z = _shifted_solves(alphas, betas[:-1], shifts)
            residual = betas[-1] * z[:, -1].abs()
            if bool((residual <= tolerance).all()) or betas[-1] <= 1e-12 * alphas[0]:
                break
        if step + 1 < most_steps:
            basis[step + 1] = v / betas[-1]
    solved = (size * z).to(basis.dtype) @ basis[: z.shape[1]]  # (len(wds), n or P)
    theta = torch.stack([times_t(s) for s in solved]) if dual else solved
    return KrylovPath(theta, residual, len(alphas))


def _shifted_solves(alphas: list[float], betas: list[float], shifts: Tensor) -> Tensor:
    """z with (T + s) z = e_1 for each shift s; T tridiagonal: (len(shifts), steps)."""
    t = torch.diag(torch.tensor(alphas, dtype=torch.float64))
    if betas:
        off = torch.tensor(betas, dtype=torch.float64)
        t += torch.diag(off, 1) + torch.diag(off, -1)
    values, vectors = torch.linalg.eigh(t)
    weights = vectors[0] / (values.clamp(min=0) + shifts[:, None])
    return weights @ vectors.T
