"""Parity composites: the targets of paper B, Figure 2 and Theorem 2, in any dimension and degree.

    H(x) = beta F(x) + alpha G(F(x)),   x uniform in {-1, 1}^d            (paper B, Figure 2)
    F_r(x) = x_{(r-1)a+1} ... x_{ra}            a = f_degree, r = 1..k
    G_r(y) = prod of the y's in r's block of b  b = g_degree, k / b blocks

``g_degree`` None is k: G is one product of all of F. With f_degree = 1 that is Theorem 2's family, inputs and F
rescaled as in its proof (Appendix E: x in {-1, 1}^d) and i_1..i_k = 1..k. Theorem 2 draws i_1..i_k at random; what
learns from <x, y> alone, or starts from independent entries of one distribution, cannot tell the difference.

With d = 30, k = 8, a = 2, b = 4: F = (x1x2, ..., x15x16) and G = y1y2y3y4 on coordinates 1-4, y5y6y7y8
on 5-8. (The paper prints G with two entries; its threshold k alpha^2 = 0.72 needs all eight.)

Every F_r and G_r(F) is a product of distinct coordinates, a parity chi_S(x) = prod_{i in S} x_i. Parities
are orthonormal under the uniform distribution, which gives the risks below in closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from learnability.teachers.base import Composite, signs

Expansion = list[dict[frozenset[int], float]]  # per output: parity -> coefficient


@dataclass(frozen=True)
class Teacher(Composite):
    """H = beta F + alpha G(F), and label noise of standard deviation ``noise`` per output."""

    d: int
    k: int
    alpha: float
    beta: float = 1.0
    f_degree: int = 2
    g_degree: int | None = 4
    noise: float = 0.0

    def __post_init__(self) -> None:
        if self.g_degree is None:
            object.__setattr__(self, "g_degree", self.k)

    def inputs(self, n: int, generator: torch.Generator) -> Tensor:
        """n points uniform in {-1, 1}^d: (n, d)."""
        return signs(n, self.d, generator)

    def base(self, x: Tensor) -> Tensor:
        """F(x): (..., d) -> (..., k)."""
        used = x[..., : self.k * self.f_degree]
        return used.unflatten(-1, (self.k, self.f_degree)).prod(-1)

    def composite(self, x: Tensor) -> Tensor:
        """G(F(x)): (..., d) -> (..., k); every coordinate of a block gets the block's product."""
        blocks = self.base(x).unflatten(-1, (self.k // self.g_degree, self.g_degree)).prod(-1)
        return blocks.repeat_interleave(self.g_degree, dim=-1)

    def __call__(self, x: Tensor) -> Tensor:
        """H(x) without noise: (..., d) -> (..., k)."""
        return self.beta * self.base(x) + self.alpha * self.composite(x)

    def probes(self, x: Tensor) -> dict[str, Tensor]:
        """Signals whose share in a learner's output is reported: c = mean over x and r of out_r s_r.

        ``cF`` is beta and ``cG`` is alpha for out = H, and both are 0 for what is orthogonal to them.
        """
        return {"cF": self.base(x), "cG": self.composite(x)}

    def expansion(self) -> Expansion:
        """H as parities: for each output, {S: coefficient of chi_S}."""
        a, b = self.f_degree, self.g_degree
        outputs: Expansion = []
        for r in range(self.k):
            block = r // b
            terms = {frozenset(range(r * a, (r + 1) * a)): self.beta}
            composite = frozenset(range(block * b * a, (block + 1) * b * a))
            terms[composite] = terms.get(composite, 0.0) + self.alpha
            outputs.append(terms)
        return outputs

    def risk(self, predictor: Expansion) -> float:
        """Exact E||p(x) - y||^2 of a predictor given as parities (Parseval), noise included."""
        total = self.k * self.noise**2
        for ours, theirs in zip(self.expansion(), predictor, strict=True):
            total += sum((ours.get(s, 0.0) - theirs.get(s, 0.0)) ** 2 for s in ours.keys() | theirs.keys())
        return total

    def risk_without_composite(self) -> float:
        """Exact risk of p = beta F, the composite part not learned at all: k alpha^2 (+ noise)."""
        base = [{s: self.beta for s in list(terms)[:1]} for terms in self.expansion()]
        return self.risk(base)

    def describe(self) -> str:
        """Population errors of out = 0 and of learning F alone, exact."""
        nothing = self.risk([{} for _ in range(self.k)])
        alone = self.risk_without_composite()
        return f"exact population errors: {nothing:.4g} of out = 0, {alone:.4g} of learning F alone"

    def risk_by_enumeration(
        self, predict: Callable[[Tensor], Tensor], block: int = 1 << 14, most: int = 24
    ) -> float:
        """Exact E||predict(x) - y||^2 of any function, over all 2^d points; d up to ``most``."""
        if self.d > most:
            raise ValueError(f"2^{self.d} points are too many; d must be at most {most}")
        bits = torch.arange(self.d)
        total = 0.0
        for start in range(0, 1 << self.d, block):
            codes = torch.arange(start, min(start + block, 1 << self.d))
            x = ((codes[:, None] >> bits) & 1).float().mul_(2).sub_(1)
            total += (predict(x) - self(x)).double().square().sum().item()
        return total / (1 << self.d) + self.k * self.noise**2
