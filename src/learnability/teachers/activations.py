"""Smooth activations with their Taylor series at 0, and the split of Lemma B.2 (paper B, Section 4, Appendix B).

    phi(B z) = sum_i c_i z^i,   B = ``scale``                                  (footnote 8 absorbs B in phi)

    kind          phi(u), u = B z     |c_i|                                          radius of convergence
    polynomial    sum_i q_i u^i       |q_i| B^i                                      inf
    exp           e^u - 1             B^i / i!, i >= 1                               inf
    sin, cos      sin u, cos u        B^i / i!, i odd, i even                        inf
    tanh          tanh u              2 (2/pi)^(i+1) lambda(i+1) B^i, i odd          pi / (2 B)
    sigmoid       1 / (1 + e^-u)      1/2 at 0; (2 / pi^(i+1)) lambda(i+1) B^i, odd  pi / B

with lambda(s) = sum_j (2j+1)^-s = (1 - 2^-s) zeta(s), from tanh u = sum_j 8u / ((2j+1)^2 pi^2 + 4u^2), and
sigmoid(u) = 1/2 + tanh(u/2) / 2. So Example 4.1's c in e^{cz} - 1, sin(cz), cos(cz) is ``scale``.

Lemma B.2 writes phi(z) = phi^+(z) + z phi^-(z) where both have only zero- and odd-order terms:

    phi^+ = c_0 + odd part,   phi^- = (even part - c_0) / z = sum_{i = 2, 4, ...} c_i z^(i-1)

    exp:  phi^+ = sinh u,   phi^- = (cosh u - 1) / z = B sinh(v) sinh(v)/v         v = u/2
    cos:  phi^+ = 1,        phi^- = (cos u - 1) / z = -B sin(v) sin(v)/v
    sin, tanh, sigmoid:  phi^+ = phi, phi^- = 0

The products with v lose no digits near 0, where (cosh u - 1) / z would, so no separate series is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.special import gammaln, zeta
from torch import Tensor

KINDS = ("polynomial", "exp", "sin", "cos", "sigmoid", "tanh")
SPLIT = ("sinh", "exp_even", "cos_even")  # phi^+ of exp, phi^- of exp and of cos
ODD = ("sin", "tanh", "sigmoid", "sinh", "exp_even", "cos_even")  # zero- and odd-order terms only


@dataclass(frozen=True)
class Activation:
    """phi(scale z); ``coefficients`` q_0, q_1, ... are those of a polynomial and of nothing else."""

    kind: str
    scale: float = 1.0
    coefficients: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS + SPLIT:
            raise ValueError(f"no activation {self.kind!r}; there are {', '.join(KINDS)}")
        if not 0 < self.scale < math.inf:
            raise ValueError(f"an activation's scale must be positive, got {self.scale}")
        if self.coefficients and self.kind != "polynomial":
            raise ValueError(f"coefficients are for a polynomial, {self.kind} has its own")
        object.__setattr__(self, "coefficients", tuple(map(float, self.coefficients)))

    def __call__(self, z: Tensor) -> Tensor:
        """phi(scale z), elementwise."""
        u = self.scale * z
        if self.kind == "polynomial":
            out = torch.zeros_like(u)
            for q in reversed(self.coefficients):  # Horner
                out = out * u + q
            return out
        if self.kind == "exp_even":
            v = u / 2
            ratio = torch.where(v == 0, 1.0, torch.sinh(v) / torch.where(v == 0, 1.0, v))
            return self.scale * torch.sinh(v) * ratio
        if self.kind == "cos_even":
            return -self.scale * torch.sin(u / 2) * torch.sinc(u / (2 * math.pi))  # sinc(t) = sin(pi t)/(pi t)
        return getattr(torch, {"exp": "expm1"}.get(self.kind, self.kind))(u)

    @property
    def degree(self) -> int | None:
        """Of a polynomial, -1 for the zero polynomial; None for an infinite series."""
        if self.kind != "polynomial":
            return None
        return max((i for i, q in enumerate(self.coefficients) if q), default=-1)

    @property
    def radius(self) -> float:
        """Radius of convergence of the Taylor series at 0."""
        poles = {"tanh": math.pi / 2, "sigmoid": math.pi}
        return poles.get(self.kind, math.inf) / self.scale

    @property
    def only_odd(self) -> bool:
        """Zero- and odd-order terms only, which Definition B.1 asks for."""
        return self.kind in ODD or (self.kind == "polynomial" and not any(self.coefficients[2::2]))

    def log_series(self, i: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sign and log|c_i| of the orders ``i`` (n,): (n,), (n,); sign 0 and log -inf where c_i = 0."""
        if self.kind == "polynomial":
            q = np.array([self.coefficients[j] if j < len(self.coefficients) else 0.0 for j in i])
            with np.errstate(divide="ignore"):
                return np.sign(q), np.log(np.abs(q)) + i * math.log(self.scale)
        turns = np.where((i // 2) % 2, -1.0, 1.0)  # (-1)^floor(i/2)
        odd = i % 2 == 1
        if self.kind in ("exp", "sin", "cos", "sinh"):
            there = {"exp": i >= 1, "cos": ~odd}.get(self.kind, odd)
            sign = turns if self.kind in ("sin", "cos") else np.ones(len(i))
            log = i * math.log(self.scale) - gammaln(i + 1)
        elif self.kind in ("exp_even", "cos_even"):
            there, sign = odd, -turns if self.kind == "cos_even" else np.ones(len(i))
            log = (i + 1) * math.log(self.scale) - gammaln(i + 2)
        else:
            there, sign, s = odd, turns, i + 1.0
            ratio = 2 / math.pi if self.kind == "tanh" else 1 / math.pi
            even_zeta = np.log1p(-(2.0**-s)) + np.log(zeta(np.maximum(s, 2)))  # log lambda(i + 1)
            log = math.log(2) + s * math.log(ratio) + even_zeta + i * math.log(self.scale)
            if self.kind == "sigmoid":
                there, sign, log = odd | (i == 0), np.where(i, sign, 1.0), np.where(i, log, -math.log(2))
        return np.where(there, sign, 0.0), np.where(there, log, -math.inf)

    def series(self, degree: int) -> np.ndarray:
        """c_0, ..., c_degree: (degree + 1,)."""
        sign, log = self.log_series(np.arange(degree + 1))
        return sign * np.exp(log)

    def log_majorant(self, i: np.ndarray) -> np.ndarray:
        """log M_i with |c_i| <= M_i and M_i log-concave in i, for infinite series: (n,) -> (n,).

        M_{i+1} / M_i does not grow, so that sum_{j >= i} M_j <= M_i / (1 - M_{i+1} / M_i). For tanh
        |c_i| <= (pi/2) (2B/pi)^i, for sigmoid (pi/4) (B/pi)^i, since lambda(i+1) <= lambda(2) = pi^2 / 8.
        """
        if self.kind in ("exp_even", "cos_even"):
            return (i + 1) * math.log(self.scale) - gammaln(i + 2)
        if self.kind == "tanh":
            return math.log(math.pi / 2) - i * math.log(self.radius)
        if self.kind == "sigmoid":
            return math.log(math.pi / 4) - i * math.log(self.radius)
        return i * math.log(self.scale) - gammaln(i + 1)

    @property
    def plus(self) -> Activation:
        """phi^+ = c_0 + odd part."""
        if self.kind == "exp":
            return replace(self, kind="sinh")
        if self.kind == "cos":
            return Activation("polynomial", coefficients=(1.0,))
        if self.kind == "polynomial":
            kept = [q if i == 0 or i % 2 else 0.0 for i, q in enumerate(self.coefficients)]
            return replace(self, coefficients=tuple(kept))
        return self

    @property
    def minus(self) -> Activation:
        """phi^- = (even part - c_0) / z; the zero polynomial if phi has no even order above 0."""
        if self.kind in ("exp", "cos"):
            return replace(self, kind=f"{self.kind}_even")
        q = self.coefficients  # q_i (Bz)^i / z = (B q_i) (Bz)^(i-1)
        kept = [self.scale * q[i] if i % 2 == 0 else 0.0 for i in range(1, len(q))]
        return Activation("polynomial", self.scale, tuple(kept))
