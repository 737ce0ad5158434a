"""Two-layer network with fixed signs for output weights and no bias (paper B, Appendix A.1).

F(W; x) = a^T sigma(W x),   a in {+1/sqrt m, -1/sqrt m}^m fixed, m/2 of each sign, W in R^{m x d} trained.

Units. The paper's inputs have norm 1, x in {+-1/sqrt d}^d; ours are in {+-1}^d. Ours is its network with
W_ours = W_paper / sqrt d, hence the same function and

    ||W_ours||_F = ||W_paper||_F / sqrt d,   W_ours ~ N(0, 1/d)  <=>  W_paper ~ N(0, 1)     at the start,
    lr_ours = lr_paper / d,   wd_ours = d wd_paper                          the same path of SGD.

The start W_ours ~ N(0, 1/d) is Appendix A's for W; A.1 itself says only 'random initialization'. It has
||W_ours||_F = sqrt m up to sampling. The sign of a_j is + in the first half: the order is immaterial.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from learnability.learners.base import Network, Tensors, relu_gradient


@dataclass(frozen=True)
class Learner(Network):
    """a^T sigma(W x) of Figures 1 and 3; the constant of the input (x, 1) is ignored."""

    activations = 2

    def __post_init__(self) -> None:
        if self.k != 1 or self.width % 2:
            raise ValueError(f"signed2 has one output and an even width, not k = {self.k}, m = {self.width}")

    def shapes(self) -> dict[str, tuple[tuple[int, ...], float]]:
        """A = a^T as (1, m), and W^T as (d, m) without a row for the constant; A's entries have one size."""
        return {"A": ((1, self.width), self.width**-0.5), "W": ((self.d, self.width), self.d**-0.5)}

    def init(self, generator: torch.Generator) -> Tensors:
        """W random, A the m/2 positive and then the m/2 negative signs over sqrt m."""
        start = super().init(generator)
        size = self.init_scale.get("A", 1.0) * self.width**-0.5
        start["A"].fill_(-size)[:, : self.width // 2] = size
        return start

    def hidden(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """sigma(W x): (R, B, d+1) -> (R, B, m)."""
        return torch.relu(x[..., :-1] @ p["W"])

    def workspace(self, replicas: int, batch: int, like: Tensor) -> Tensors:
        """Activations and their gradients, (R, B, m) each, and the residuals as a row, (R, 1, B)."""
        m = self.width
        return {
            "h": like.new_empty(replicas, batch, m),
            "g": like.new_empty(replicas, batch, m),
            "r": like.new_empty(replicas, 1, batch),
        }

    def accumulate(self, p: Tensors, x: Tensor, y: Tensor, into: Tensors, decay: float, work: Tensors) -> Tensor:
        """The base class's gradient by hand, in ``work``'s buffers only."""
        a, h, g, r = p["A"], work["h"], work["g"], work["r"]
        x = x[..., :-1]
        torch.bmm(x, p["W"], out=h).clamp_(min=0)  # (R, B, m)
        torch.bmm(a, h.transpose(1, 2), out=r).sub_(y.transpose(1, 2))  # r = (F - y)^T
        torch.mul(r.transpose(1, 2), a, out=g)  # B dLoss/dh: the 1/B goes into the product below
        relu_gradient(g, h, 0, grad_input=g)
        into["W"].baddbmm_(x.transpose(1, 2), g, beta=decay, alpha=1 / x.shape[1])
        return r.transpose(1, 2)
