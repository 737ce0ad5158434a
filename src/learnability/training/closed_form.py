"""Fill a stack of linear models with their exact ridge solutions instead of training them.

The result is the same kind of stack that SGD leaves behind, so evaluation and saving are shared.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from learnability.kernels.features import TangentFeatures, solve_last, solve_tangent
from learnability.learners.linearised import LastLayer, Tangent
from learnability.training.stack import Split, Stack, grid

CACHE = 8 * 2**20  # bytes: evaluate a few replicas at a time, as training does


@dataclass
class Solved:
    """One seed's ridge path as a stack (one replica a ridge), and how exact it is."""

    stack: Stack
    residual: float  # the largest over the path, relative (KrylovPath); 0 for a dense factorisation
    steps: int


def solve_seed(network: LastLayer | Tangent, seed: int, seeds: list[int], wds: list[float], train: Split) -> Solved:
    """The ridge path of one seed in float64 on its own training samples."""
    replicas = grid([seed], [float("nan")], wds)
    stack = Stack(network, replicas, seeds, batch=1, cache_bytes=CACHE, dtype=torch.float64)
    stack.to(train.x.device)
    row = seeds.index(seed)
    x, y = train.x[row].double(), train.y[row].double()
    start = {name: value[0] for name, value in stack.weights().items()}
    path = [r.wd for r in replicas]
    residual, steps = 0.0, 0
    if isinstance(network, LastLayer):
        stack.A.data.copy_(solve_last(network.body, start, x, y, path))
    else:
        body = {name: start[name] for name in network.body.shapes()}
        theta, residual, steps = solve_tangent(network.body, body, x, y, path, not network.separate)
        _fill(stack, network, body, theta)
    return Solved(stack, residual, steps)


def _fill(stack: Stack, network: Tangent, body: dict[str, Tensor], theta: Tensor) -> None:
    """Cut flat theta (R, [k,] P) into the stack's theta_W, theta_V, ..."""
    shapes = TangentFeatures(network.body, body).shapes
    parts = theta.split([shape.numel() for shape in shapes.values()], dim=-1)
    for (name, shape), part in zip(shapes.items(), parts, strict=True):
        getattr(stack, f"theta_{name}").data.copy_(part.unflatten(-1, shape))
