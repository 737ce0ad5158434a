"""Dual activations: E phi(u) phi(v) for centred Gaussians (u, v) with covariance [[q, c], [c, r]].

With rho = c / sqrt(q r) (Williams 1997; Cho, Saul 2009; Daniely, Frostig, Singer 2016):

    identity u          c
    relu  max(u, 0)     sqrt(q r) / (2 pi) (sqrt(1 - rho^2) + rho (pi - arccos rho))   arc-cosine, order 1
    step  1[u > 0]      (pi - arccos rho) / (2 pi)                                     arc-cosine, order 0
    sign                (2 / pi) arcsin rho
    abs  |u|            (2 / pi) sqrt(q r) (sqrt(1 - rho^2) + rho arcsin rho)
    leaky  max(u, a u)  ((1 + a) / 2)^2 c + ((1 - a) / 2)^2 abs                 u and |u| are uncorrelated
    erf                 (2 / pi) arcsin(2 c / sqrt((1 + 2 q) (1 + 2 r)))
    cos, sin            e^{-(q + r) / 2} cosh c,  e^{-(q + r) / 2} sinh c
    exp                 e^{(q + r) / 2 + c}
    gaussian e^{-u^2/2} 1 / sqrt((1 + q) (1 + r) - c^2)
    power  u^p          sum_{j = p, p-2, ..} j! C(p, j)^2 ((p-j-1)!!)^2 (q r)^{(p-j)/2} c^j
    hermite  any phi    sum_n a_n(q) a_n(r) rho^n,   a_n(q) = E phi(sqrt(q) g) h_n(g), g ~ N(0, 1)

``inverse``, c -> 1 / (2 - c), is the recursive function of Zhang, Lee, Jordan (2016), reference [39] of paper B;
a power series with positive coefficients, and no activation is meant by it.

Each formula is a function of numbers in either arithmetic (``arithmetic.py``). ``phi`` is the activation itself.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from learnability.kernels.arithmetic import TORCH, Arithmetic, Number


@dataclass(frozen=True)
class Dual(ABC):
    """An activation and its dual; equal parameters make equal duals."""

    @abstractmethod
    def __call__(self, c: Number, q: Number, r: Number, on: Arithmetic = TORCH) -> Number:
        """E phi(u) phi(v): c (a, b), q (a, 1), r (1, b) -> (a, b), or numbers -> number."""

    def phi(self, u: Tensor) -> Tensor:
        """The activation, elementwise."""
        raise ValueError(f"{type(self).__name__} is the dual of no activation")


def arc_cosine(rho: Number, on: Arithmetic) -> Number:
    """sqrt(1 - rho^2) + rho (pi - arccos rho): pi times the normalised dual of relu, exact to rounding at +-1."""
    return on.sqrt((1 - rho) * (1 + rho)) + rho * (on.pi / 2 + on.asin(rho))


class Identity(Dual):
    def __call__(self, c, q, r, on=TORCH):
        return c

    def phi(self, u):
        return u


class Relu(Dual):
    def __call__(self, c, q, r, on=TORCH):
        return arc_cosine(on.cosine(c, q, r), on) * (on.sqrt(q) / (2 * on.pi)) * on.sqrt(r)

    def phi(self, u):
        return u.clamp(min=0)


class Step(Dual):
    def __call__(self, c, q, r, on=TORCH):
        return (on.asin(on.cosine(c, q, r)) + on.pi / 2) / (2 * on.pi)

    def phi(self, u):
        return (u > 0).to(u.dtype)


class Sign(Dual):
    def __call__(self, c, q, r, on=TORCH):
        return on.asin(on.cosine(c, q, r)) * (2 / on.pi)

    def phi(self, u):
        return u.sign()


class Abs(Dual):
    def __call__(self, c, q, r, on=TORCH):
        rho = on.cosine(c, q, r)
        half = on.sqrt((1 - rho) * (1 + rho)) + rho * on.asin(rho)
        return half * (on.sqrt(q) * (2 / on.pi)) * on.sqrt(r)

    def phi(self, u):
        return u.abs()


@dataclass(frozen=True)
class Leaky(Dual):
    slope: float = 0.1

    def __call__(self, c, q, r, on=TORCH):
        even, odd = ((1 - self.slope) / 2) ** 2, ((1 + self.slope) / 2) ** 2
        return odd * c + even * Abs()(c, q, r, on)

    def phi(self, u):
        return torch.where(u > 0, u, self.slope * u)


class Erf(Dual):
    def __call__(self, c, q, r, on=TORCH):
        return on.asin(2 * c / on.sqrt(1 + 2 * q) / on.sqrt(1 + 2 * r)) * (2 / on.pi)

    def phi(self, u):
        return torch.erf(u)


class Cos(Dual):
    def __call__(self, c, q, r, on=TORCH):
        return on.cosh(c) * on.exp(-q / 2) * on.exp(-r / 2)

    def phi(self, u):
        return torch.cos(u)


class Sin(Dual):
    def __call__(self, c, q, r, on=TORCH):
        return on.sinh(c) * on.exp(-q / 2) * on.exp(-r / 2)

    def phi(self, u):
        return torch.sin(u)


class Exp(Dual):
    def __call__(self, c, q, r, on=TORCH):
        return on.exp(c) * on.exp(q / 2) * on.exp(r / 2)

    def phi(self, u):
        return torch.exp(u)


class GaussianBump(Dual):
    def __call__(self, c, q, r, on=TORCH):
        return 1 / on.sqrt((1 + q) * (1 + r) - c * c)

    def phi(self, u):
        return torch.exp(-u * u / 2)


@dataclass(frozen=True)
class Power(Dual):
    degree: int = 2

    def __post_init__(self) -> None:
        if self.degree < 1:
            raise ValueError("the degree of a power must be at least 1")

    def __call__(self, c, q, r, on=TORCH):
        total, p = 0 * c, self.degree
        for j in range(p, -1, -2):
            pairings = math.prod(range(1, p - j, 2))  # (p - j - 1)!!
            weight = math.factorial(j) * math.comb(p, j) ** 2 * pairings**2
            half = (p - j) // 2
            total = total + weight * c**j * q**half * r**half
        return total

    def phi(self, u):
        return u**self.degree


class Inverse(Dual):
    def __call__(self, c, q, r, on=TORCH):
        return 1 / (2 - c)


@dataclass(frozen=True)
class Hermite(Dual):
    """Any activation by its Hermite expansion up to ``degree``; what is cut off is ``tail``.

    The series converges as phi's smoothness has it: geometrically for an entire phi, while the tail of relu
    falls as n^-1.5 (1e-4 at degree 60). The kernel stays positive semi-definite wherever it is cut.
    """

    activation: Callable[[Tensor], Tensor]
    degree: int = 60

    def __call__(self, c, q, r, on=TORCH):
        rho = on.cosine(c, q, r)
        if on is not TORCH:
            left, right = (coefficients(self, float(v)).tolist() for v in (q, r))
            total = on.number(0)
            for a, b in zip(reversed(left), reversed(right), strict=True):
                total = total * rho + on.number(a) * b
            return total
        left, right = self._coefficients(q), self._coefficients(r)  # (..., degree + 1)
        total = torch.zeros_like(rho)
        for n in range(self.degree, -1, -1):  # Horner
            total.mul_(rho).add_(left[..., n] * right[..., n])
        return total

    def phi(self, u):
        return self.activation(u)

    def _coefficients(self, q: Tensor) -> Tensor:
        values, at = q.double().unique(return_inverse=True)
        return torch.stack([coefficients(self, v) for v in values.tolist()])[at].to(q.dtype)

    def tail(self, q: float) -> float:
        """E phi(sqrt(q) g)^2 - sum_{n <= degree} a_n(q)^2: the most that the cut takes from the kernel."""
        nodes, weights = _quadrature()
        square = (weights * self.activation(math.sqrt(q) * nodes).square()).sum()
        return (square - coefficients(self, q).square().sum()).item()


@lru_cache(maxsize=1)
def _quadrature(reach: float = 14.0, panels: int = 56, order: int = 40) -> tuple[Tensor, Tensor]:
    """Nodes and weights for E f(g): Gauss-Legendre on panels, (panels * order,) each.

    Zero is the end of a panel, so a kink or a jump there costs nothing, which Gauss-Hermite nodes do not offer.
    """
    import numpy as np

    at, weight = (torch.tensor(v) for v in np.polynomial.legendre.leggauss(order))
    half = reach / panels
    middles = -reach + half * (2 * torch.arange(panels, dtype=torch.float64) + 1)
    nodes = (middles[:, None] + half * at).flatten()
    weights = (half * weight).repeat(panels) * torch.exp(-nodes * nodes / 2) / math.sqrt(2 * math.pi)
    return nodes, weights


@lru_cache(maxsize=1 << 15)
def coefficients(dual: Hermite, q: float) -> Tensor:
    """a_n(q) = E phi(sqrt(q) g) h_n(g) for n up to the degree, h_n orthonormal: (degree + 1,)."""
    nodes, weights = _quadrature()
    weighted = weights * dual.activation(math.sqrt(q) * nodes)
    before, now, found = torch.zeros_like(nodes), torch.ones_like(nodes), []
    for n in range(dual.degree + 1):  # sqrt(n + 1) h_{n+1} = g h_n - sqrt(n) h_{n-1}
        found.append((weighted * now).sum())
        before, now = now, (nodes * now - math.sqrt(n) * before) / math.sqrt(n + 1)
    return torch.stack(found)


DUALS: dict[str, type[Dual]] = {
    "identity": Identity,
    "relu": Relu,
    "step": Step,
    "sign": Sign,
    "abs": Abs,
    "leaky": Leaky,
    "erf": Erf,
    "cos": Cos,
    "sin": Sin,
    "exp": Exp,
    "gaussian": GaussianBump,
    "power": Power,
    "inverse": Inverse,
}


def dual(activation: str | Callable[[Tensor], Tensor] | Dual, **parameters: float) -> Dual:
    """The dual of a named activation, or of any function of tensors by its Hermite expansion."""
    if isinstance(activation, Dual):
        return activation
    if callable(activation):
        return Hermite(activation, **parameters)
    if activation not in DUALS:
        raise ValueError(f"no dual activation {activation!r}; there are {', '.join(DUALS)}, or give a function")
    try:
        return DUALS[activation](**parameters)
    except TypeError as error:
        raise ValueError(f"{activation}: {error}") from None
