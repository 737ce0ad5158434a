"""Conjugate and tangent features of a network at its random start, at finite width.

    conjugate (last)  phi(x) = h(x) in R^m, what the output weights see; one ridge for all outputs at once
    tangent (NTK)     J(x) = d out(x) / d(hidden weights) in R^{k x P}

With *shared* parameters, as the definition has it, one theta in R^P serves all k outputs: the kernel
K(x, x') = J(x) J(x')^T is k x k and regression has N k rows. With *separate* parameters each output r has its own
theta_r and the scalar kernel J_r(x) J_r(x')^T. J is never formed: it acts through one forward-mode or one
reverse-mode derivative, at about the cost of a network evaluation.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor

from learnability.kernels.ridge import ridge_dense, ridge_krylov
from learnability.learners.base import Network, Tensors


class TangentFeatures:
    """J at one replica's weights ``start`` (no replica dimension) as a linear map."""

    def __init__(self, network: Network, start: Tensors, outputs: Sequence[int] | None = None) -> None:
        self.network, self.start = network, start
        self.outputs = list(range(network.k)) if outputs is None else list(outputs)
        self.shapes = {name: start[name].shape for name in network.trained}
        self.n_params = sum(shape.numel() for shape in self.shapes.values())

    def _function(self, x: Tensor):
        """Trained weights -> out(x) of the chosen outputs, (n, len(outputs))."""

        def out(weights: Tensors) -> Tensor:
            stacked = {name: value[None] for name, value in {**self.start, **weights}.items()}
            return self.network.forward(stacked, x[None])[0][:, self.outputs]

        return out

    def unflatten(self, theta: Tensor) -> Tensors:
        """(P,) -> weights by name."""
        sizes = [shape.numel() for shape in self.shapes.values()]
        parts = theta.split(sizes)
        return {n: p.view(s) for (n, s), p in zip(self.shapes.items(), parts, strict=True)}

    def products(self, x: Tensor):
        """(v -> J v, u -> J^T u) on the points x (n, d+1): (P,) <-> (n k,).

        Both keep what depends on the start alone, so a product costs its own arithmetic only.
        """
        function = self._function(x)
        at = {name: self.start[name] for name in self.shapes}
        _, pull = torch.func.vjp(function, at)
        with warnings.catch_warnings():  # torch's constant folding warns of its own making
            warnings.simplefilter("ignore")
            _, push = torch.func.linearize(function, at)

        def times(theta: Tensor) -> Tensor:
            return push(self.unflatten(theta)).reshape(-1)

        def times_t(u: Tensor) -> Tensor:
            (gradient,) = pull(u.view(-1, len(self.outputs)))
            return torch.cat([gradient[name].reshape(-1) for name in self.shapes])

        return times, times_t


def solve_last(network: Network, start: Tensors, x: Tensor, y: Tensor, wds: Sequence[float]) -> Tensor:
    """Output weights A of the conjugate kernel's ridge path: (len(wds), k, m)."""
    with_replica = {name: value[None] for name, value in start.items()}
    hidden = network.hidden(with_replica, x[None])[0]  # (N, m)
    return ridge_dense(hidden, y, wds).transpose(1, 2)


def solve_tangent(
    network: Network,
    start: Tensors,
    x: Tensor,
    y: Tensor,
    wds: Sequence[float],
    shared: bool = True,
    tolerance: float = 1e-5,
) -> tuple[Tensor, float, int]:
    """theta of the tangent kernel's ridge path: shared (len(wds), P), separate (len(wds), k, P).

    Also returns the largest relative residual (see ``KrylovPath``), at most ``tolerance`` unless steps run out, and
    the most Lanczos steps taken.
    """
    groups = [list(range(network.k))] if shared else [[r] for r in range(network.k)]
    thetas, worst, steps = [], 0.0, 0
    for outputs in groups:
        features = TangentFeatures(network, start, outputs)
        times, times_t = features.products(x)
        target = y[:, outputs].reshape(-1)
        path = ridge_krylov(times, times_t, target, features.n_params, len(x), wds, tolerance)
        thetas.append(path.theta)
        worst, steps = max(worst, path.residual.max().item()), max(steps, path.steps)
    theta = thetas[0] if shared else torch.stack(thetas, dim=1)
    return theta, worst, steps
