"""Concept 2, the larger class, and Lemma B.2: Concept 1 is a special case (paper B, Appendix B).

    F_r(x) = sum_i a_{r,i} phi_{r,i}(<w1_{r,i}, (x,1)> / |(x,1)|) <w2_{r,i}, (x,1)>       (Definition B.1)

with a in [-1, 1], |w1| = |w2| = 1 in R^(n+1), and phi with zero- and odd-order terms only. (The definition
prints w1_i, w2_i without r; Lemma F.1' has the r.) H = beta F + alpha G(F) as in Concept 1, F and G both of
this form; |F(x)| need not be 1.

Lemma B.2 for a term a phi(<w, x>) with |w| = 1/sqrt(2), w^ = sqrt(2) w, and phi = phi^+ + z phi^-:

    a phi^+(z) <(0, 1), (x,1)> + (a / sqrt(2)) phi^-(z) <(w^, 0), (x,1)>,   z = <(w^, 0), (x,1)> / |(x,1)|

For |x| = 1, |(x,1)| = sqrt(2) and z = <w, x>, <(w^, 0), (x,1)> = sqrt(2) z: the sum is a phi(<w, x>). The
printed factor 1/sqrt(2) is right and goes into a. For |x| = rho the rewritten term is another function,

    a phi^+(s <w, x>) + a <w, x> phi^-(s <w, x>),   s = sqrt(2 / (1 + rho^2))

so the lemma holds for F where |x| = 1, and for G only on |F(x)| = 1, which the paper assumes. With
E||F||^2 = 1 alone, G and G' differ at first order in |F(x)| - 1.

Its complexities: 2p terms, C_s(phi^+), C_s(phi^-) <= C_s(phi) always, C_eps(phi^+) <= C_eps(phi) always, and
C_eps(phi^-) <= C_eps(phi) for C* >= sqrt(2e) = 2.34: with g(i) = (C* sqrt(L/i))^i, L = log(1/eps), a term
i >= 2 changes by (C*)^i - (C*)^(i-1) + g(i) - g(i-1), where g grows up to i = C*^2 L / e, which is beyond i
if L > i - 1, and else g(i-1) <= (C*)^(i-1). Not for any C*: phi = z^2 at C* = 1, L = 1 has 3/2 and phi^- has 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from learnability.seeding import stream
from learnability.teachers import concept
from learnability.teachers.activations import Activation
from learnability.teachers.concept import TINY, Function, unit


def _refuse_even(phi: Activation) -> None:
    if not phi.only_odd:
        raise ValueError(
            f"{phi.kind} has even orders above 0, which Definition B.1 excludes; "
            "take sin, tanh, sigmoid or a polynomial without them"
        )


@dataclass(frozen=True, eq=False)
class Product:
    """p terms of Definition B.1 an output: x (..., n) -> (..., k)."""

    activation: Activation
    a: Tensor  # (k, p)
    w1: Tensor  # (k, p, n + 1), unit rows
    w2: Tensor  # (k, p, n + 1), unit rows

    def __post_init__(self) -> None:
        _refuse_even(self.activation)

    def __call__(self, x: Tensor) -> Tensor:
        x1 = torch.cat([x, torch.ones_like(x[..., :1])], dim=-1)  # (..., n + 1)
        at, along = (
            (x1 @ w.to(x).flatten(0, 1).T).unflatten(-1, self.a.shape) for w in (self.w1, self.w2)
        )  # (..., k, p)
        z = at / x1.norm(dim=-1)[..., None, None]
        return (self.a.to(x) * self.activation(z) * along).sum(-1)


def rewrite(function: Function) -> Function:
    """Lemma B.2: a Concept 1 function of n inputs as one of Definition B.1, with at most 2p terms.

    Equal to ``function`` for |x| = 1. The terms of phi^- are left out where phi^- = 0.
    """
    blocks = []
    for block in function.blocks:
        zero = torch.zeros_like(block.w[..., :1])
        w = torch.cat([math.sqrt(2) * block.w, zero], dim=-1)  # (w^, 0): (k, p, n + 1)
        last = torch.zeros_like(w)
        last[..., -1] = 1  # (0, 1)
        blocks.append(Product(block.activation.plus, block.a, w, last))
        if block.activation.minus.degree != -1:
            blocks.append(Product(block.activation.minus, block.a / math.sqrt(2), w, w))
    return Function(tuple(blocks))


@dataclass(frozen=True)
class Teacher(concept.Teacher):
    """H = beta F + alpha G(F) of Concept 2; fields, norms and probes as in ``teachers/concept.py``.

    The mean of F and the affine part of G are one more term: phi(z) = c and w2 along (u_r, m_r).
    """

    p_f: int = 32
    p_g: int = 32
    g_activation: str = "sin"

    KIND: ClassVar[str] = "concept2"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, n in (("f", self.d), ("g", self.k)):
            _refuse_even(self._activation(name, n))

    def _drawn(self, name: str, n: int, p: int) -> Any:
        generator = stream("teacher", self.KIND, "weights", name, self.draw)
        w1, w2 = unit((self.k, p, n + 1), generator), unit((self.k, p, n + 1), generator)
        a = 2 * torch.rand((self.k, p), generator=generator, dtype=torch.float64) - 1
        return Product(self._activation(name, n), a, w1, w2)

    def _affine(self, m: Tensor, u: Tensor) -> tuple[Any, ...]:
        whole = torch.cat([u, m[:, None]], dim=1)  # (k, n + 1)
        norms = whole.norm(dim=1, keepdim=True)
        most = norms.max().item()
        if most <= TINY:
            return ()
        last = torch.zeros_like(whole)
        last[:, -1] = 1
        along = torch.where(norms > 0, whole / norms.clamp_min(1e-300), last)
        constant = Activation("polynomial", coefficients=(most,))
        return (Product(constant, norms / most, last[:, None], along[:, None]),)
