"""Tangent kernels of ReLU networks at infinite width, and both kernels of the single-skip residual network.

Fully connected, L hidden layers of width m, no output bias:

    z_l = W_l h_{l-1} + beta_l,   h_l = sigma(z_l),   h_0 = x,   out = A h_L
    W_l ~ N(0, w_l / fan-in), beta_l ~ N(0, b_l), A ~ N(0, a / m)

With R and S the duals of relu and step, E_0 = <x, y> / d and E_l = (1/m) <h_l(x), h_l(y)> in the limit,

    Sigma_l = w_l E_{l-1} + b_l,   E_l = R(Sigma_l)                                  E_L: conjugate kernel
    T_1 = u_1 E_0 + v_1,   T_{l+1} = u_{l+1} E_l + v_{l+1} + w_{l+1} S(Sigma_l) T_l
    K = a S(Sigma_L) T_L   [ + u_out E_L if A trains too ]                           tangent kernel

Residual, paper B (2.1), with U of independent entries N(0, w_2 / m):

    out = A (h_1 + h_2),   h_1 = sigma(W x + beta_1),   h_2 = sigma(U h_1 + beta_2)
    C = E_1 + E_2 + (sqrt(q_1 r_2) + sqrt(r_1 q_2)) / (2 pi)          conjugate; q_l, r_l = Sigma_l(x, x), (y, y)
    K = a S(Sigma_2) (u_2 E_1 + v_2) + a (1 + w_2 S(Sigma_2)) S(Sigma_1) (u_1 E_0 + v_1)   [ + u_out C ]

The last terms of C are E h_1(x) E h_2(y) + E h_2(x) E h_1(y): in the limit the two layers of a unit are
independent, but a relu's mean sqrt(q / 2 pi) is not zero. (Formulas: Jacot, Gabriel, Hongler 2018; Yang 2019.)

Parameterisations: what the gradient is taken in sets the u and v, and nothing else.

    ntk       in weights omega ~ N(0, 1) with W = sqrt(w / fan-in) omega, beta = sqrt(b) omega':
              u_l = w_l, v_l = b_l, u_out = a. K is O(1) and is not divided by anything.
    standard  in W and beta themselves. A layer with fan-in f gives f times its mean over inputs, so the weights of
              layers with fan-in m give O(m), those of the first layer O(d) and every bias O(1). Divided by m:
              u_l = 1 for l >= 2, u_out = 1, and u_1 = d / m, v_l = 1 / m, which are 0 in the limit
              (``width`` = m keeps them). With L = 1 and A fixed no fan-in is m and nothing is divided:
              u_1 = d, v_1 = 1.

``train`` 'hidden' is all but A, paper B's convention (Appendix A); 'all' adds A.

The networks of ``learners/`` start with A, V ~ N(0, 1/m), W ~ N(0, 1/d) and biases of their matrix's variance:
w_l = a = 1, b_1 = 1/d, b_2 = 1/m -> 0, and ``of_learner`` gives their kernels in the standard parameterisation.
resnet3 has U = VA: out1 = A h_1 is a k-dimensional Gaussian of order 1, V (out1, 1) is of order 1/sqrt(m), and
(1/m) <h(x), h(y)> tends to E_1 alone, the conjugate kernel of layer2. Its tangent kernel keeps, from V, a term
<o, o'> S(<o, o'>, |o|^2, |o'|^2) with o = (out1(x), 1), which stays random at infinite width: it is neither the
residual kernel above nor a correlation kernel, and is not offered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from learnability.kernels.arithmetic import MARGIN, inverse_root
from learnability.kernels.correlation import Kernel, Recursive, Variances, per_layer
from learnability.kernels.dual import Relu, Step

relu, step = Relu(), Step()


@dataclass(frozen=True)
class _Tangent(Kernel):
    """What the tangent kernels share: variances of the start, and which weights train in which scale."""

    weight_var: Variances = 1.0
    bias_var: Variances = 0.0
    output_var: float = 1.0
    train: str = "hidden"
    parameterisation: str = "ntk"
    width: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "weight_var", per_layer(self.weight_var, self.layers, "weight_var"))
        object.__setattr__(self, "bias_var", per_layer(self.bias_var, self.layers, "bias_var"))
        if self.train not in ("hidden", "all"):
            raise ValueError(f"train must be 'hidden' or 'all'; got {self.train!r}")
        if self.parameterisation not in ("ntk", "standard"):
            raise ValueError(f"parameterisation must be 'ntk' or 'standard'; got {self.parameterisation!r}")
        if self.width is not None and (self.parameterisation == "ntk" or self.width < 1):
            raise ValueError("width keeps the 1/m terms of the standard parameterisation; it must be positive")

    @property
    def layers(self) -> int:
        """Hidden layers."""
        return 2

    def scales(self) -> tuple[tuple[float, ...], tuple[float, ...], float]:
        """(u_1 .. u_L), (v_1 .. v_L) and u_out (0 if A is fixed) of the module's text."""
        both = self.train == "all"
        if self.parameterisation == "ntk":
            return self.weight_var, self.bias_var, self.output_var if both else 0.0
        share = 0.0 if self.width is None else 1 / self.width
        if self.layers == 1 and not both:
            share = 1.0
        return (self.d * share, *[1.0] * (self.layers - 1)), (share,) * self.layers, 1.0 if both else 0.0


