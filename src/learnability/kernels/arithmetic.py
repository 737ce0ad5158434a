"""The elementary functions that kernels are written with, over tensors and over numbers of any precision.

A kernel is one formula, ``value(inner, xx, yy, on)``, and ``on`` says in which arithmetic it is evaluated:

``TORCH``       elementwise on tensors, float32 or float64: Gram matrices;
``exact(n)``    on mpmath numbers of n decimal digits: the spectrum on the hypercube, where differences of order d
                of the kernel are taken and double precision would lose every digit (``hypercube.py``).

The cosine. rho = c / sqrt(q r) lies in [-1, 1] up to rounding, but arccos has a square root at the ends: an error
eps in rho = 1 is an error sqrt(2 eps) = 2e-8 in arccos. Tensors are therefore multiplied by 1 + 8 eps and clamped:
what rounding cannot tell from +-1 becomes +-1, and elsewhere rho moves by 2e-15. A zero vector has rho = 0.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import torch
from torch import Tensor

Number = Any  # a Tensor on TORCH, an mpf on exact(n)
MARGIN = 8  # units of rounding


def inverse_root(q: Tensor) -> Tensor:
    """1/sqrt(q), finite at q = 0: (...) -> (...)."""
    return q.clamp(min=torch.finfo(q.dtype).tiny).rsqrt()


class Torch:
    """Elementwise on tensors."""

    pi = math.pi
    sqrt = staticmethod(torch.sqrt)
    asin = staticmethod(torch.asin)
    exp = staticmethod(torch.exp)
    cosh = staticmethod(torch.cosh)
    sinh = staticmethod(torch.sinh)

    @staticmethod
    def positive(a: Tensor) -> Tensor:
        """max(a, 0)."""
        return a.clamp(min=0)

    @staticmethod
    def cosine(c: Tensor, q: Tensor, r: Tensor) -> Tensor:
        """c / sqrt(q r) in [-1, 1], with the margin of the module's text; c (a, b), q (a, 1), r (1, b)."""
        up = 1 + MARGIN * torch.finfo(c.dtype).eps
        return (c * (up * inverse_root(q)) * inverse_root(r)).clamp_(-1, 1)


class Exact:
    """On mpmath numbers of ``digits`` decimal digits, in a context of its own."""

    def __init__(self, digits: int) -> None:
        import mpmath  # comes with torch (through sympy); only spectra need it

        self.context = mpmath.MPContext()
        self.context.dps = digits
        self.digits, self.number, self.pi = digits, self.context.mpf, +self.context.pi
        self.sqrt, self.asin, self.exp = self.context.sqrt, self.context.asin, self.context.exp
        self.cosh, self.sinh = self.context.cosh, self.context.sinh

    @staticmethod
    def positive(a: Number) -> Number:
        """max(a, 0)."""
        return max(a, 0)

    def cosine(self, c: Number, q: Number, r: Number) -> Number:
        """c / sqrt(q r) in [-1, 1], with a margin of ten digits."""
        if not q * r:
            return self.number(0)
        rho = c / self.sqrt(q * r) * (1 + self.context.mpf(10) ** (10 - self.digits))
        return max(min(rho, self.number(1)), self.number(-1))


Arithmetic = type[Torch] | Exact
TORCH = Torch


@cache
def exact(digits: int) -> Exact:
    """The arithmetic of that many decimal digits."""
    return Exact(digits)
