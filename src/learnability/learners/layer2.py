"""Two-layer fully connected network, hidden weights trained (2layer of paper B, Figure 2).

out(x) = A sigma(W (x, 1)),   A ~ N(0, 1/m) fixed, W ~ N(0, 1/d) trained.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from learnability.learners.base import Network, Tensors, relu_gradient


class Learner(Network):
    """2layer of Figure 2."""

    activations = 2

    def shapes(self) -> dict[str, tuple[tuple[int, ...], float]]:
        """Shapes and standard deviations of the start, as in the module's text."""
        m = self.width
        return {"A": ((self.k, m), m**-0.5), "W": ((self.d + 1, m), self.d**-0.5)}

    def hidden(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """sigma(W (x, 1))."""
        return torch.relu(x @ p["W"])

    def workspace(self, replicas: int, batch: int, like: Tensor) -> Tensors:
        """Activations and their gradients, (R, B, m) each, and the outputs'."""

        def buffer(*shape: int) -> Tensor:
            return like.new_empty(replicas, *shape)

        m, k = self.width, self.k  # r transposed: A h^T is twice as fast as h A^T
        return {"h": buffer(batch, m), "g": buffer(batch, m), "r": buffer(k, batch)}

    def accumulate(self, p: Tensors, x: Tensor, y: Tensor, into: Tensors, decay: float, work: Tensors) -> Tensor:
        """The base class's gradient by hand, in ``work``'s buffers only."""
        a, h, g, r = p["A"], work["h"], work["g"], work["r"]
        torch.bmm(x, p["W"], out=h).clamp_(min=0)  # (R, B, m)
        torch.bmm(a, h.transpose(1, 2), out=r).sub_(y.transpose(1, 2))  # r = (out - y)^T, (R, k, B)
        torch.bmm(r.transpose(1, 2), a, out=g)  # B dLoss/dh: the 1/B goes into the product below
        relu_gradient(g, h, 0, grad_input=g)
        into["W"].baddbmm_(x.transpose(1, 2), g, beta=decay, alpha=1 / x.shape[1])
        return r.transpose(1, 2)
