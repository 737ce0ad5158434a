"""Solutions trained at d = 6 on the whole population, as paper B, footnote 13, makes its W* by hand.

    min_W  (1/64) sum_x 1/2 |F(W; x) - y|^2 + wd/2 ||W||_F^2,     y = x_1 ... x_6, all 64 points of {+-1}^6

by full-batch Adam with a cosine schedule, for several decays and random starts as one stack. Of those whose error
is at most the wanted one, the one of smallest norm is kept. All are local minima: the global one has
:func:`learnability.theory.minimal_norm.norm_bound` for its norm, and a decay for each error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from learnability.learners.signed2 import Learner
from learnability.seeding import stream
from learnability.theory.minimal_norm import DEGREE, cube, decay_for, population_error

SHARES = (0.5, 0.6, 0.7, 0.8)  # local minima have more error than the global one of the same decay


@dataclass(frozen=True)
class Solution:
    """W^T (6, m), with its measured ||W||_F (the paper's ||W||_F / sqrt d) and E|F(W; x) - y|^2."""

    w: Tensor
    norm: float
    error: float


def train(decays: Tensor, starts: Tensor, steps: int, rate: float = 0.05) -> Tensor:
    """Minimise from starts (R, 6, m) with weight decays (R,); returns W^T (R, 6, m)."""
    replicas, degree, width = starts.shape
    network = Learner(d=degree, k=1, width=width)
    points = cube(degree).to(starts.dtype)
    x = torch.cat([points, torch.ones_like(points[:, :1])], dim=-1).expand(replicas, -1, -1)
    y = points.prod(-1, keepdim=True).expand(replicas, -1, -1)
    a = network.init(stream("minimal_norm"))["A"].to(starts.dtype).expand(replicas, -1, -1)
    w = torch.nn.Parameter(starts.clone(), requires_grad=False)
    w.grad = torch.zeros_like(w)
    work = network.workspace(replicas, len(points), starts)
    optimizer = torch.optim.Adam([w], lr=rate)
    for step in range(steps):
        network.accumulate({"A": a, "W": w.data}, x, y, {"W": w.grad}, 0.0, work)
        w.grad.addcmul_(w.data, decays[:, None, None])
        optimizer.param_groups[0]["lr"] = rate * (1 + math.cos(math.pi * step / steps)) / 2
        optimizer.step()
    return w.data


def by_hand(
    errors: Sequence[float], width: int = 200, starts: int = 3, steps: int = 2000, seed: int = 0
) -> list[Solution]:
    """For each wanted error, the trained solution of smallest norm that has at most this error."""
    plan = [(decay_for(share * e), start) for e in errors for share in SHARES for start in range(starts)]
    network = Learner(d=DEGREE, k=1, width=width)
    first = [network.init(stream("minimal_norm", width, seed, start))["W"] for start in range(starts)]
    decays = torch.tensor([decay for decay, _ in plan])
    trained = train(decays, torch.stack([first[start] for _, start in plan]), steps).double()
    found = [Solution(w, w.norm().item(), population_error(w)) for w in trained]
    best = []
    for error in errors:
        good = [solution for solution in found if solution.error <= error]
        if not good:
            raise RuntimeError(f"no trained solution has population error {error} or less")
        best.append(min(good, key=lambda solution: solution.norm))
    return best
