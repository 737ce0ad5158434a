"""Correlation kernels on {-1, 1}^d: their eigenvalues, and exact population risks (paper B, Proposition E.1).

With x uniform on {-1, 1}^d the parities chi_S(x) = prod_{i in S} x_i are orthonormal. A kernel that depends on
<x, y> alone, K(x, y) = kappa(<x, y>), is diagonal in them and its eigenvalues depend on the degree s = |S| alone:

    K(x, y) = sum_S lambda_s^2 chi_S(x) chi_S(y)
    lambda_s^2 = 2^-d sum_j kappa(d - 2j) Kr_j(s),      kappa(d - 2j) = sum_s lambda_s^2 Kr_s(j)
    Kr_j(s) = sum_i (-1)^i C(s, i) C(d - s, j - i)      Krawtchouk polynomials, exact integers here

There are C(d, s) parities of degree s, and sum_s C(d, s) lambda_s^2 = kappa(d). ``lambda`` follows the paper: the
eigenvalue of the kernel is lambda^2, and every ``spectrum`` below holds the lambda_s^2, s = 0 .. d.

Accuracy. lambda_s^2 is a difference of order s: errors e_j of kappa(d - 2j) make an error of at most
max|e_j| / sqrt(C(d, s)), since Kr_s(j)^2 has mean C(d, s) over j ~ Bin(d, 1/2). In double precision the share
C(d, s) lambda_s^2 of a degree in the trace may be wrong by 1e-16 sqrt(C(d, s)) kappa(d), 3 % of it at d = 100,
s = 50. ``spectrum`` therefore evaluates the kernel's formula to 50 + 3 d digits: each lambda_s^2 above
10^-(15 + 3 d) kappa(d) is right to double precision and what is below 10^-(30 + 3 d) kappa(d) is set to 0.
``transform`` takes given doubles, adds exactly, and carries the bound above.

Population risk of f(x) = sum_j K(x, x_j) c_j against H = sum_S h_S chi_S, by Parseval and without a test set:

    E |f - H|^2 = c^T K2 c - 2 sum_S h_S lambda_s^2 sum_j c_j chi_S(x_j) + sum_S h_S^2

with K2 = sum_S lambda_s^4 chi_S chi_S, itself a function of <x, y>.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import torch
from torch import Tensor

from learnability.kernels.arithmetic import TORCH, Number, exact
from learnability.kernels.correlation import Kernel
from learnability.kernels.gram import gram_times, is_hypercube
from learnability.teachers.parity import Expansion


@lru_cache(maxsize=8)
def krawtchouk(d: int) -> tuple[tuple[int, ...], ...]:
    """Kr_j(s) as integers, [j][s], j and s = 0 .. d: coefficients of (1 - z)^s (1 + z)^(d-s)."""
    column = [math.comb(d, j) for j in range(d + 1)]  # s = 0
    columns = [column]
    for _ in range(d):  # times (1 - z) / (1 + z)
        following, carried = [], 0
        for j in range(d + 1):
            carried = column[j] - (column[j - 1] if j else 0) - carried
            following.append(carried)
        columns.append(column := following)
    return tuple(zip(*columns, strict=True))


def multiplicities(d: int) -> Tensor:
    """C(d, s), s = 0 .. d: (d + 1,) float64."""
    return torch.tensor([float(math.comb(d, s)) for s in range(d + 1)], dtype=torch.float64)


def profile(kernel: Kernel, d: int | None = None) -> list[Number]:
    """kappa(d - 2j), j = 0 .. d, to 50 + 3 d digits."""
    d = kernel.d if d is None else d
    on = exact(50 + 3 * d)
    size = on.number(d)
    return [kernel.value(on.number(d - 2 * j), size, size, on) for j in range(d + 1)]


@lru_cache(maxsize=64)  # every seed of a job asks for the same one; not to be written to
def spectrum(kernel: Kernel, d: int | None = None) -> Tensor:
    """lambda_s^2, s = 0 .. d, of a kernel on {-1, 1}^d: (d + 1,) float64."""
    if isinstance(kernel, Profile):
        return transform(kernel.values)
    values = profile(kernel, d)
    d = len(values) - 1
    kr, floor = krawtchouk(d), abs(values[0]) * exact(50 + 3 * d).number(10) ** -(30 + 3 * d)
    sums = [sum(v * kr[j][s] for j, v in enumerate(values)) / 2**d for s in range(d + 1)]
    return torch.tensor([float(v) if abs(v) > floor else 0.0 for v in sums], dtype=torch.float64)


def transform(values: Tensor | tuple[float, ...]) -> Tensor:
    """lambda_s^2 from doubles kappa(d - 2j), j = 0 .. d, added exactly: (d + 1,) -> (d + 1,)."""
    exactly = [Fraction(float(v)) for v in values]
    d = len(exactly) - 1
    kr = krawtchouk(d)
    sums = [sum(v * kr[j][s] for j, v in enumerate(exactly)) / 2**d for s in range(d + 1)]
    return torch.tensor([float(v) for v in sums], dtype=torch.float64)


def inverse(eigenvalues: Tensor) -> Tensor:
    """kappa(d - 2j), j = 0 .. d, from lambda_s^2: (d + 1,) -> (d + 1,).

    Added exactly; rounding of the lambda_s^2 themselves leaves 1e-16 sum_s C(d, s) |lambda_s^2|.
    """
    exactly = [Fraction(v) for v in eigenvalues.tolist()]
    kr = krawtchouk(len(exactly) - 1)
    sums = [sum(v * kr[s][j] for s, v in enumerate(exactly)) for j in range(len(exactly))]
    return torch.tensor([float(v) for v in sums], dtype=torch.float64)


@dataclass(frozen=True)
class Profile(Kernel):
    """The kernel on {-1, 1}^d with given ``values`` kappa(d - 2j), j = 0 .. d."""

    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.values) != self.d + 1:
            raise ValueError(f"a kernel on the {self.d}-cube has {self.d + 1} values; got {len(self.values)}")

    @classmethod
    def of_spectrum(cls, eigenvalues: Tensor) -> Profile:
        """The kernel with these lambda_s^2: (d + 1,)."""
        return cls(len(eigenvalues) - 1, tuple(inverse(eigenvalues).tolist()))

    def value(self, inner, xx, yy, on):
        if on is TORCH:
            at = ((self.d - inner) / 2).round().long()
            return torch.tensor(self.values, dtype=inner.dtype)[at]
        return on.number(self.values[int(self.d - inner) // 2])


def parity(x: Tensor, support: frozenset[int]) -> Tensor:
    """chi_S(x): (..., d) -> (...)."""
    return x[..., sorted(support)].double().prod(-1)


def population_risk(eigenvalues: Tensor, x: Tensor, c: Tensor, target: Expansion) -> Tensor:
    """E |f_r - H_r|^2 of each output r, f(x) = sum_j K(x, x_j) c_j: shapes (..., N, k) -> (..., k).

    ``eigenvalues`` (d + 1,) is K's spectrum, x (N, d) in {-1, 1}, ``target`` the parities of H; no label noise.
    Exact up to rounding, which is a few 1e-16 times the largest of the three terms.
    """
    if not is_hypercube(x):
        raise ValueError("the closed form holds on {-1, 1}^d only")
    n, k = c.shape[-2:]
    c = c.double()
    lead = c.shape[:-2]
    columns = c.reshape(-1, n, k).transpose(0, 1).reshape(n, -1)  # (N, paths k)
    squared = Profile.of_spectrum(eigenvalues.double().square())
    norm = (columns * gram_times(squared, x, columns)).sum(0).view(*lead, k)  # c^T K2 c
    rest = []
    for r, terms in enumerate(target):
        total = torch.zeros(lead, dtype=torch.float64)
        for support, coefficient in terms.items():
            share = eigenvalues[len(support)].item() * (c[..., r] @ parity(x, support))  # coefficient of chi_S in f
            total += coefficient * (coefficient - 2 * share)
        rest.append(total)
    return norm + torch.stack(rest, dim=-1)
