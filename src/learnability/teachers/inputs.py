"""The input distributions of paper A, Section 5, with what exact moments need of them.

    gaussian        N(0, I)
    covariance      N(0, Sigma^2), Sigma with singular values between 1/spread and spread
    mixture         of N(0, Sigma_i^2), where row j of every Sigma_i has norm 1 (Proposition 5.1)
    axis_dropping   of d distributions, in the i-th of which x_i = 0 and the rest is N(0, I)
    uniform         on [-sqrt 3, sqrt 3]^d: not in Section 5, but isotropic, hyper-contractive and
    degree-preserving,
                    with tails that a network of degree 2^L can be trained on at small sizes

Every one is a mixture of linear images x = A g of a product measure, which is all that
``theory/polynomials.py`` needs for exact moments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy
import torch
from torch import Tensor

from learnability.seeding import stream
from learnability.theory.polynomials import hermite, legendre, zero_measure


@dataclass(frozen=True)
class Component:
    """x = matrix g, g_i independent with the measures of ``tables`` (see
    ``polynomials.Polynomial.orthonormal``).
    """

    matrix: numpy.ndarray
    tables: list[numpy.ndarray]


@dataclass(frozen=True)
class Inputs:
    """One of the distributions above in R^d; ``draw`` numbers its random Sigmas."""

    kind: str
    d: int
    spread: float = 2.0
    components: int = 3
    draw: int = 0
    sigmas: Tensor = field(init=False, repr=False, compare=False)  # (C, d, d)

    def __post_init__(self) -> None:
        count = {"covariance": 1, "mixture": self.components}.get(self.kind, 0)
        found = [self._sigma(i) for i in range(count)] or [torch.eye(self.d, dtype=torch.float64)]
        object.__setattr__(self, "sigmas", torch.stack(found))

    def _sigma(self, number: int) -> Tensor:
        """A random rotation, singular values even in the logarithm, another rotation; rows of norm 1 in a
        mixture.
        """
        generator = stream("sigma", self.kind, self.d, self.draw, number)
        left, right = (orthogonal(self.d, generator) for _ in range(2))
        bound = math.log(self.spread)
        values = torch.linspace(-bound, bound, self.d, dtype=torch.float64).exp()
        sigma = left * values @ right
        return sigma / sigma.norm(dim=1, keepdim=True) if self.kind == "mixture" else sigma

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        """n points, (n, d), float64."""
        if self.kind == "uniform":
            return (torch.rand(n, self.d, generator=generator, dtype=torch.float64) * 2 - 1) * math.sqrt(3)
        g = torch.randn(n, self.d, generator=generator, dtype=torch.float64)
        if self.kind == "axis_dropping":
            dropped = torch.randint(self.d, (n, 1), generator=generator)
            return g.scatter(1, dropped, 0.0)
        if self.kind == "gaussian":
            return g
        which = torch.randint(len(self.sigmas), (n,), generator=generator)
        return torch.einsum("nij,nj->ni", self.sigmas[which], g)

    def second_moments(self) -> Tensor:
        """E[x_i^2], (d,): the centre of G_1 = sigma(x) - E[sigma(x)]."""
        if self.kind == "axis_dropping":
            return torch.full((self.d,), 1 - 1 / self.d, dtype=torch.float64)
        return self.sigmas.square().sum(-1).mean(0)

    def measures(self, degree: int) -> list[Component]:
        """The equally likely components, with tables for polynomials up to ``degree``."""
        if self.kind == "uniform":
            return [Component(numpy.eye(self.d), [legendre(degree, math.sqrt(3))] * self.d)]
        table, eye = hermite(degree), numpy.eye(self.d)
        if self.kind == "axis_dropping":
            gone = zero_measure(degree)
            return [Component(eye, [gone if j == i else table for j in range(self.d)]) for i in range(self.d)]
        return [Component(sigma.numpy(), [table] * self.d) for sigma in self.sigmas]


def orthogonal(n: int, generator: torch.Generator) -> Tensor:
    """A uniformly random orthogonal matrix (n, n), float64 (Mezzadri: QR with the signs of R's diagonal)."""
    q, r = torch.linalg.qr(torch.randn(n, n, generator=generator, dtype=torch.float64))
    return q * r.diagonal().sign()
