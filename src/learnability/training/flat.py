"""Optimisers over one flat tensor of weights (r, P), with a rate for every entry: Adam, and SGD with momentum.

All weights of a replica lie in one row, so a step is a handful of operations however many matrices there are, and a
weight that is held back simply has rate 0. Counts of steps are kept per replica: each may start anew on its own.
"""

from __future__ import annotations

import torch
from torch import Tensor


class FlatOptimizer(torch.optim.Optimizer):
    """``method`` 'adam' (beta 0.9, 0.999) or 'sgd' (b <- momentum b + g); ``clip`` bounds ||g|| of a replica."""

    def __init__(self, weights: torch.nn.Parameter, method: str, momentum: float = 0.9, clip: float | None = None):
        super().__init__([{"params": [weights]}], {"method": method, "momentum": momentum, "clip": clip})
        self.weights = weights
        self.state[weights] = {
            "first": torch.zeros_like(weights),
            "second": torch.zeros_like(weights),
            # torch's name for it: the one entry that keeps its float64 when a checkpoint is read
            "step": torch.zeros(len(weights), 1, dtype=torch.float64, device=weights.device),
        }

    def forget(self, rows: Tensor) -> None:
        """Start anew for the replicas in the mask ``rows`` (r,)."""
        for value in self.state[self.weights].values():
            value[rows.to(value.device)] = 0.0

    @torch.no_grad()
    def apply(self, rows: slice, gradient: Tensor, rate: Tensor) -> None:
        """One step of the replicas in ``rows``: gradient and rate are (rows, P); entries of rate 0 do not move."""
        state, group = self.state[self.weights], self.param_groups[0]
        first, weights = state["first"][rows], self.weights.data[rows]
        if group["clip"] is not None:
            norm = torch.linalg.vector_norm(gradient * (rate > 0), dim=1, keepdim=True)
            gradient.mul_((group["clip"] / norm.clamp(min=1e-30)).clamp(max=1.0))
        if group["method"] == "sgd":
            first.mul_(group["momentum"]).add_(gradient)
            weights.addcmul_(first, rate, value=-1)
            return
        second, steps = state["second"][rows], state["step"][rows]
        steps += 1
        first.lerp_(gradient, 0.1)
        second.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        drift, scale = (1 - 0.9**steps).to(weights.dtype), (1 - 0.999**steps).to(weights.dtype)
        size = (second / scale).sqrt_().add_(1e-12)
        weights.sub_(first / drift * rate / size)
