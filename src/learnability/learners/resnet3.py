"""Three-layer ResNet with a single skip and U = VA (paper B, Section 6).

    out1(x) = A sigma(W (x, 1))
    out(x)  = out1(x) + A sigma(V (out1(x), 1))

A in R^{k x m}, W in R^{m x (d+1)}, V in R^{m x (k+1)}; sigma is ReLU; SGD moves W and V only.
Start (Appendix A, whose printed N(1, 1/m) is a misprint of N(0, 1/m)): A, V ~ N(0, 1/m), W ~ N(0, 1/d).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from learnability.learners.base import Network, Tensors, relu_gradient


class Learner(Network):
    """3resnet of Figure 2."""

    activations = 3

    def shapes(self) -> dict[str, tuple[tuple[int, ...], float]]:
        """Shapes and standard deviations of the start, as in the module's text."""
        m = self.width
        return {
            "A": ((self.k, m), m**-0.5),
            "W": ((self.d + 1, m), self.d**-0.5),
            "V": ((self.k + 1, m), m**-0.5),
        }

    def hidden(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """sigma(W (x, 1)) + sigma(V (out1, 1))."""
        h1 = torch.relu(x @ p["W"])  # (R, B, m)
        out1 = h1 @ p["A"].transpose(-1, -2)  # (R, B, k)
        with_one = torch.cat([out1, torch.ones_like(out1[..., :1])], dim=-1)
        return h1 + torch.relu(with_one @ p["V"])

    def workspace(self, replicas: int, batch: int, like: Tensor) -> Tensors:
        """Activations and their gradients, (R, B, m) each, and the outputs'."""

        def buffer(*shape: int) -> Tensor:
            return like.new_ones(replicas, *shape)

        m, k = self.width, self.k  # what has k rows is kept transposed: A h^T is twice as fast as h A^T
        return {"h1": buffer(batch, m), "h2": buffer(batch, m), "g": buffer(batch, m)} | {
            "o": buffer(k + 1, batch),  # its last row stays 1: the bias of V
            "o1": buffer(k, batch),
            "r": buffer(k, batch),
            "e": buffer(k, batch),
        }

    def accumulate(self, p: Tensors, x: Tensor, y: Tensor, into: Tensors, decay: float, work: Tensors) -> Tensor:
        """The base class's gradient by hand, in ``work``'s buffers only."""
        w, v, a = p["W"], p["V"], p["A"]
        h1, h2, g, o1, o, r, e = (work[n] for n in ("h1", "h2", "g", "o1", "o", "r", "e"))
        torch.bmm(x, w, out=h1).clamp_(min=0)  # (R, B, m)
        torch.bmm(a, h1.transpose(1, 2), out=o1)  # out1^T, (R, k, B)
        o[:, : self.k] = o1
        torch.bmm(o.transpose(1, 2), v, out=h2).clamp_(min=0)  # (R, B, m)
        torch.baddbmm(o1, a, h2.transpose(1, 2), out=r).sub_(y.transpose(1, 2))  # r = (out - y)^T
        torch.div(r, x.shape[1], out=e)  # e = dLoss/dout^T
        torch.bmm(e.transpose(1, 2), a, out=g)
        relu_gradient(g, h2, 0, grad_input=g)  # dLoss/d(V (out1, 1))
        into["V"].baddbmm_(o, g, beta=decay)
        e.baddbmm_(v[:, : self.k], g.transpose(1, 2))  # dLoss/dout1^T: skip + block
        torch.bmm(e.transpose(1, 2), a, out=g)
        relu_gradient(g, h1, 0, grad_input=g)  # dLoss/d(W (x, 1))
        into["W"].baddbmm_(x.transpose(1, 2), g, beta=decay)
        return r.transpose(1, 2)
