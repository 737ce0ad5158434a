"""Arguments at which an activation is looked at: a grid of u = z / h, with the values of ReLU that it smooths.

u = 0, +-2^-10, ..., +-reach, dense about 0 where smoothed ReLUs differ from ReLU; y = max(u, 0)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from learnability.teachers.base import Composite

LEAST = 2.0**-10


@dataclass(frozen=True)
class Teacher(Composite):
    """The line; the same for every seed."""

    reach: float = 1e4
    d: int = 1
    k: int = 1
    noise: float = 0.0

    def inputs(self, n: int, generator: torch.Generator) -> Tensor:
        """n arguments (n, 1), in order: half of them even on [-8, 8], the rest geometric to +-reach, and 0."""
        beside = (n // 2 | 1) // 2  # of the even ones, on either side of 0
        even = torch.linspace(0, 8, beside + 1, dtype=torch.float64)[1:]
        rest = max(0, (n - 1) // 2 - beside)
        far = torch.logspace(math.log10(LEAST), math.log10(self.reach), rest, dtype=torch.float64)
        u = torch.cat([torch.zeros(1, dtype=torch.float64), even, -even, far, -far])
        return torch.cat([u, u[:1]])[:n].sort().values[:, None]  # n even: 0 twice

    def __call__(self, x: Tensor) -> Tensor:
        """max(u, 0): (..., 1) -> (..., 1)."""
        return x.clamp_min(0.0)

    def probes(self, x: Tensor) -> dict[str, Tensor]:
        """None."""
        return {}

    def describe(self) -> str:
        """What is there."""
        return f"arguments z / h up to +-{self.reach:g}, with ReLU's values"
