"""Gradients of a two-layer net at its random start, for the tests of margins."""

from __future__ import annotations

import math

import torch

from learnability.seeding import stream


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=stream("margin", seed), dtype=torch.float64)


def net(p: int, d: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """V_1 with entries N(0, 2/p) (p, d) and V_2 with entries N(0, 1) (p,), as in Section 3.2."""
    return normal(p, d, seed=seed) * math.sqrt(2 / p), normal(p, seed=1000 + seed)


def huberized(z: torch.Tensor, h: float) -> torch.Tensor:
    """phi of (1), as printed."""
    return torch.where(z < 0, 0 * z, torch.where(z <= h, z**2 / (2 * h), z - h / 2))


def gradient_gram(v1: torch.Tensor, v2: torch.Tensor, x: torch.Tensor, h: float) -> torch.Tensor:
    """<grad f(x_s), grad f(x_q)> by autograd, point by point: (n, n)."""

    def f(weights, point):
        return weights[1] @ huberized(weights[0] @ point, h)

    g1, g2 = torch.func.vmap(torch.func.grad(f), (None, 0))((v1, v2), x)
    g = torch.cat([g1.flatten(1), g2], dim=1)
    return g @ g.T
