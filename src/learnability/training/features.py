"""How close a stack of DenseNets is to its teachers: errors of F and F~, feature errors, learned quadratic forms.

Feature error of layer l (Theorem 2): f_l = min_U E||S*_l - U S_l||^2 over orthogonal U. With C = E[S*_l S_l^T] that
is E||S*_l||^2 + E||S_l||^2 - 2 ||C||_nuclear (orthogonal Procrustes); where the widths differ, the narrower one is
padded with zeros, which changes none of the three terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from learnability.training.densenet import DenseStack
from learnability.training.stack import Split

BLOCK = 1000  # points at a time


def procrustes(true: Tensor, learned: Tensor) -> Tensor:
    """min_U mean ||true - U learned||^2: (..., n, k*) and (..., n, k) -> (...)."""
    n = true.shape[-2]
    cross = true.double().mT @ learned.double() / n
    sizes = true.double().square().sum((-1, -2)) / n + learned.double().square().sum((-1, -2)) / n
    return (sizes - 2 * torch.linalg.svdvals(cross).sum(-1)).clamp(min=0)


class Judge:
    """One split with the teachers' features at its points: measures stacks."""

    def __init__(self, teachers: Sequence[Any], split: Split) -> None:
        """``teachers``: one for each seed of ``split``."""
        self.split, self.teachers = split, list(teachers)
        d = self.teachers[0].d
        self.first = int(self.teachers[0].classes)
        x = split.x[..., self.first : self.first + d].double().cpu()
        found = [teacher.features(x[i]) for i, teacher in enumerate(self.teachers)]
        self.features = {layer: torch.stack([f[layer] for f in found]).to(split.x) for layer in found[0]}
        self.clean = torch.stack([teacher(x[i])[..., 0] for i, teacher in enumerate(self.teachers)]).to(split.x)

    @torch.no_grad()
    def __call__(self, stack: DenseStack) -> dict[str, Tensor]:
        """``error`` (of F against y; wrong signs with classes), ``tilde_error`` of F~, ``risk`` against G*,
        f2, f3, ...
        """
        parts = [self._chunk(stack, rows) for rows in stack.chunks()]
        found = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
        return {name: value.masked_fill(stack.died >= 0, math.nan).cpu() for name, value in found.items()}

    def _chunk(self, stack: DenseStack, rows: slice) -> dict[str, Tensor]:
        seeds, p, network = stack.row_of[rows], stack.weights(rows), stack.network
        d, n = network.d, self.split.x.shape[1]
        sums = {"error": 0.0, "tilde_error": 0.0, "risk": 0.0}
        learned: dict[int, list[Tensor]] = {layer: [] for layer in self.features}
        for start in range(0, n, BLOCK):
            x = self.split.x[seeds, start : start + BLOCK]
            y, clean = self.split.y[seeds, start : start + BLOCK, 0], self.clean[seeds, start : start + BLOCK]
            points = x[..., self.first : self.first + d]
            out, features = network.forward(p, points)
            tilde, _ = network.forward(p, points, quadratic=False)
            if self.first:
                wrong = [((x[..., 0] + f > 0).float() * 2 - 1 != y).double().sum(1) for f in (out, tilde)]
            else:
                wrong = [(f - y).double().square().sum(1) for f in (out, tilde)]
            sums["error"], sums["tilde_error"] = sums["error"] + wrong[0], sums["tilde_error"] + wrong[1]
            sums["risk"] = sums["risk"] + (out - clean).double().square().sum(1)
            for layer in learned:
                learned[layer].append(features[layer])
        found = {name: value / n for name, value in sums.items()}
        for layer, parts in learned.items():
            found[f"f{layer}"] = procrustes(self.features[layer][seeds], torch.cat(parts, dim=1))
        return found


@torch.no_grad()
def forms(stack: DenseStack, teachers: Sequence[Any]) -> dict[str, Tensor]:
    """Of each layer's K_l^T K_l: ``distilled_l``, its distance to W_l^T W_l; of layer 2's, where its inputs are the
    teacher's, ``form2``, its distance to W*_2^T W*_2 (both relative, Frobenius), and ``wrong2``, the largest
    coefficient of a monomial that the teacher's Sum(G_2) does not have.

    Monomials of z^T A z: z_a z_b has coefficient A_aa for a = b and 2 A_ab for a < b.
    """
    found: dict[str, list[float]] = {}
    for i in range(len(stack.replicas)):
        teacher = teachers[int(stack.row_of[i])]
        for layer, _ in stack.network.layers():
            w, k = (stack.weight(f"{name}{layer}")[i].double().cpu() for name in "WK")
            signs = [getattr(stack, f"D{layer}"), getattr(stack, f"E{layer}")[i, 0]]
            large, small = ((m * s.double().cpu()) @ m.T for m, s in zip((w, k), signs, strict=True))
            gap = (small - large).norm() / large.norm().clamp(min=1e-30)
            found.setdefault(f"distilled{layer}", []).append(gap.item())
            if layer == 2 and tuple(sorted(teacher.graph[0])) == tuple(sorted(stack.network.graph[0])):
                true = teacher.quadratic_form(2)
                found.setdefault("form2", []).append(((small - true).norm() / true.norm()).item())
                strange = small * (2 - torch.eye(len(small))) * (true == 0)
                found.setdefault("wrong2", []).append(strange.abs().max().item())
    dead = (stack.died >= 0).cpu()
    return {name: torch.tensor(values).double().masked_fill(dead, math.nan) for name, values in found.items()}
