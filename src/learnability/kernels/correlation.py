"""Correlation kernels of paper B, Section 3, that are functions of <x, y>, |x|^2 and |y|^2 (its footnote 5).

    gaussian         exp(-|x - y|^2 / h),                 h = bandwidth * d
    polynomial       (offset + <x, y> / d)^degree
    arcsin           arcsin(<x, y> / (|x| |y|))
    random features  E_w phi(<w, x>) phi(<w, y>),         w ~ N(0, variance / d I)
    recursive        K_0 = <x, y> / d,   K_l = dual(w_l K_{l-1} + b_l) with the same recursion for |x|^2, |y|^2

Scale. Inputs enter as x / sqrt(d): on {-1, 1}^d, where |x|^2 = d, they have unit norm, as in the paper's Theorem 2
(x in {-1/sqrt d, 1/sqrt d}^d, w ~ N(0, I)). d is a parameter of every kernel, and data may have any norm.

The recursive kernel of an activation with variances (w_l, b_l) is the conjugate kernel of the fully connected
network of that activation, the limit of (1/m) <h_L(x), h_L(y)> as the widths m go to infinity, with
h_l = phi(W_l h_{l-1} + beta_l), W_l ~ N(0, w_l / fan-in), beta_l ~ N(0, b_l), and h_0 = x.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from learnability.kernels.arithmetic import TORCH, Arithmetic, Number
from learnability.kernels.dual import Dual, Relu

Variances = float | tuple[float, ...]  # one for all layers, or one each


def per_layer(values: Variances, depth: int, what: str) -> tuple[float, ...]:
    """One variance a layer."""
    layers = tuple(values) if isinstance(values, tuple | list) else (values,) * depth
    if len(layers) != depth or min(layers) < 0:
        raise ValueError(f"{what} must be one number or {depth}, none negative; got {values}")
    return tuple(float(v) for v in layers)


@dataclass(frozen=True)
class Kernel(ABC):
    """K(x, y) as a function of <x, y>, |x|^2, |y|^2; hashable, and equal if its parameters are."""

    d: int

    tiles = 8  # arrays of inner's size that one evaluation holds at once, inner and result included
    workspace = 0  # of them, how many ``overwrite`` is handed

    def __post_init__(self) -> None:
        if self.d < 1:
            raise ValueError(f"d must be at least 1; got {self.d}")

    def __call__(self, inner: Tensor, xx: Tensor | float, yy: Tensor | float) -> Tensor:
        """K elementwise: inner (...), xx and yy broadcastable to it, float32 or float64 -> (...)."""
        return self.value(inner, *(torch.as_tensor(v, dtype=inner.dtype) for v in (xx, yy)), TORCH)

    @abstractmethod
    def value(self, inner: Number, xx: Number, yy: Number, on: Arithmetic) -> Number:
        """The formula, in either arithmetic."""

    def overwrite(self, inner: Tensor, xx: Tensor, yy: Tensor, work: Sequence[Tensor] = ()) -> Tensor:
        """K, free to write over ``inner`` and ``work``: inner (a, b), xx (a, 1), yy (1, b) -> (a, b)."""
        return self.value(inner, xx, yy, TORCH)

    def on_hypercube(self, inner: Tensor, d: int | None = None) -> Tensor:
        """K of x, y in {-1, 1}^d, where |x|^2 = |y|^2 = d; d is the kernel's own unless given."""
        size = float(self.d if d is None else d)
        return self(inner, size, size)


@dataclass(frozen=True)
class Gaussian(Kernel):
    """exp(-|x - y|^2 / (bandwidth d))."""

    bandwidth: float = 1.0
    tiles = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bandwidth <= 0:
            raise ValueError("the bandwidth must be positive")

    def value(self, inner, xx, yy, on):
        return on.exp(on.positive(xx + yy - 2 * inner) / (-self.bandwidth * self.d))

    def overwrite(self, inner, xx, yy, work=()):
        return inner.mul_(-2).add_(xx).add_(yy).clamp_(min=0).div_(-self.bandwidth * self.d).exp_()


@dataclass(frozen=True)
class Polynomial(Kernel):
    """(offset + <x, y> / d)^degree; offset 0 and degree 1 is the linear kernel."""

    degree: int = 3
    offset: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.degree < 1 or self.offset < 0:
            raise ValueError("the degree must be at least 1 and the offset not negative")

    def value(self, inner, xx, yy, on):
        return (self.offset + inner / self.d) ** self.degree


class ArcSine(Kernel):
    """arcsin(<x, y> / (|x| |y|))."""

    def value(self, inner, xx, yy, on):
        return on.asin(on.cosine(inner, xx, yy))


@dataclass(frozen=True)
class RandomFeatures(Kernel):
    """E phi(<w, x>) phi(<w, y>), w ~ N(0, variance / d I); variance = d is w ~ N(0, I)."""

    dual: Dual = field(default_factory=Relu)
    variance: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variance <= 0:
            raise ValueError("the variance must be positive")

    def value(self, inner, xx, yy, on):
        c, q, r = (v * self.variance / self.d for v in (inner, xx, yy))
        return self.dual(c, q, r, on)


@dataclass(frozen=True)
class Recursive(Kernel):
    """K_l = dual(w_l K_{l-1} + b_l) from K_0 = <x, y> / d, ``depth`` times."""

    dual: Dual = field(default_factory=Relu)
    depth: int = 1
    weight_var: Variances = 1.0
    bias_var: Variances = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.depth < 1:
            raise ValueError("the depth must be at least 1")
        object.__setattr__(self, "weight_var", per_layer(self.weight_var, self.depth, "weight_var"))
        object.__setattr__(self, "bias_var", per_layer(self.bias_var, self.depth, "bias_var"))

    def value(self, inner, xx, yy, on):
        k, q, r = inner / self.d, xx / self.d, yy / self.d
        for w, b in zip(self.weight_var, self.bias_var, strict=True):
            k, q, r = (v * w + b for v in (k, q, r))
            k, q, r = (self.dual(*cov, on) for cov in ((k, q, r), (q, q, q), (r, r, r)))
        return k
