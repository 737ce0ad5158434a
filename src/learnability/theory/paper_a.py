"""Paper A's constants: Definition B.3 in full, and its special case (4.1), as functions.

Definition B.3's numbers are astronomical, so they are base-10 logarithms throughout. What the paper hides in O(.),
Omega(.) and poly(.) are named arguments. By default every hidden factor and power is 1: what is
printed taken at its word, no bound, as a hidden factor may be less than 1 as well as more.

Conventions: sequences run over l = 2..L. kbar_l = max{k_j : j in J_l, j >= 2} and Bbar_l likewise; for l = 2 that
set is empty and both are 1 here (the paper does not say).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LN10 = math.log(10)


def log_factorial(n: float) -> float:
    """log10 n!."""
    return math.lgamma(n + 1) / LN10


@dataclass(frozen=True)
class DefinitionB3:
    """The constants for one teacher under N(0, I), where c_1(q) = q!, c_3(q) = (6q)!, c_4(q) = q (Section 5)."""

    d: int
    widths: Sequence[int]  # k_2 .. k_L
    graph: Sequence[Sequence[int]]  # J_2 .. J_L
    alphas: Sequence[float]  # alpha_2 .. alpha_L
    sums: Sequence[float]  # E[Sum(G_l)], B_l = max(1, that)
    kappa: float
    epsilon: float
    c0: float = 2.0  # 'absolute constant c_0 >= 2'
    poly: float = 1.0  # the power that every poly(.) stands for
    delta: float = 0.01

    @property
    def depth(self) -> int:
        """L."""
        return len(self.widths) + 1

    def _barred(self, layer: int, values: Sequence[float]) -> float:
        return max([values[j - 2] for j in self.graph[layer - 2] if j >= 2], default=1.0)

    def kbar(self, layer: int) -> float:
        """kbar_l."""
        return self._barred(layer, self.widths)

    def bbar(self, layer: int) -> float:
        """Bbar_l."""
        return self._barred(layer, [max(1.0, s) for s in self.sums])

    def kappa_tilde(self, layer: int) -> float:
        """log10 of kappa~_l = (kbar_l L kappa)^4."""
        return 4 * math.log10(self.kbar(layer) * self.depth * self.kappa)

    def tau(self, layer: int) -> float:
        """log10 of tau_l = (Bbar_l kbar_l L kappa)^4."""
        return 4 * math.log10(self.bbar(layer) * self.kbar(layer) * self.depth * self.kappa)

    def truncation(self, layer: int) -> float:
        """log10 of B'_l = poly(tau_l) (c_4(2^l) log(dL/eps))^c_4(2^l)."""
        q = 2**layer
        return self.poly * self.tau(layer) + q * math.log10(q * math.log(self.d * self.depth / self.epsilon))

    def truncation_bar(self, layer: int) -> float:
        """log10 of Bbar'_l = max{B'_j : j in J_l, j >= 2}; 0 for l = 2."""
        return max([self.truncation(j) for j in self.graph[layer - 2] if j >= 2], default=0.0)

    def big_d(self, layer: int) -> float:
        """log10 of D_l = (tau_l kappa^(2^l) (2^l)^(2^l) c_1(2^l) c_3(2^l))^(c_0 l)."""
        q = 2**layer
        inside = self.tau(layer) + q * math.log10(self.kappa) + q * math.log10(q)
        return self.c0 * layer * (inside + log_factorial(q) + log_factorial(6 * q))

    def upsilon(self, layer: int) -> float:
        """log10 of Upsilon_l = prod_{j=l..L} D_j^(20 2^(6(j-l)))."""
        return sum(20 * 2 ** (6 * (j - layer)) * self.big_d(j) for j in range(layer, self.depth + 1))

    def gap(self, layer: int) -> float:
        """log10 of the largest alpha_{l+1} / alpha_l allowed: 1 / (Upsilon_{l+1}^6 Bbar'_{l+1})."""
        return -(6 * self.upsilon(layer + 1) + self.truncation_bar(layer + 1))

    def threshold_triangle(self, layer: int) -> float:
        """log10 of Thres_{l, triangle} = (alpha_{l-1} / (D_{l-1}^9 Upsilon_{l-1}))^2, l >= 3."""
        if layer < 3:
            raise ValueError("Thres_{2, triangle} needs an alpha_1, which the paper does not define")
        below = layer - 1
        return 2 * (math.log10(self.alphas[below - 2]) - 9 * self.big_d(below) - self.upsilon(below))

    def threshold_nabla(self, layer: int) -> float:
        """log10 of Thres_{l, nabla} = 1/4 (alpha_l / (D_l^3 sqrt(Upsilon_l)))^2."""
        inside = math.log10(self.alphas[layer - 2]) - 3 * self.big_d(layer) - self.upsilon(layer) / 2
        return 2 * inside - math.log10(4)

    def lambdas(self, layer: int) -> tuple[float, float, float, float]:
        """log10 of lambda_{3..6, l}: alpha^2/(D Y), alpha^2/(D^7 Y^2), alpha^2/(D^13 Y^3), eps^2/kappa~^2."""
        alpha, big, ups = 2 * math.log10(self.alphas[layer - 2]), self.big_d(layer), self.upsilon(layer)
        decay = 2 * math.log10(self.epsilon) - 2 * self.kappa_tilde(layer)
        return alpha - big - ups, alpha - 7 * big - 2 * ups, alpha - 13 * big - 3 * ups, decay

    def width(self) -> float:
        """log10 of the least m = poly(kappa~, B') / eps^2, over all layers."""
        layers = range(2, self.depth + 1)
        inside = max(self.kappa_tilde(n) for n in layers) + max(self.truncation(n) for n in layers)
        return self.poly * inside - 2 * math.log10(self.epsilon)

    def samples(self) -> float:
        """log10 of the least N: d^2 log(d/delta) + m d log d / eps^4 poly(tau) (2^L c_4 log(tau d/(delta
        eps)))^(c_4 + 1).
        """
        q, layers = 2**self.depth, range(2, self.depth + 1)
        tau = max(self.tau(n) for n in layers)
        inside = LN10 * tau + math.log(self.d / (self.delta * self.epsilon))
        second = self.width() + math.log10(self.d * math.log(self.d)) - 4 * math.log10(self.epsilon)
        second += self.poly * tau + (q + 1) * math.log10(q * q * inside)
        first = 2 * math.log10(self.d) + math.log10(math.log(self.d / self.delta))
        return max(first, second) + math.log10(1 + 10 ** -abs(first - second))


