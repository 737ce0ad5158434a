"""Momentum SGD with one learning rate and one weight decay per replica, and the step schedule.

The update is torch.optim.SGD's, replica by replica (mu momentum, wd weight decay, g gradient):

    b <- mu b + g + wd w,    w <- w - lr b

The gradient is accumulated straight into b (``Network.accumulate``), which saves two passes over the
weights a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class StepSchedule:
    """Learning rate divided by ``drop`` after each phase: ``phases`` (400, 400) is Appendix A's."""

    phases: tuple[int, ...]
    drop: float = 10.0

    @property
    def epochs(self) -> int:
        """Length of the whole schedule."""
        return sum(self.phases)

    def factor(self, epoch: int) -> float:
        """What multiplies the learning rate in ``epoch`` (from 0): drop^-(phases passed)."""
        passed, end = 0, 0
        for length in self.phases[:-1]:
            end += length
            passed += epoch >= end
        return self.drop**-passed


class StackSGD(torch.optim.Optimizer):
    """SGD over weights (R, ...) with lr (R,), wd (R,) and an optional factor on lr per weight."""

    def __init__(
        self,
        weights: Mapping[str, torch.nn.Parameter],
        lr: Tensor,
        wd: Tensor,
        momentum: float = 0.9,
        lr_scale: Mapping[str, float] | None = None,
    ) -> None:
        scale = lr_scale or {}
        groups = [
            {"params": [weight], "name": name, "lr": lr * scale.get(name, 1.0), "wd": wd}
            for name, weight in weights.items()
        ]
        super().__init__(groups, {"momentum": momentum})
        self.weights = dict(weights)
        for weight in self.weights.values():
            self.state[weight]["momentum"] = torch.zeros_like(weight)

    @property
    def momentum(self) -> float:
        """mu, the same for all replicas."""
        return self.param_groups[0]["momentum"]

    def buffers(self, rows: slice) -> dict[str, Tensor]:
        """b of the replicas in ``rows``, by weight."""
        return {n: self.state[w]["momentum"][rows] for n, w in self.weights.items()}

    def rates(self, rows: slice, factor: float) -> dict[str, tuple[Tensor, Tensor]]:
        """(-lr * factor, wd) by weight, shaped to broadcast over one replica's weights."""
        found = {}
        for group in self.param_groups:
            weight = group["params"][0]
            shape = (-1, *[1] * (weight.dim() - 1))
            lr, wd = (group[key][rows].to(weight.device) for key in ("lr", "wd"))  # a resume loads on the CPU
            found[group["name"]] = ((-factor * lr).view(shape), wd.view(shape))
        return found

    def drop_replicas(self, dead: Tensor) -> None:
        """Stop the replicas in the mask ``dead`` (R,): rates and momenta become zero."""
        for group in self.param_groups:
            group["lr"] = group["lr"].masked_fill(dead, 0.0)
            group["wd"] = group["wd"].masked_fill(dead, 0.0)
        for weight in self.weights.values():
            self.state[weight]["momentum"][dead] = 0.0

    @staticmethod
    @torch.no_grad()
    def apply(
        weights: Mapping[str, Tensor],
        buffers: Mapping[str, Tensor],
        rates: Mapping[str, tuple[Tensor, Tensor]],
    ) -> None:
        """Finish a step whose gradient is already in ``buffers``: b += wd w, w -= lr b."""
        for name, (minus_lr, wd) in rates.items():
            buffer, weight = buffers[name], weights[name]
            buffer.addcmul_(weight, wd)
            weight.addcmul_(buffer, minus_lr)
