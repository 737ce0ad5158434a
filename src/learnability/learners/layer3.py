"""Three-layer fully connected network, hidden weights trained (3layer of paper B, Figure 2).

    out(x) = A sigma(V (sigma(W (x, 1)), 1))

A in R^{k x m} fixed, W in R^{m x (d+1)} and V in R^{m x (m+1)} trained. 'Similar initialization' (Appendix A):
A, V ~ N(0, 1/m), W ~ N(0, 1/d).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from learnability.learners.base import Network, Tensors, relu_gradient


class Learner(Network):
    """3layer of Figure 2."""

    activations = 4

    def shapes(self) -> dict[str, tuple[tuple[int, ...], float]]:
        """Shapes and standard deviations of the start, as in the module's text."""
        m = self.width
        return {
            "A": ((self.k, m), m**-0.5),
            "W": ((self.d + 1, m), self.d**-0.5),
            "V": ((m + 1, m), m**-0.5),
        }

    def hidden(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """sigma(V (sigma(W (x, 1)), 1))."""
        h1 = torch.relu(x @ p["W"])  # (R, B, m)
        v = p["V"]
        return torch.relu(h1 @ v[..., :-1, :] + v[..., -1:, :])

    def workspace(self, replicas: int, batch: int, like: Tensor) -> Tensors:
        """Activations and their gradients, (R, B, m) each, and the outputs'."""

        def buffer(width: int) -> Tensor:
            return like.new_ones(replicas, batch, width)

        m = self.width  # h1's last column stays 1: the bias of V
        return {"h1": buffer(m + 1), "z": buffer(m), "h2": buffer(m), "g": buffer(m)} | {
            "r": like.new_empty(replicas, self.k, batch),  # transposed: A h^T is twice as fast
        }

    def accumulate(self, p: Tensors, x: Tensor, y: Tensor, into: Tensors, decay: float, work: Tensors) -> Tensor:
        """The base class's gradient by hand, in ``work``'s buffers only."""
        v, a = p["V"], p["A"]
        h1, z, h2, g, r = (work[n] for n in ("h1", "z", "h2", "g", "r"))
        share = 1 / x.shape[1]
        torch.bmm(x, p["W"], out=z).clamp_(min=0)
        h1[..., : self.width] = z
        torch.bmm(h1, v, out=h2).clamp_(min=0)
        torch.bmm(a, h2.transpose(1, 2), out=r).sub_(y.transpose(1, 2))  # r = (out - y)^T, (R, k, B)
        torch.bmm(r.transpose(1, 2), a, out=g)
        relu_gradient(g, h2, 0, grad_input=g)  # B dLoss/d(V (h1, 1)): 1/B goes into the last products
        torch.bmm(g, v[:, : self.width].transpose(1, 2), out=h2)  # B dLoss/dh1, h2 is free again
        into["V"].baddbmm_(h1.transpose(1, 2), g, beta=decay, alpha=share)
        relu_gradient(h2, z, 0, grad_input=h2)  # B dLoss/d(W (x, 1))
        into["W"].baddbmm_(x.transpose(1, 2), h2, beta=decay, alpha=share)
        return r.transpose(1, 2)
