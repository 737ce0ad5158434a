"""What every stacked network offers: tensors with a leading replica dimension, and one SGD gradient.

Shapes. R replicas, B points of a minibatch, d inputs, k outputs, m the width. Inputs arrive as (x, 1):
(R, B, d+1), which absorbs the biases as the paper does (paper B, Section 6). Weight matrices are stored
transposed, e.g. W as (R, d+1, m), so that forward and gradient are both row-major batched products: measured
on one core, that is up to 1.8 times faster than (R, m, d+1).

Loss of one replica on one minibatch: (1/B) sum_i 1/2 ||out(x_i) - y_i||^2   (paper B, (6.1)).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

Tensors = dict[str, Tensor]
relu_gradient = torch.ops.aten.threshold_backward.grad_input  # g -> g * 1[h > 0], in place


@dataclass(frozen=True)
class Network(ABC):
    """A network family; an instance fixes the sizes and holds no weights."""

    d: int
    k: int
    width: int
    init_scale: Mapping[str, float] = field(default_factory=dict)

    activations = 6  # arrays of (B, m) that a step touches; fewer where the gradient is by hand

    @property
    def trained(self) -> tuple[str, ...]:
        """Names of what SGD moves: the hidden weights, all but the output weights A."""
        return tuple(name for name in self.shapes() if name != "A")

    @abstractmethod
    def shapes(self) -> dict[str, tuple[tuple[int, ...], float]]:
        """Each weight's shape without R, and the standard deviation of its N(0, s^2) start."""

    @abstractmethod
    def hidden(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """What the output weights A see: (R, B, d+1) -> (R, B, m); out = hidden A^T."""

    def init(self, generator: torch.Generator) -> Tensors:
        """One replica's random start, without the replica dimension."""
        return {
            name: torch.randn(shape, generator=generator) * (std * self.init_scale.get(name, 1.0))
            for name, (shape, std) in self.shapes().items()
        }

    def forward(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """out(x): (R, B, d+1) -> (R, B, k); differentiable in every weight."""
        return self.hidden(p, x) @ p["A"].transpose(-1, -2)

    def workspace(self, replicas: int, batch: int, like: Tensor) -> Tensors:
        """Buffers that :meth:`accumulate` may write to; none are needed by the default."""
        return {}

    def accumulate(self, p: Tensors, x: Tensor, y: Tensor, into: Tensors, decay: float, work: Tensors) -> Tensor:
        """into[w] <- decay * into[w] + dLoss/dw for each trained w; returns out - y, (R, B, k).

        This default differentiates :meth:`forward`. Networks on the hot path write the same
        gradient by hand without allocating; a test holds every one of them against this one.
        """
        leaves = {name: p[name].detach().requires_grad_() for name in self.trained}
        with torch.enable_grad():
            residual = self.forward({**p, **leaves}, x) - y
            loss = residual.square().sum() / (2 * x.shape[1])
            gradients = torch.autograd.grad(loss, list(leaves.values()))
        for name, gradient in zip(leaves, gradients, strict=True):
            into[name].mul_(decay).add_(gradient)
        return residual.detach()

    def working_set(self, batch: int) -> int:
        """Bytes that one replica's step touches in float32: weights, momenta, activations."""
        weights = sum(
            torch.Size(shape).numel() * (2 if name in self.trained else 1)
            for name, (shape, _) in self.shapes().items()
        )
        activations = batch * (self.activations * self.width + self.d + 4 * self.k)
        return 4 * (weights + activations)