@dataclass(frozen=True)
class SpecialCase:
    """(4.1): thresholds and weights of Theorem 1's special case; alphas = (alpha_1, ..., alpha_L).

    C > C_1 >= 2 are absolute integers, so C >= 3.

    Thres_{2, triangle} needs an alpha_1 that the paper does not define; Algorithm 1 starts in that stage.
    """

    d: int
    alphas: Sequence[float]
    c: float

    def _over(self, layer: int, divisor: float) -> float:
        """alpha_l^2 / d^(1 / (divisor C^l))."""
        return self.alphas[layer - 1] ** 2 / self.d ** (1 / (divisor * self.c**layer))

    def threshold_triangle(self, layer: int) -> float:
        """Thres_{l, triangle} = alpha_{l-1}^2 / d^(1/(3 C^(l-1))), l >= 3."""
        if layer < 3:
            raise ValueError("Thres_{2, triangle} needs an alpha_1, which the paper does not define")
        return self._over(layer - 1, 3)

    def threshold_nabla(self, layer: int) -> float:
        """Thres_{l, nabla} = alpha_l^2 / d^(1/(6 C^l))."""
        return self._over(layer, 6)

    def lambdas(self, layer: int) -> tuple[float, float, float]:
        """lambda_{3,l}, lambda_{4,l}, lambda_{5,l} = alpha_l^2 / d^(1/(6 C^l)), ^(1/(3 C^l)), ^(1/(2 C^l))."""
        return self._over(layer, 6), self._over(layer, 3), self._over(layer, 2)


def report(definition: DefinitionB3) -> dict[str, float]:
    """log10 of what Theorem 1 asks for: N, m, the largest alpha_{l+1} / alpha_l (L >= 3), and at the last layer
    Thres_{L, nabla}, lambda_{3..6, L}.
    """
    depth = definition.depth
    gaps = {"gap": min(definition.gap(layer) for layer in range(2, depth))} if depth > 2 else {}
    weights = zip(("lambda3", "lambda4", "lambda5", "lambda6"), definition.lambdas(depth), strict=True)
    found = {"N": definition.samples(), "m": definition.width(), **gaps}
    return found | {"threshold": definition.threshold_nabla(depth)} | dict(weights)


def weight_decay(epsilon0: float, kbar: float, depth: int, kappa: float) -> float:
    """lambda_{6,l} = eps_0^2 / (kbar_l L kappa)^8, Algorithm 1, line 7 (footnote 31 prints eps_0^4)."""
    return epsilon0**2 / (kbar * depth * kappa) ** 8


def feature_bound(alpha_next: float, epsilon: float, alpha: float) -> float:
    """(alpha_{l+1}^2 + eps^2) / alpha_{l'}^2, Theorem 2's bound without its constant."""
    return (alpha_next**2 + epsilon**2) / alpha**2


def hidden_energy(alpha: float, depth: int) -> float:
    """E of the square of what Theorem I.1 hides in G*: alpha_L^2 (p!)^2 / p^p, p = 2^(L-1).

    <w, x>^p with w in S_p holds p! p^(-p/2) prod_{i in supp w} x_i, whose square has mean (p!)^2 / p^p; no other
    part of G* has this parity.
    """
    p = 2 ** (depth - 1)
    return alpha**2 * math.factorial(p) ** 2 / p**p
