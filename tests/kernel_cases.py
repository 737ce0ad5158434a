"""Analytic kernels that several tests go through, and finite networks sampled without forming their matrices."""

from __future__ import annotations

import torch
from torch import Tensor

from learnability.kernels.analytic import build
from learnability.kernels.correlation import Kernel
from learnability.kernels.dual import DUALS

ACTIVATIONS = sorted(DUALS.keys() - {"inverse"})
CASES: dict[str, dict] = {
    "gaussian": {"name": "gaussian", "bandwidth": 0.7},
    "polynomial": {"name": "polynomial", "degree": 4, "offset": 0.5},
    "arcsin": {"name": "arcsin"},
    **{f"features-{a}": {"name": "random_features", "activation": a} for a in ACTIVATIONS},
    "features-cube": {"name": "random_features", "activation": "power", "options": {"degree": 3}},
    "features-tanh": {"name": "random_features", "activation": torch.tanh},
    "recursive-erf": {"name": "recursive", "activation": "erf", "depth": 3, "weight_var": 2.0, "bias_var": 0.1},
    "recursive-sin": {"name": "recursive", "activation": "sin", "depth": 2, "weight_var": (1.0, 2.0)},
    "recursive-gaussian": {"name": "recursive", "activation": "gaussian", "depth": 2},
    "recursive-tanh": {"name": "recursive", "activation": torch.tanh, "depth": 2, "bias_var": 0.2},
    "conjugate-1": {"name": "conjugate", "bias_var": 0.2},
    "conjugate-3": {"name": "conjugate", "depth": 3, "weight_var": 2.0, "bias_var": (0.1, 0.0, 0.3)},
    "tangent-1": {"name": "tangent", "train": "all"},
    "tangent-2": {"name": "tangent", "depth": 2},
    "tangent-2-standard": {"name": "tangent", "depth": 2, "bias_var": 0.1, "parameterisation": "standard"},
    "tangent-3-all": {
        "name": "tangent",
        "depth": 3,
        "weight_var": (1.0, 2.0, 1.5),
        "bias_var": (0.1, 0.3, 0.2),
        "output_var": 1.7,
        "train": "all",
    },
    "tangent-3-all-standard": {
        "name": "tangent",
        "depth": 3,
        "weight_var": 2.0,
        "bias_var": 0.2,
        "train": "all",
        "parameterisation": "standard",
    },
    "tangent-1-standard": {"name": "tangent", "bias_var": 0.2, "parameterisation": "standard"},
    "residual-conjugate": {"name": "residual_conjugate", "weight_var": (1.0, 1.5), "bias_var": (0.1, 0.2)},
    "residual-tangent": {"name": "residual_tangent", "weight_var": (1.0, 1.5), "bias_var": (0.1, 0.2)},
    "residual-tangent-all-standard": {
        "name": "residual_tangent",
        "weight_var": (2.0, 1.5),
        "bias_var": (0.1, 0.2),
        "output_var": 0.8,
        "train": "all",
        "parameterisation": "standard",
    },
}


def case(name: str, d: int, **more) -> Kernel:
    parameters = {**CASES[name], **more}
    return build(parameters.pop("name"), d=d, **parameters)


def pairs(kernel: Kernel, x: Tensor) -> Tensor:
    """K of all pairs in one piece, by the plain formula."""
    squares = x.square().sum(1)
    return kernel(x @ x.T, squares[:, None], squares[None, :])


def root(c: Tensor) -> Tensor:
    """r with r r^T = c, for any positive semi-definite c."""
    values, vectors = torch.linalg.eigh(c)
    return vectors * values.clamp(min=0).sqrt()


class Sampler:
    """Networks of one width at n points, exactly: rows of W h are Gaussian with covariance (w / fan-in) h^T h.

    The weights themselves are never drawn, which makes width 2^14 cheap. Going back, W^T b given W h = z is
    (h^+)^T z^T b, plus a Gaussian with covariance (w / fan-in) b^T b a row in what is orthogonal to h.
    """

    def __init__(self, width: int, seed: int) -> None:
        self.width, self.generator = width, torch.Generator().manual_seed(seed)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, dtype=torch.float64)

    def through(self, h: Tensor, w: float) -> Tensor:
        """W h: (fan-in, n) -> (width, n)."""
        return self.normal(self.width, h.shape[1]) @ root(w / len(h) * h.T @ h).T

    def back(self, b: Tensor, h: Tensor, wh: Tensor, w: float) -> Tensor:
        """W^T b given W h: (width, n) -> (fan-in, n)."""
        inverse = torch.linalg.pinv(h)  # (n, fan-in)
        free = self.normal(len(h), b.shape[1]) @ root(w / len(h) * b.T @ b).T
        return inverse.T @ (wh.T @ b) + free - h @ (inverse @ free)

    def features(self, x: Tensor, phi, weights: tuple[float, ...], biases: tuple[float, ...]) -> Tensor:
        """(1/m) h_L^T h_L: x (n, d) -> (n, n)."""
        h = x.T
        for w, b in zip(weights, biases, strict=True):
            h = phi(self.through(h, w) + b**0.5 * self.normal(self.width, 1))
        return h.T @ h / self.width

    def tangent(self, x: Tensor, kernel: Kernel, residual: bool) -> Tensor:
        """The network's own tangent kernel at its random start, in the kernel's normalisation: (n, n)."""
        h, stack = x.T, []  # (h_{l-1}, W_l h_{l-1}, 1[z_l > 0])
        for w, b in zip(kernel.weight_var, kernel.bias_var, strict=True):
            wh = self.through(h, w)
            z = wh + b**0.5 * self.normal(self.width, 1)
            stack.append((h, wh, (z > 0).double()))
            h = z.clamp(min=0)
        top = h + stack[-1][0] if residual else h
        ntk, m = kernel.parameterisation == "ntk", self.width
        back = (kernel.output_var / m) ** 0.5 * self.normal(m, 1)
        signal, total = back, 0.0
        for layer in range(len(stack) - 1, -1, -1):
            h, wh, on = stack[layer]
            w, b = kernel.weight_var[layer], kernel.bias_var[layer]
            delta = signal * on
            weights, bias = (w / len(h), b) if ntk else (1.0, 1.0)
            total = total + (delta.T @ delta) * (weights * h.T @ h + bias)
            if layer:
                signal = self.back(delta, h, wh, w) + (back if residual else 0)
        if kernel.train == "all":
            total = total + top.T @ top * (kernel.output_var / m if ntk else 1.0)
        divided = not ntk and (len(stack) > 1 or kernel.train == "all")
        return total / m if divided else total


def normal(*shape: int, seed: int = 0) -> Tensor:
    """Independent N(0, 1) entries in float64."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