@dataclass(frozen=True)
class Tangent(_Tangent):
    """K of the fully connected ReLU network of ``depth`` hidden layers."""

    depth: int = 1
    tiles, workspace = 4, 3

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise ValueError("the depth must be at least 1")
        super().__post_init__()

    @property
    def layers(self) -> int:
        return self.depth

    def value(self, inner, xx, yy, on):
        e, q, r = inner / self.d, xx / self.d, yy / self.d
        (u, v, u_out), total, slope = self.scales(), 0 * inner, 0
        for layer, (w, b) in enumerate(zip(self.weight_var, self.bias_var, strict=True)):
            total = u[layer] * e + v[layer] + w * slope * total  # T_l
            e, q, r = (w * a + b for a in (e, q, r))  # Sigma_l
            slope = step(e, q, r, on)
            e, q, r = relu(e, q, r, on), q / 2, r / 2
        return self.output_var * slope * total + u_out * e

    def overwrite(self, inner: Tensor, xx: Tensor, yy: Tensor, work: Sequence[Tensor] = ()) -> Tensor:
        """The same in three arrays besides ``inner``: T_l times the factors still to come, and two for work.

        p = pi - arccos rho = arccos(-rho); S = p / (2 pi); R = sqrt(q r) (sqrt(1 - rho^2) + rho p) / (2 pi).
        """
        (u, v, u_out), w, b = self.scales(), self.weight_var, self.bias_var
        ahead = [self.output_var / (2 * math.pi)]  # product of what T_l is still multiplied by, p aside
        for weight in w[:0:-1]:
            ahead.insert(0, ahead[0] * weight / (2 * math.pi))
        up = 1 + MARGIN * torch.finfo(inner.dtype).eps
        total, p, s = work or [torch.empty_like(inner) for _ in range(3)]
        torch.mul(inner, u[0] / self.d * ahead[0], out=total)
        if v[0]:
            total.add_(v[0] * ahead[0])
        e, q, r, scale = inner, xx / self.d, yy / self.d, 1 / self.d
        for layer in range(self.depth):
            last = layer == self.depth - 1
            q, r = w[layer] * q + b[layer], w[layer] * r + b[layer]
            rho = _normalise(e, w[layer] * scale, b[layer], up * inverse_root(q), inverse_root(r))
            if not last or u_out:
                torch.add(rho, 1, out=p)
                torch.sub(rho, 1, out=s).mul_(p).neg_()  # (1 - rho) (1 + rho): no cancellation at +-1
                _in_place(torch.sqrt, s)
            _in_place(torch.arccos, torch.neg(rho, out=p))
            total.mul_(p)
            if not last or u_out:
                s.addcmul_(rho, p).mul_(q.sqrt() / (2 * math.pi)).mul_(r.sqrt())  # E_l
            if not last:
                total.add_(s, alpha=u[layer + 1] * ahead[layer + 1])
                if v[layer + 1]:
                    total.add_(v[layer + 1] * ahead[layer + 1])
            e, s, q, r, scale = s, rho, q / 2, r / 2, 1.0
        return total.add_(e, alpha=u_out) if u_out else total


