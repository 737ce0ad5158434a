"""What every teacher H = beta F + alpha G(F) shares: random signs, and labels with noise."""

from __future__ import annotations

import torch
from torch import Tensor


def signs(n: int, d: int, generator: torch.Generator) -> Tensor:
    """n points uniform in {-1, 1}^d: (n, d)."""
    return torch.randint(0, 2, (n, d), generator=generator).float().mul_(2).sub_(1)


class Composite:
    """Labels of a teacher that has H as its call, and ``noise``."""

    noise: float

    def __call__(self, x: Tensor) -> Tensor:
        """H(x) without noise: (..., d) -> (..., k)."""
        raise NotImplementedError

    def of_seed(self, seed: int) -> Composite:
        """The teacher of one seed; most are the same for all."""
        return self

    def tensors(self) -> dict[str, Tensor]:
        """What a reader of the samples file may want of the teacher; nothing if its config says it all."""
        return {}

    def labels(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """y = H(x) + noise * N(0, I): (..., d) -> (..., k)."""
        y = self(x)
        if self.noise:
            y = y + self.noise * torch.randn(y.shape, generator=generator)
        return y
