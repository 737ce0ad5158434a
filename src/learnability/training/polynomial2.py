"""Two-layer networks with a free polynomial for every neuron: the comparison class of paper A, Appendix I.2.

    h(x) = c_0 + sum_{i=1..r} sum_{p=1..degree} c_{i,p} He_p(<w_i, z>),    z = (x, S_1(x))  (I.6)  or  z = x  (I.7)

This is sum_i a_i sigma_i(<w_i, z> + b_i) with arbitrary polynomials sigma_i (a_i and b_i are absorbed into them).
Trained by variable projection, which is fairer to it than gradient descent on all weights: for given directions w
the best coefficients c are a ridge solution, and at these the derivative of the ridge objective

    V(w) = min_c (1/N) ||y - Phi(w) c||^2 + wd ||c||^2

in w is its partial one (envelope theorem), so only w is trained, by Adam with a cosine schedule. Hermite
polynomials of arguments of variance 1 keep Phi well conditioned; the span is the same. float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from learnability.seeding import stream
from learnability.training.stack import Replica, Split


@dataclass(frozen=True)
class Machine:
    """r neurons of polynomials up to ``degree`` on z."""

    width: int
    degree: int
    d: int
    with_squares: bool
    centre: Tensor

    def inputs(self, x: Tensor) -> Tensor:
        """z, (n, d) -> (n, d or 2d)."""
        x = x[..., : self.d].double()
        return torch.cat([x, x.square() - self.centre.to(x)], dim=-1) if self.with_squares else x

    def features(self, w: Tensor, z: Tensor, scale: Tensor) -> Tensor:
        """Phi, (n, 1 + r degree): 1 and the normalised Hermite polynomials of <w_i, z / scale> / ||w_i||."""
        t = (z / scale) @ (w / w.norm(dim=1, keepdim=True)).T  # (n, r)
        found = [torch.ones_like(t), t]
        for p in range(1, self.degree):  # He_{p+1} = t He_p - p He_{p-1}, divided by sqrt((p+1)!)
            found.append((t * found[p] - math.sqrt(p) * found[p - 1]) / math.sqrt(p + 1))
        return torch.cat([torch.ones_like(t[:, :1]), *found[1:]], dim=1)


@dataclass
class Fitted:
    """Directions w (r, dim z), coefficients c, and the mean squared errors by split."""

    w: Tensor
    c: Tensor
    errors: dict[str, float]


def solve(phi: Tensor, y: Tensor, wd: float) -> Tensor:
    """argmin_c (1/N) ||y - phi c||^2 + wd ||c||^2, the constant not penalised: (P,)."""
    n = len(phi)
    gram = phi.T @ phi / n
    penalty = torch.full((gram.shape[0],), wd, dtype=gram.dtype)
    penalty[0] = 0.0
    return torch.linalg.solve(gram + penalty.diag(), phi.T @ y / n)


def fit_seed(machine: Machine, splits: dict[str, Split], row: int, replica: Replica, steps: int) -> Fitted:
    """One network on the training samples of seed number ``row``, with replica.lr and replica.wd."""
    z = {name: machine.inputs(split.x[row].cpu()) for name, split in splits.items()}
    y = {name: split.y[row, :, 0].double().cpu() for name, split in splits.items()}
    scale = z["train"].std(0)
    generator = stream("init", "polynomial2", machine.width, replica.seed)
    w = torch.randn(machine.width, z["train"].shape[1], generator=generator, dtype=torch.float64).requires_grad_()
    size = y["train"].var().item()
    optimizer = torch.optim.Adam([w], lr=replica.lr)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = replica.lr * (1 + math.cos(math.pi * step / steps)) / 2
        phi = machine.features(w, z["train"], scale)
        c = solve(phi.detach(), y["train"], replica.wd)
        optimizer.zero_grad()
        ((y["train"] - phi @ c).square().mean() / size).backward()
        optimizer.step()
    with torch.no_grad():
        w = w / w.norm(dim=1, keepdim=True)
        c = solve(machine.features(w, z["train"], scale), y["train"], replica.wd)
        errors = {n: (y[n] - machine.features(w, z[n], scale) @ c).square().mean().item() for n in z}
    return Fitted(w.detach() / scale, c, errors)