def _normalise(e: Tensor, scale: float, bias: float, left: Tensor, right: Tensor) -> Tensor:
    """(scale e + bias) left right in [-1, 1], in place."""
    if not bias:
        return e.mul_(scale * left).mul_(right).clamp_(-1, 1)
    return e.mul_(scale).add_(bias).mul_(left).mul_(right).clamp_(-1, 1)


def _in_place(function: Callable[..., Tensor], a: Tensor) -> None:
    """function(a) in a's memory; NumPy's arccos takes a third of torch's time there, its sqrt half."""
    if a.device.type == "cpu":
        values = a.numpy()
        getattr(np, function.__name__)(values, out=values)
    else:
        function(a, out=a)


@dataclass(frozen=True)
class ResidualConjugate(Kernel):
    """C of the residual network: lim (1/m) <h_1 + h_2, h_1' + h_2'>."""

    weight_var: Variances = 1.0
    bias_var: Variances = 0.0
    tiles = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "weight_var", per_layer(self.weight_var, 2, "weight_var"))
        object.__setattr__(self, "bias_var", per_layer(self.bias_var, 2, "bias_var"))

    def value(self, inner, xx, yy, on):
        first, second = _covariances(self, inner, xx, yy, on)
        means = on.sqrt(first[1]) * on.sqrt(second[2]) + on.sqrt(first[2]) * on.sqrt(second[1])
        return relu(*first, on) + relu(*second, on) + means / (2 * on.pi)


@dataclass(frozen=True)
class ResidualTangent(_Tangent):
    """K of the residual network."""

    tiles = 12

    def value(self, inner, xx, yy, on):
        first, second = _covariances(self, inner, xx, yy, on)
        (u, v, u_out), a = self.scales(), self.output_var
        slope = step(*second, on)
        of_u = slope * (u[1] * relu(*first, on) + v[1])
        of_w = (1 + self.weight_var[1] * slope) * step(*first, on) * (u[0] * inner / self.d + v[0])
        total = a * of_u + a * of_w
        if not u_out:
            return total
        return total + u_out * ResidualConjugate(self.d, self.weight_var, self.bias_var).value(inner, xx, yy, on)


def _covariances(kernel, inner, xx, yy, on) -> tuple[tuple, tuple]:
    """(Sigma_1, q_1, r_1) and (Sigma_2, q_2, r_2)."""
    (w1, w2), (b1, b2), d = kernel.weight_var, kernel.bias_var, kernel.d
    first = tuple(w1 * v / d + b1 for v in (inner, xx, yy))
    c, q, r = first
    return first, (w2 * relu(c, q, r, on) + b2, w2 * q / 2 + b2, w2 * r / 2 + b2)


def of_learner(network: str, train: str, d: int, width: int | None = None) -> Kernel:
    """The limit of a network of ``learners/`` on inputs in R^d: ``train`` is 'last' or 'ntk'.

    last: (1/m) <h(x), h(y)>. ntk: layer2 K, layer3 K / m, standard parameterisation, hidden weights. With ``width``
    the biases and the first layer of order 1/m are kept; other corrections of that order are not in the kernel.
    """
    inside = 0.0 if width is None else 1 / width
    bias = {"layer2": (1 / d,), "layer3": (1 / d, inside), "resnet3": (1 / d,)}.get(network)
    if bias is None or train not in ("last", "ntk"):
        raise ValueError(f"no kernel of {network!r}, {train!r}: layer2, layer3, resnet3 and last, ntk")
    if train == "last":
        return Recursive(d, relu, len(bias), 1.0, bias)
    if network == "resnet3":
        raise ValueError("the tangent kernel of resnet3 (U = VA) stays random at infinite width")
    finite = width if len(bias) > 1 else None
    return Tangent(d, 1.0, bias, parameterisation="standard", width=finite, depth=len(bias))
